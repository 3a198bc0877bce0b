//! How a thread becomes a worker of a pool for a while, and how jobs get there from outside.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};
use std::thread;

use crate::affinity::Mask;
use crate::asymmetry::{Activity, Asymmetry};
use crate::fork;
use crate::job::Job;
use crate::latch::Latch;
use crate::state::PoolState;
use crate::worker::Worker;

impl PoolState {
    /// What a thread of the pool does.
    pub(crate) fn work(&self, index: usize) {
        let slot = &self.slots[index];
        let _binding = Binding::new(self, index, Activity::Waiting);
        // SAFETY: each index is given to one thread, which holds the pool.
        unsafe { Worker::enter(slot, |worker| worker.work(&slot.closed)) }
    }

    /// What the thread does that samples the workers.
    pub(crate) fn sample(&self, turns: bool) {
        let marks = |worker: usize| self.slots[worker].marks();
        let more = || self.has_injected() || self.slots.iter().any(|slot| slot.deque.len() > 0);
        if let Some(asymmetry) = &self.asymmetry {
            asymmetry.sample(turns, marks, more);
        }
    }

    /// Has a job run by the next worker that is free.
    pub(crate) fn inject(&self, job: NonNull<Job>) {
        if self.is_lost() {
            fork::lost();
        }
        self.injected.push(job);
        self.wake_one();
        // Workers that have gone to another pool search here as soon as they have nothing to do, but they do not sleep here. One that does not sleep
        // yet is woken when it does.
        self.gone().iter().for_each(|(pool, worker)| pool.sleep.wake(*worker));
        self.serve();
    }

    /// Runs `f` in the first slot, or gives it back if another thread works there.
    pub(crate) fn in_first_slot<F: FnOnce() -> R, R>(&self, f: F) -> Result<R, F> {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.occupy(f)));
        self.serve();
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Runs what was sent to a pool without threads of its own if its slot is free: workers of other pools wait for it where they are. Called by the thread that
    /// has left the slot, and by the one that has sent a job. Each does its part before it checks what the other did, so one of them sees the job and the free
    /// slot.
    fn serve(&self) {
        if self.is_lost() {
            return;
        }
        fence(Ordering::SeqCst);
        while self.alone.load(Ordering::Relaxed) && !self.injected.is_empty() {
            let all = || {
                while let Some((worker, job)) = Worker::current().zip(self.injected.pop()) {
                    // SAFETY: it was in a queue.
                    unsafe { Job::run(job, worker.slot()) };
                }
            };
            if self.occupy(all).is_err() {
                return;
            }
            fence(Ordering::SeqCst);
        }
    }

    fn occupy<F: FnOnce() -> R, R>(&self, f: F) -> Result<R, F> {
        if self.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return Err(f);
        }
        let _leave = Leave(self);
        let _binding = Binding::new(self, 0, Activity::Active);
        // SAFETY: `taken` keeps others away; the caller has the pool.
        Ok(unsafe { Worker::enter(&self.slots[0], |_| f()) })
    }

    /// Waits as a thread of no pool: parked, or in the first slot if that is free.
    pub(crate) fn wait_outside(&self, latch: &Latch) {
        if self.dedication.is_some() {
            // Its first slot is never free.
            while !latch.is_open() {
                thread::park();
            }
            return;
        }
        let me = thread::current();
        self.callers().push(me.clone());
        while !latch.is_open() {
            let wait = || {
                if let Some(worker) = Worker::current() {
                    worker.wait_until(latch, worker.floor());
                }
            };
            if self.in_first_slot(wait).is_err() {
                thread::park();
            }
        }
        self.callers().retain(|caller| caller.id() != me.id());
    }
}

/// Leaves the first slot, and wakes the threads that wait for it.
struct Leave<'a>(&'a PoolState);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        if self.0.is_lost() {
            return;
        }
        self.0.taken.store(false, Ordering::Release);
        for caller in self.0.callers().iter() {
            caller.unpark();
        }
    }
}

/// The core of a thread that is a worker at the moment, where cores differ. The thread leaves it when it is a worker no more, panic or not.
pub(crate) struct Binding<'a> {
    pool: &'a PoolState,
    worker: usize,
    /// Where the thread might run before, if it was bound.
    before: Option<Mask>,
}

thread_local! {
    /// Where this thread might run before a pool bound it.
    static UNBOUND: RefCell<Option<Mask>> = const { RefCell::new(None) };
}

impl<'a> Binding<'a> {
    pub(crate) fn new(pool: &'a PoolState, worker: usize, activity: Activity) -> Binding<'a> {
        let before = pool.asymmetry.as_ref().and_then(|asymmetry| {
            // A worker that another pool has bound, however far out, keeps that binding; only that pool moves it.
            let free =
                Worker::slots().all(|outer| outer.pool().asymmetry.as_deref().and_then(Asymmetry::uneven).is_none());
            let before = asymmetry.arrive(worker, free, activity);
            if before.is_some() {
                UNBOUND.replace(before.clone());
            }
            before
        });
        Binding { pool, worker, before }
    }
}

impl Drop for Binding<'_> {
    fn drop(&mut self) {
        let Some(asymmetry) = &self.pool.asymmetry else { return };
        let before = self.before.take();
        if before.is_some() {
            UNBOUND.take();
        }
        if self.pool.is_lost() {
            before.iter().for_each(Asymmetry::unbind);
        } else {
            asymmetry.leave(self.worker, before);
        }
    }
}

/// A thread that was bound when it forked may run in the child where it might before.
pub(crate) fn unbind_forked() {
    if let Some(before) = UNBOUND.take() {
        Asymmetry::unbind(&before);
    }
}
