//! The kernel's classes of scheduling that come before all ordinary work.

use std::io;

use evenkeel_model::Ns;

use crate::event::Tid;

const SCHED_EXT: u32 = 7;
const SCHED_DEADLINE: u32 = libc::SCHED_DEADLINE as u32;

const EMPTY: libc::sched_attr = libc::sched_attr {
    size: size_of::<libc::sched_attr>() as u32,
    sched_policy: 0,
    sched_flags: 0,
    sched_nice: 0,
    sched_priority: 0,
    sched_runtime: 0,
    sched_deadline: 0,
    sched_period: 0,
};

/// Lets a thread (0: this one) run before all ordinary work.
///
/// # Errors
/// This user may not, or there is no such thread.
pub fn fifo(tid: Tid) -> io::Result<()> {
    fifo_at(tid, 1, 0)
}

/// The same, but for the threads that it starts, which are ordinary ones.
///
/// # Errors
/// As [`fifo`].
pub fn fifo_alone(tid: Tid) -> io::Result<()> {
    fifo_at(tid, 1, libc::SCHED_FLAG_RESET_ON_FORK as u64)
}

/// The same before all that [`fifo`] does.
pub(crate) fn before_fifo(tid: Tid) -> io::Result<()> {
    fifo_at(tid, 2, 0)
}

fn fifo_at(tid: Tid, priority: u32, flags: u64) -> io::Result<()> {
    let fifo = libc::SCHED_FIFO as u32;
    set(tid, &libc::sched_attr { sched_policy: fifo, sched_priority: priority, sched_flags: flags, ..EMPTY })
}

/// This thread runs before all ordinary work until this is dropped.
pub(crate) struct Urgent {
    before: libc::sched_attr,
}

impl Urgent {
    /// `None` if this user may not, or the thread is no ordinary one.
    pub fn this_thread() -> Option<Self> {
        let before = get(0).ok().filter(|before| before.sched_policy == libc::SCHED_OTHER as u32)?;
        fifo(0).ok().map(|()| Self { before })
    }
}

impl Drop for Urgent {
    fn drop(&mut self) {
        let _ = set(0, &self.before);
    }
}

/// The class of an ordinary thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ordinary(u32);

impl Default for Ordinary {
    fn default() -> Self {
        Self(libc::SCHED_OTHER as u32)
    }
}

/// Gives an ordinary thread (0: this one) to the scheduler of sched_ext, if there is one; until there is, it is as before. Its nice
/// value stays. Returns the class that it had. Threads of other classes are left alone: their class was set on purpose.
///
/// # Errors
/// This user may not, or there is no such thread.
pub fn ext(tid: Tid) -> io::Result<Option<Ordinary>> {
    let now = get(tid)?;
    if ![libc::SCHED_OTHER as u32, libc::SCHED_BATCH as u32].contains(&now.sched_policy) {
        return Ok(None);
    }
    set_class(tid, &now, SCHED_EXT)?;
    Ok(Some(Ordinary(now.sched_policy)))
}

/// Makes a thread of sched_ext an ordinary one. Others are left alone.
///
/// # Errors
/// As [`ext`].
pub fn ordinary(tid: Tid, class: Ordinary) -> io::Result<()> {
    let now = get(tid)?;
    if now.sched_policy == SCHED_EXT { set_class(tid, &now, class.0) } else { Ok(()) }
}

/// Whether a thread is one of sched_ext.
pub fn is_ext(tid: Tid) -> bool {
    get(tid).is_ok_and(|attr| attr.sched_policy == SCHED_EXT)
}

/// Another class, which knows nice values, too. SCHED_FLAG_KEEP_PARAMS would keep the class. What the thread starts is as before, too: this
/// user may not be allowed to change that.
fn set_class(tid: Tid, now: &libc::sched_attr, class: u32) -> io::Result<()> {
    let sched_flags = now.sched_flags & libc::SCHED_FLAG_RESET_ON_FORK as u64;
    set(tid, &libc::sched_attr { sched_policy: class, sched_flags, sched_nice: now.sched_nice, ..EMPTY })
}

/// Time on a CPU in every such span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reservation {
    pub(crate) runtime: Ns,
    /// From when it can run, it has that by then.
    pub(crate) deadline: Ns,
    pub(crate) period: Ns,
}

impl Reservation {
    /// A share of a CPU.
    pub(crate) fn of(share: f64, period: Ns) -> Self {
        Self { runtime: Ns((share * period.0 as f64) as u64), deadline: period, period }
    }

    /// The same, as soon as it can be had: of two reservations the one with the earlier deadline comes first.
    pub(crate) fn at_once(self) -> Self {
        Self { deadline: self.runtime, ..self }
    }

    /// The share that it is.
    pub(crate) fn share(self) -> f64 {
        self.runtime.0 as f64 / self.period.0.max(1) as f64
    }
}

/// Gives a thread (0: this one) its time, and no more.
pub(crate) fn reserve(tid: Tid, reservation: Reservation) -> io::Result<()> {
    let attr = libc::sched_attr {
        sched_policy: SCHED_DEADLINE,
        sched_flags: libc::SCHED_FLAG_RESET_ON_FORK as u64,
        sched_runtime: reservation.runtime.0,
        sched_deadline: reservation.deadline.0,
        sched_period: reservation.period.0,
        ..EMPTY
    };
    set(tid, &attr)
}

/// What a thread has reserved, if it has.
pub(crate) fn reservation(tid: Tid) -> Option<Reservation> {
    let attr = get(tid).ok().filter(|attr| attr.sched_policy == SCHED_DEADLINE)?;
    let libc::sched_attr { sched_runtime, sched_deadline, sched_period, .. } = attr;
    Some(Reservation { runtime: Ns(sched_runtime), deadline: Ns(sched_deadline), period: Ns(sched_period) })
}

fn get(tid: Tid) -> io::Result<libc::sched_attr> {
    let mut attr = EMPTY;
    // SAFETY: the kernel writes at most the given size to `attr`, which lives until the call returns.
    #[allow(unsafe_code)]
    let result = unsafe { libc::syscall(libc::SYS_sched_getattr, tid, &raw mut attr, attr.size, 0) };
    if result == 0 { Ok(attr) } else { Err(io::Error::last_os_error()) }
}

fn set(tid: Tid, attr: &libc::sched_attr) -> io::Result<()> {
    // SAFETY: the kernel reads `size` bytes from `attr`, which lives until the call returns, and nothing else.
    #[allow(unsafe_code)]
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, tid, std::ptr::from_ref(attr), 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_class_changes_nothing_else() {
        const FLAG: u64 = libc::SCHED_FLAG_RESET_ON_FORK as u64;
        let changed = std::thread::spawn(|| {
            let before = get(0).unwrap();
            set(0, &libc::sched_attr { sched_flags: FLAG, ..before }).unwrap();
            set_class(0, &get(0).unwrap(), libc::SCHED_BATCH as u32).unwrap();
            let after = get(0).unwrap();
            assert_eq!(after.sched_nice, before.sched_nice);
            (after.sched_policy, after.sched_flags & FLAG)
        });
        assert_eq!(changed.join().unwrap(), (libc::SCHED_BATCH as u32, FLAG));
    }
}
