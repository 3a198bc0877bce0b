//! Affinity masks, and what tells one thread from a later one of the same number.

use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::OnceLock;

use evenkeel_model::Ns;
use rustix::process::{Pid, geteuid};
use rustix::thread::{CapabilitySet, CpuSet, capabilities, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use crate::event::Tid;

/// A mask of these CPUs.
pub fn of(cpus: impl IntoIterator<Item = u16>) -> CpuSet {
    let mut mask = CpuSet::new();
    cpus.into_iter().for_each(|cpu| mask.set(usize::from(cpu)));
    mask
}

/// The CPUs of a mask.
pub fn cpus(mask: &CpuSet) -> impl Iterator<Item = u16> + '_ {
    (0..CpuSet::MAX_CPU).filter(|cpu| mask.is_set(*cpu)).map(|cpu| cpu as u16)
}

/// The CPUs that this thread may use, ascending.
///
/// # Errors
/// None in practice.
pub fn own() -> io::Result<Vec<u16>> {
    Ok(cpus(&sched_getaffinity(None)?).collect())
}

/// The CPUs that are in both.
pub fn and(one: &CpuSet, other: &CpuSet) -> CpuSet {
    of(cpus(one).filter(|cpu| other.is_set(usize::from(*cpu))))
}

/// The CPUs that this process could give itself: those that are online and in its cpuset.
pub fn limit() -> CpuSet {
    static LIMIT: OnceLock<CpuSet> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let all = of(0..CpuSet::MAX_CPU as u16);
        // The mask of a thread of its own, which takes it along when it ends.
        let tried = std::thread::spawn(move || {
            let _ = sched_setaffinity(None, &all);
            sched_getaffinity(None)
        });
        tried.join().ok().and_then(Result::ok).unwrap_or(all)
    })
}

/// The mask of a thread.
///
/// # Errors
/// It is gone.
pub fn of_thread(tid: Tid) -> io::Result<CpuSet> {
    Ok(sched_getaffinity(Pid::from_raw(tid as i32))?)
}

/// A mask as 64-bit words, the lowest CPUs first.
pub fn words(mask: &CpuSet) -> [u64; 16] {
    let mut words = [0; 16];
    cpus(mask).for_each(|cpu| words[usize::from(cpu) / 64] |= 1 << (cpu % 64));
    words
}

/// A mask of bytes that are 64-bit words of this machine, the lowest CPUs first.
pub fn of_bytes(bytes: &[u8]) -> CpuSet {
    let mut words = [0; 16];
    let read = bytes.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_ne_bytes));
    words.iter_mut().zip(read).for_each(|(place, word)| *place = word);
    of_words(words)
}

/// A mask of 64-bit words, the lowest CPUs first.
pub fn of_words(words: [u64; 16]) -> CpuSet {
    of((0..CpuSet::MAX_CPU as u16).filter(|cpu| words[usize::from(*cpu) / 64] >> (cpu % 64) & 1 == 1))
}

/// Whether this process may change the masks of a process, as far as its owner and this user's privileges tell.
pub fn changeable(process: Tid) -> bool {
    let privileged = capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_NICE));
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    let own = geteuid().as_raw().to_string();
    // Real and effective (sched_setaffinity(2)).
    privileged || users.split_ascii_whitespace().take(2).any(|user| user == own)
}

/// From when to when on `CLOCK_MONOTONIC` a thread may have started, as exactly as [`started`] knows; now, if it is gone.
pub fn started_between(tid: Tid) -> RangeInclusive<Ns> {
    let read = |clock| {
        let time = clock_gettime(clock);
        Ns(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    };
    let (now, boot) = (read(ClockId::Monotonic), read(ClockId::Boottime));
    let tick = Ns(1_000_000_000 / rustix::param::clock_ticks_per_second().max(1));
    let Some(started) = started(tid) else { return now..=now };
    // The one clock counts suspended time as well.
    let began = Ns((started * tick.0).saturating_sub(boot.since(now).0));
    began..=began + tick
}

/// When a thread started, in clock ticks since boot; `None` when it is gone.
pub fn started(tid: Tid) -> Option<u64> {
    stat(tid, 22)
}

/// The parent of a process; `None` when it is gone.
pub fn parent(process: Tid) -> Option<Tid> {
    stat(process, 4)
}

/// The session of a process; `None` when it is gone.
pub fn session(process: Tid) -> Option<Tid> {
    stat(process, 6)
}

/// A field of `/proc/TID/stat`, as proc_pid_stat(5) counts them.
fn stat<T: FromStr>(tid: Tid, field: usize) -> Option<T> {
    let stat = fs::read_to_string(format!("/proc/{tid}/stat")).ok()?;
    // Field 3 is the first after the name, which may contain anything.
    stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace().nth(field - 3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::clock;

    #[test]
    fn the_start_of_a_thread_is_found_on_the_other_clock() {
        let before = clock();
        let own = std::thread::spawn(|| started_between(rustix::thread::gettid().as_raw_nonzero().get() as Tid)).join();
        let own = own.unwrap();
        assert!(*own.end() >= before && *own.start() <= clock(), "{own:?}, {before}");
        assert!(own.end().since(*own.start()) <= Ns::from_ms(20));
    }
}
