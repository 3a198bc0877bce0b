//! The clocks of this host.

use evenkeel_model::Ns;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// `CLOCK_MONOTONIC`, the clock of every event of the kernel.
pub fn clock() -> Ns {
    time(clock_gettime(ClockId::Monotonic))
}

/// The CPU time that this thread has used.
pub fn thread_time() -> Ns {
    time(clock_gettime(ClockId::ThreadCPUTime))
}

/// The CPU time of all children of this process that have ended and were waited for, and of theirs.
pub(crate) fn children_time() -> Ns {
    // SAFETY: all of a `rusage` are integers, for which zero is a value; the kernel fills in the one that it is given,
    // which lives until the call returns. The call fails for a wrong `who` or address only; then it stays zero.
    #[allow(unsafe_code)]
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let ns = |time: libc::timeval| Ns(time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000);
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

fn time(time: Timespec) -> Ns {
    Ns(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
