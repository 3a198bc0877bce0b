//! What `/proc` says of a process: its threads and children, its parent and session, and its start, by which it differs from
//! a later process of the same number.

use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::path::Path;
use std::str::FromStr;

use evenkeel_model::Ns;
use rustix::time::{ClockId, clock_gettime};

use crate::event::Tid;

/// The PID namespace where there are no others (`PROC_PID_INIT_INO`, include/linux/proc_ns.h).
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// Why programs in the kernel are of no use where [`numbered_by_kernel`] says no, and what to do.
pub const NUMBERED_OTHERWISE: &str = "this container's PID namespace numbers threads otherwise than the kernel";
/// See [`NUMBERED_OTHERWISE`].
pub const OUTSIDE: &str = "run outside of it (Docker, Podman: --pid=host)";

/// Whether threads have the numbers here that they have for the kernel, and so for the programs in it. In a container they have
/// others.
pub fn numbered_by_kernel() -> bool {
    fs::read_link("/proc/self/ns/pid").map_or(true, |namespace| namespace.as_os_str() == FIRST_NAMESPACE)
}

/// A file of `/proc`. The name of a thread, which several have, may be any bytes: the kernel cuts a long one within a letter.
///
/// # Errors
/// The thread is gone, or this user may not read it.
pub fn text(path: impl AsRef<Path>) -> io::Result<String> {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// A name for a terminal, which obeys some characters.
pub fn printable(name: &str) -> String {
    name.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

/// All processes.
pub fn all() -> Vec<Tid> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Whether a process has not ended: one that has is there until its parent asks how.
pub fn runs(process: Tid) -> bool {
    stat::<char>(process, 3).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// The threads of a process.
///
/// # Errors
/// The process is gone.
pub fn threads(process: Tid) -> io::Result<Vec<Tid>> {
    let entries = fs::read_dir(format!("/proc/{process}/task"))?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

/// The processes that a process has started, any of its threads, and that still are; none when it is gone.
pub fn children(process: Tid) -> Vec<Tid> {
    let of = |tid: Tid| fs::read_to_string(format!("/proc/{process}/task/{tid}/children")).unwrap_or_default();
    let lists = threads(process).unwrap_or_default().into_iter().map(of);
    lists
        .flat_map(|list| list.split_ascii_whitespace().filter_map(|child| child.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// The threads of a process and of all that it has started, as far as their parents are still there.
///
/// # Errors
/// The process is gone.
pub fn family(process: Tid) -> io::Result<Vec<Tid>> {
    let mut found = threads(process)?;
    let mut processes = children(process);
    while let Some(process) = processes.pop() {
        processes.extend(children(process));
        found.extend(threads(process).unwrap_or_default());
    }
    Ok(found)
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
    // Only the clock since boot counts suspended time.
    let began = Ns((started * tick.0).saturating_sub(boot.since(now).0));
    began..=began + tick
}

/// When a thread started, in clock ticks since boot; `None` when it is gone.
pub fn started(tid: Tid) -> Option<u64> {
    stat(tid, 22)
}

/// The process of a thread; `None` when it is gone.
pub fn of(tid: Tid) -> Option<Tid> {
    let status = text(format!("/proc/{tid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// The real and the effective user of a thread; `None` when it is gone.
pub fn users(tid: Tid) -> Option<[u32; 2]> {
    let status = text(format!("/proc/{tid}/status")).ok()?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    let mut users = users.split_ascii_whitespace().map_while(|user| user.parse().ok());
    Some([users.next()?, users.next()?])
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
    let stat = text(format!("/proc/{tid}/stat")).ok()?;
    // Field 3 is the first after the name, which may contain anything.
    stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace().nth(field - 3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::clock;

    /// What undoes changes knows a thread by its start.
    #[test]
    fn a_thread_whose_name_is_cut_within_a_letter_is_known_as_any_other() {
        let name = "f\u{fc}nfzehn Byte\u{fc}".as_bytes();
        let renamed = std::thread::spawn(move || {
            let tid = rustix::thread::gettid().as_raw_nonzero().get() as Tid;
            fs::write(format!("/proc/self/task/{tid}/comm"), name).unwrap();
            let comm = format!("/proc/self/task/{tid}/comm");
            assert!(fs::read_to_string(&comm).is_err(), "no longer UTF-8");
            (text(comm).unwrap(), started(tid), of(tid), crate::mask::changeable(tid))
        });
        let (name, started, process, changeable) = renamed.join().unwrap();
        assert_eq!(name, "f\u{fc}nfzehn Byte\u{fffd}\n");
        assert!(started.is_some() && process == Some(std::process::id()) && changeable);
    }

    #[test]
    fn the_start_of_a_thread_is_found_on_the_other_clock() {
        let before = clock();
        let own = std::thread::spawn(|| started_between(rustix::thread::gettid().as_raw_nonzero().get() as Tid)).join();
        let own = own.unwrap();
        assert!(*own.end() >= before && *own.start() <= clock(), "{own:?}, {before}");
        assert!(own.end().since(*own.start()) <= Ns::from_ms(20));
    }
}
