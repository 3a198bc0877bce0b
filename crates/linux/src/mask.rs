//! Affinity masks.

use std::sync::OnceLock;
use std::{fs, io};

use evenkeel_topology::list;
use rustix::process::{Pid, geteuid};
use rustix::thread::{CapabilitySet, CpuSet, capabilities, sched_getaffinity, sched_setaffinity};

use crate::event::Tid;
use crate::process;

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
        // In a thread of its own, whose mask ends with it.
        let tried = std::thread::spawn(move || {
            let _ = sched_setaffinity(None, &all);
            sched_getaffinity(None)
        });
        tried.join().ok().and_then(Result::ok).unwrap_or(all)
    })
}

/// What is given back in place of a mask: one that leaves out no CPU that is online leaves out none that comes later, either.
pub fn lasting(mask: CpuSet) -> CpuSet {
    let online = online();
    let whole = !online.is_empty() && online.iter().all(|cpu| mask.is_set(usize::from(*cpu)));
    if whole { of(0..CpuSet::MAX_CPU as u16) } else { mask }
}

/// The CPUs that are online; none where that is not known.
pub fn online() -> Vec<u16> {
    fs::read_to_string(ONLINE).ok().and_then(|text| list::parse(&text).ok()).unwrap_or_default()
}

const ONLINE: &str = "/sys/devices/system/cpu/online";

/// Whether a thread that has a mask now still has the one that it was given. The kernel shows only CPUs that are online.
pub fn still(now: &CpuSet, given: &CpuSet) -> bool {
    now == given || is_rest(now, given, online)
}

/// Whether a mask is what the CPUs that are online leave of a given one. They are asked for only where it may be.
fn is_rest(now: &CpuSet, given: &CpuSet, online: impl FnOnce() -> Vec<u16>) -> bool {
    let within = cpus(now).all(|cpu| given.is_set(usize::from(cpu)));
    within && cpus(now).eq(online().into_iter().filter(|cpu| given.is_set(usize::from(*cpu))))
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

/// A mask of 64-bit words, the lowest CPUs first.
pub fn of_words(words: [u64; 16]) -> CpuSet {
    of((0..CpuSet::MAX_CPU as u16).filter(|cpu| words[usize::from(*cpu) / 64] >> (cpu % 64) & 1 == 1))
}

/// Whether this process may change the masks of a process, by its owner and this user's privileges.
pub fn changeable(process: Tid) -> bool {
    let privileged = capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_NICE));
    // Real and effective (sched_setaffinity(2)).
    privileged || process::users(process).is_some_and(|users| users.contains(&geteuid().as_raw()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_is_known_by_those_of_its_cpus_that_are_online() {
        let mask = |cpus: &[u16]| of(cpus.iter().copied());
        let rest = |now: &[u16], given: &[u16]| is_rest(&mask(now), &mask(given), || vec![0, 1]);
        assert!(rest(&[0], &[0, 2]) && rest(&[0, 1], &[0, 1, 2, 3]));
        assert!(rest(&[], &[2]), "it has not run since then");
        assert!(!rest(&[0], &[0, 1]) && !rest(&[0], &[0, 1, 2]), "one that is online is missing");
        assert!(!rest(&[0, 1], &[0]) && !rest(&[1], &[0]), "it has another one besides");
        assert!(!is_rest(&mask(&[0]), &mask(&[0, 2]), Vec::new), "not known");
    }
}
