//! A flag that is set once, and a worker that may sleep until then.
#![allow(unsafe_code)]

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use crate::sync::AtomicUsize;

const CLOSED: usize = 0;
const OPEN: usize = 1;
/// Closed, and the worker with the number above this sleeps until it opens.
const SLEEPER: usize = 2;

/// Closed until what a worker waits for is done.
pub(crate) struct Latch(AtomicUsize);

impl Latch {
    #[inline]
    pub(crate) fn new() -> Latch {
        Latch(AtomicUsize::new(CLOSED))
    }

    /// Whether it is open. Acquire: what happened before it was opened is seen.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.0.load(Acquire) == OPEN
    }

    /// Opens it. Returns the worker that has to be woken.
    ///
    /// The worker that waits may leave its frame, and with it the latch, at once. So `latch` is a pointer, and is not touched afterwards.
    ///
    /// # Safety
    /// The latch exists until it is opened.
    pub(crate) unsafe fn open(latch: *const Latch) -> Option<usize> {
        // SAFETY: the caller's promise. Release: pairs with `is_open`. Acquire: pairs with `doze`.
        let before = unsafe { (*latch).0.swap(OPEN, AcqRel) };
        before.checked_sub(SLEEPER)
    }

    /// Closes it again, by the worker that has waited for it.
    pub(crate) fn close(&self) {
        // The thread that opens it next has synchronised with the caller before.
        self.0.store(CLOSED, Relaxed);
    }

    /// Says that this worker is going to sleep until it opens. False if it is open.
    pub(crate) fn doze(&self, worker: usize) -> bool {
        self.0.compare_exchange(CLOSED, worker + SLEEPER, AcqRel, Acquire).is_ok()
    }

    /// The worker sleeps no more. It may be open by now.
    pub(crate) fn rise(&self, worker: usize) {
        let _ = self.0.compare_exchange(worker + SLEEPER, CLOSED, AcqRel, Acquire);
    }
}
