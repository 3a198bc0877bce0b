//! The same task on each worker of a pool.
#![allow(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::dedicated::group::Group;
use crate::fork;
use crate::job::{HeapJob, Job, discard};
use crate::state::{PoolState, WorkerSlot};
use crate::sync::lock_std;

/// The worker that runs a task of a broadcast.
pub struct BroadcastContext<'a> {
    slot: &'a WorkerSlot,
    /// Of this thread alone.
    _thread: PhantomData<&'a mut dyn Fn()>,
}

impl<'a> BroadcastContext<'a> {
    /// For a task that the worker in this slot runs.
    pub(crate) fn new(slot: &'a WorkerSlot) -> BroadcastContext<'a> {
        BroadcastContext { slot, _thread: PhantomData }
    }

    /// The number of the worker.
    #[inline]
    pub fn index(&self) -> usize {
        self.slot.index
    }

    /// How many workers run the task.
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.slot.pool().slots.len()
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut context = f.debug_struct("BroadcastContext");
        context.field("index", &self.index()).field("num_threads", &self.num_threads()).finish_non_exhaustive()
    }
}

impl PoolState {
    /// Puts one job into the queue of each worker from which no other takes.
    pub(crate) fn broadcast(&self, jobs: impl ExactSizeIterator<Item = NonNull<Job>>) {
        if self.is_lost() {
            fork::lost();
        }
        let Some(dedication) = &self.dedication else { unreachable!("only dedicated pools broadcast") };
        {
            let _order = lock_std(&dedication.broadcasting);
            self.slots.iter().zip(jobs).for_each(|(slot, job)| slot.own.broadcasts.push(job));
        }
        // Also those that do not sleep: being woken before it parks counts, so there is no moment at which a worker could miss it.
        self.slots.iter().for_each(|slot| self.sleep.wake(slot.index));
        self.gone().iter().for_each(|(pool, worker)| pool.sleep.wake(*worker));
    }

    /// Has each worker run `f`, and waits for the results, which are in the order of the workers.
    pub(crate) fn broadcast_and_wait<F, R>(&self, f: F) -> Vec<R>
    where
        F: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        struct Shared<F, R> {
            f: F,
            group: Group,
            outcomes: Vec<Mutex<Option<thread::Result<R>>>>,
        }
        struct SharedRef<F, R>(NonNull<Shared<F, R>>);
        // SAFETY: workers call a `Sync` closure, and each puts its own outcome, which is `Send`, under a lock.
        unsafe impl<F: Sync, R: Send> Send for SharedRef<F, R> {}

        impl<F: Fn(BroadcastContext<'_>) -> R, R> SharedRef<F, R> {
            fn run(self, slot: &WorkerSlot) {
                // SAFETY: it exists until each of its tasks has left.
                let shared = unsafe { self.0.as_ref() };
                let outcome = catch_unwind(AssertUnwindSafe(|| (shared.f)(BroadcastContext::new(slot))));
                *lock_std(&shared.outcomes[slot.index]) = Some(outcome);
                // SAFETY: the task has ended; it was counted when it was made.
                unsafe { Group::leave(&raw const shared.group, Ok(())) };
            }
        }

        let outcomes = self.slots.iter().map(|_| Mutex::new(None)).collect();
        let shared = Shared { f, group: Group::new(), outcomes };
        let jobs = self.slots.iter().map(|_| {
            shared.group.enter();
            let sent = SharedRef(NonNull::from(&shared));
            // SAFETY: this frame waits for it, and `run` catches its panic.
            unsafe { HeapJob::leak(move |slot: &WorkerSlot| sent.run(slot)) }
        });
        self.broadcast(jobs);
        shared.group.wait();
        let mut results = Vec::with_capacity(self.slots.len());
        let mut first = None;
        for outcome in shared.outcomes {
            match outcome.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
                Some(Ok(result)) => results.push(result),
                Some(Err(panic)) if first.is_none() => first = Some(panic),
                Some(Err(panic)) => discard(panic),
                None => unreachable!("each task leaves its outcome before it leaves"),
            }
        }
        match first {
            None => results,
            Some(panic) => resume_unwind(panic),
        }
    }

    /// Has each worker run `f` later. The pool is held.
    pub(crate) fn broadcast_later<F>(&self, f: F)
    where
        F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        let f = Arc::new(f);
        let jobs = self.slots.iter().map(|_| {
            self.hold();
            let f = Arc::clone(&f);
            let job = move |slot: &WorkerSlot| slot.pool().run_held(move || f(BroadcastContext::new(slot)));
            // SAFETY: it borrows nothing, and does not unwind.
            unsafe { HeapJob::leak(job) }
        });
        self.broadcast(jobs);
    }
}
