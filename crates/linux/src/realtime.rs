//! The kernel's classes of scheduling that come before all ordinary work.

use std::io;

use crate::event::Tid;

/// A reservation holds within every such span.
const PERIOD_NS: u64 = 10_000_000;
const SCHED_DEADLINE: u32 = 6;

/// `struct sched_attr` of sched_setattr(2), version 0.
#[repr(C)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

impl SchedAttr {
    const EMPTY: Self = Self {
        size: size_of::<Self>() as u32,
        policy: 0,
        flags: 0,
        nice: 0,
        priority: 0,
        runtime: 0,
        deadline: 0,
        period: 0,
    };
}

/// Lets a thread (0: this one) run before all ordinary work.
pub(crate) fn fifo(tid: Tid) -> io::Result<()> {
    const SCHED_FIFO: u32 = 1;
    set(tid, &SchedAttr { policy: SCHED_FIFO, priority: 1, ..SchedAttr::EMPTY })
}

/// Gives a thread (0: this one) a share of a CPU, and no more.
pub(crate) fn reserve(tid: Tid, share: f64) -> io::Result<()> {
    const SCHED_FLAG_RESET_ON_FORK: u64 = 1;
    set(
        tid,
        &SchedAttr {
            policy: SCHED_DEADLINE,
            flags: SCHED_FLAG_RESET_ON_FORK,
            runtime: (share * PERIOD_NS as f64) as u64,
            deadline: PERIOD_NS,
            period: PERIOD_NS,
            ..SchedAttr::EMPTY
        },
    )
}

/// The share of a CPU that a thread has reserved, if it has.
pub(crate) fn reserved(tid: Tid) -> Option<f64> {
    let mut attr = SchedAttr::EMPTY;
    // SAFETY: the kernel writes at most the given size to `attr`, which lives until the call returns.
    #[allow(unsafe_code)]
    let result = unsafe {
        libc::syscall(libc::SYS_sched_getattr, tid, std::ptr::from_mut(&mut attr), size_of::<SchedAttr>(), 0)
    };
    (result == 0 && attr.policy == SCHED_DEADLINE).then(|| attr.runtime as f64 / attr.period.max(1) as f64)
}

fn set(tid: Tid, attr: &SchedAttr) -> io::Result<()> {
    // SAFETY: the kernel reads `size` bytes from `attr`, which lives until the call returns, and nothing else.
    #[allow(unsafe_code)]
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, tid, std::ptr::from_ref(attr), 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
