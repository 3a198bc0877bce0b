//! What a forked process keeps of the runtime.
//!
//! `fork` copies the memory of a process, but of its threads only the calling one. The workers of a pool are gone in the child, and locks that they held
//! stay locked. So nothing of what was made before the fork is used in the child: pools start new workers when they are first used there, and what is made once in a
//! process is made once more ([`PerProcess`]). DESIGN.md ("Forking") says what becomes of a task that forks.
#![allow(unsafe_code)]

use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicPtr, AtomicUsize};

/// How many forks lie between this process and the one that made the first pool.
static FORKS: AtomicUsize = AtomicUsize::new(0);

/// The process in which something was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process(usize);

impl Process {
    #[inline]
    pub(crate) fn current() -> Process {
        Process(FORKS.load(Relaxed))
    }

    /// False in a process that was forked since.
    #[inline]
    pub(crate) fn is_current(self) -> bool {
        self == Process::current()
    }

    /// Whether this process was forked from one that had a pool.
    pub(crate) fn is_child() -> bool {
        Process::current() != Process(0)
    }
}

/// Has forks counted from now on. Called before the first worker starts, as often as pools are made.
pub(crate) fn count_forks() {
    #[cfg(all(unix, not(any(loom, miri))))]
    {
        use std::sync::atomic::AtomicBool;
        use std::sync::atomic::Ordering::{Acquire, Release};

        static COUNTED: AtomicBool = AtomicBool::new(false);
        unsafe extern "C" fn child() {
            FORKS.fetch_add(1, Relaxed);
        }
        if COUNTED.load(Acquire) {
            return;
        }
        // Two threads that come at once have each fork counted twice. Processes still have different counts.
        // SAFETY: the handler only adds to an atomic, which a signal handler may do, too.
        if unsafe { libc::pthread_atfork(None, None, Some(child)) } == 0 {
            COUNTED.store(true, Release);
        }
    }
}

/// Ends a child that waits for what only a thread of its parent could do. Locks of the standard library may be held by such threads, so the message goes
/// straight to the descriptor.
#[cold]
pub(crate) fn lost() -> ! {
    const MESSAGE: &str = "evenkeel: this process was forked by a task and waits for another task, which a thread of its parent has: \
         fork outside of tasks, or let the child exec or exit\n";
    #[cfg(unix)]
    // SAFETY: the message is there.
    unsafe {
        libc::write(2, MESSAGE.as_ptr().cast(), MESSAGE.len());
    }
    #[cfg(not(unix))]
    eprint!("{MESSAGE}");
    std::process::abort()
}

/// A value that each process makes for itself when it needs it.
pub(crate) struct PerProcess<T> {
    made: AtomicPtr<Made<T>>,
}

struct Made<T> {
    process: Process,
    value: OnceLock<T>,
    /// What the parent of this process had.
    inherited: *const Made<T>,
}

// SAFETY: as a `OnceLock`, which it is but for the processes: only values are shared, and dropped by the thread that drops this.
unsafe impl<T: Send + Sync> Sync for PerProcess<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for PerProcess<T> {}

impl<T> PerProcess<T> {
    pub(crate) const fn new() -> PerProcess<T> {
        PerProcess { made: AtomicPtr::new(ptr::null_mut()) }
    }

    /// With a value for this process.
    pub(crate) fn with(value: T) -> PerProcess<T> {
        let this = PerProcess::new();
        let _ = this.made().value.set(value);
        this
    }

    /// The value, if this process has made one.
    #[inline]
    pub(crate) fn get(&self) -> Option<&T> {
        // SAFETY: `made` frees nothing that was ever there.
        let made = unsafe { self.made.load(Acquire).as_ref() }?;
        if made.process.is_current() { made.value.get() } else { None }
    }

    /// The value, which `make` makes if this process has none. It gets the parent's, if that had one.
    pub(crate) fn get_or_make(&self, make: impl FnOnce(Option<&T>) -> T) -> &T {
        if let Some(value) = self.get() {
            return value;
        }
        let made = self.made();
        // SAFETY: never freed before this.
        let inherited = unsafe { made.inherited.as_ref() }.and_then(|made| made.value.get());
        made.value.get_or_init(|| make(inherited))
    }

    /// Gives this process its value; back if it has one.
    pub(crate) fn set(&self, value: T) -> Result<(), T> {
        self.made().value.set(value)
    }

    /// Takes the value of this process out.
    pub(crate) fn take(&mut self) -> Option<T> {
        // SAFETY: as in `get`, and there is no other reference.
        let made = unsafe { self.made.get_mut().as_mut() }?;
        if made.process.is_current() { made.value.take() } else { None }
    }

    fn made(&self) -> &Made<T> {
        loop {
            let there = self.made.load(Acquire);
            // SAFETY: what was there once is freed by `drop` only.
            if let Some(made) = unsafe { there.as_ref() }
                && made.process.is_current()
            {
                return made;
            }
            let made = Made { process: Process::current(), value: OnceLock::new(), inherited: there.cast_const() };
            let made = Box::into_raw(Box::new(made));
            if self.made.compare_exchange(there, made, AcqRel, Acquire).is_ok() {
                // SAFETY: as above.
                return unsafe { &*made };
            }
            // SAFETY: no other thread has seen it.
            drop(unsafe { Box::from_raw(made) });
        }
    }
}

impl<T> Drop for PerProcess<T> {
    /// What parents had is leaked: threads that are gone may have held its locks.
    fn drop(&mut self) {
        let made = *self.made.get_mut();
        // SAFETY: as above.
        if unsafe { made.as_ref() }.is_some_and(|made| made.process.is_current()) {
            // SAFETY: made by `made`, and there is no other reference.
            drop(unsafe { Box::from_raw(made) });
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_made_once_in_a_process_and_taken_out_once() {
        let mut value = PerProcess::new();
        assert_eq!(value.get(), None);
        assert_eq!(value.get_or_make(|before: Option<&String>| format!("{before:?}")), "None");
        assert_eq!(value.get_or_make(|_| unreachable!("it is there")), "None");
        assert_eq!(value.set(String::new()), Err(String::new()));
        assert_eq!(value.take().as_deref(), Some("None"));
        assert_eq!(value.take(), None);
        assert_eq!(PerProcess::with(7).get(), Some(&7));
    }
}
