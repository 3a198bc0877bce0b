//! Tasks that one thread waits for.
#![allow(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::thread::{self, Thread};

use crate::job::{Panic, discard};
use crate::latch::Latch;
use crate::state::PoolState;
use crate::sync::{AtomicUsize, Mutex, lock};
use crate::worker::Worker;

/// Tasks that the thread that makes this waits for. They may run in another pool than the one where it works.
pub(crate) struct Group {
    /// Tasks that have not ended, and one for the thread that waits.
    open: AtomicUsize,
    /// Open when all have ended.
    latch: Latch,
    waiter: Waiter,
    /// The first panic.
    panic: Mutex<Option<Panic>>,
}

/// Who is woken when all have ended.
#[derive(Clone)]
enum Waiter {
    /// A worker of this pool. It takes what it queued from this place on.
    Worker(Arc<PoolState>, isize),
    Outside(Thread),
}

impl Group {
    pub(crate) fn new() -> Group {
        let waiter = match Worker::current() {
            Some(worker) => Waiter::Worker(worker.shared().arc(), worker.floor()),
            None => Waiter::Outside(thread::current()),
        };
        Group { open: AtomicUsize::new(1), latch: Latch::new(), waiter, panic: Mutex::new(None) }
    }

    /// Counts a task, which has to [leave](Self::leave).
    pub(crate) fn enter(&self) {
        self.open.fetch_add(1, Relaxed);
    }

    /// Ends a task.
    ///
    /// # Safety
    /// The task has entered, and touches nothing of what the waiting thread owns after this.
    pub(crate) unsafe fn leave(this: *const Group, outcome: Result<(), Panic>) {
        if let Err(panic) = outcome {
            // SAFETY: the group exists until each of its tasks has left.
            unsafe { &*this }.keep(panic);
        }
        // SAFETY: as above. A task does not touch the group after the count, but for the last: that one until the latch is open.
        unsafe {
            if (*this).open.fetch_sub(1, AcqRel) == 1 {
                let waiter = (*this).waiter.clone();
                let sleeper = Latch::open(&raw const (*this).latch);
                match waiter {
                    Waiter::Worker(pool, _) => sleeper.into_iter().for_each(|sleeper| pool.wake(sleeper)),
                    Waiter::Outside(thread) => thread.unpark(),
                }
            }
        }
    }

    /// Waits until all have ended, by the thread that has made it; once. Returns the first panic.
    pub(crate) fn wait(&self) -> Option<Panic> {
        if self.open.fetch_sub(1, AcqRel) > 1 {
            match (&self.waiter, Worker::current()) {
                (Waiter::Worker(_, floor), Some(worker)) => worker.wait_until(&self.latch, *floor),
                _ => {
                    while !self.latch.is_open() {
                        thread::park();
                    }
                }
            }
        }
        lock(&self.panic).take()
    }

    /// Keeps the first panic.
    pub(crate) fn keep(&self, panic: Panic) {
        let mut first = lock(&self.panic);
        if first.is_none() {
            *first = Some(panic);
        } else {
            drop(first);
            discard(panic);
        }
    }
}
