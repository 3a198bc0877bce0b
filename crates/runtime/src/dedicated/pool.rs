//! A dedicated pool.
#![allow(unsafe_code)]

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::AcqRel;

use crate::dedicated::dedication::Dedication;
use crate::dedicated::{BroadcastContext, Scope, ScopeFifo};
use crate::job::{HeapJob, Job};
use crate::pool::send;
use crate::state::{PoolState, WorkerSlot};
use crate::worker::Worker;

/// A pool all of whose workers are threads of its own. A clone is the same pool. Its threads exist until it is [released](Self::release).
#[derive(Clone)]
pub struct DedicatedPool {
    state: Arc<PoolState>,
}

impl DedicatedPool {
    pub(crate) fn of(state: Arc<PoolState>) -> DedicatedPool {
        DedicatedPool { state }
    }

    pub(crate) fn state(&self) -> &Arc<PoolState> {
        &self.state
    }

    pub(crate) fn dedication(&self) -> &Dedication {
        self.state.dedication.as_ref().unwrap_or_else(|| unreachable!("it is dedicated"))
    }

    /// The calling thread as a worker of this pool.
    fn worker(&self) -> Option<Worker<'_>> {
        Worker::current().filter(|worker| worker.slot().is_in(&self.state))
    }

    /// How many workers it has.
    #[inline]
    pub fn threads(&self) -> usize {
        self.state.slots.len()
    }

    /// Which worker of this pool the calling thread is.
    #[inline]
    pub fn index(&self) -> Option<usize> {
        self.worker().map(Worker::index)
    }

    /// Whether the calling thread has tasks in its queue, if it is a worker of this pool.
    #[inline]
    pub fn has_tasks(&self) -> Option<bool> {
        self.worker().map(|worker| !worker.is_empty())
    }

    /// Runs `f` on a worker of this pool: at once on one, else the calling thread waits, and works in its own pool, if it has one.
    ///
    /// # Panics
    /// If `f` does.
    pub fn install<F, R>(&self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        if self.worker().is_some() {
            return f();
        }
        match Worker::slot_in(&self.state) {
            // Further down its stack: it has gone to the first slot of a pool that is not dedicated.
            // SAFETY: this thread works in that slot.
            Some(slot) => unsafe { Worker::enter(slot, |_| f()) },
            None => send(&self.state, f),
        }
    }

    /// Has a worker run `f` later, and does not wait. The pool does not end before. A panic goes to the [handler](super::Handlers::panic).
    pub fn spawn(&self, f: impl FnOnce() + Send + 'static) {
        self.state.push_or_inject(self.state.held(f));
    }

    /// As [`spawn`](Self::spawn). What one worker spawns like this it begins in that order.
    pub fn spawn_fifo(&self, f: impl FnOnce() + Send + 'static) {
        let job = self.state.held(f);
        match self.worker() {
            Some(worker) => worker.spawn(worker.slot().own.fifo.push(job)),
            None => self.state.inject(job),
        }
    }

    /// Has each worker run `f`, as soon as it has no other tasks in its queue, and waits for the results, in the order of the workers.
    ///
    /// # Panics
    /// If one of them does, after all have ended; with the panic of the first by number.
    pub fn broadcast<F, R>(&self, f: F) -> Vec<R>
    where
        F: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        self.state.broadcast_and_wait(f)
    }

    /// Has each worker run `f` later, as [`spawn`](Self::spawn) does.
    pub fn spawn_broadcast<F>(&self, f: F)
    where
        F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        self.state.broadcast_later(f);
    }

    /// Runs `f` here, on whatever thread this is. Tasks that it spawns are run in this pool. Waits until all have ended.
    pub fn in_place_scope<'scope, R>(&self, f: impl FnOnce(&Scope<'scope>) -> R) -> R {
        Scope::run(Arc::clone(&self.state), f)
    }

    /// As [`in_place_scope`](Self::in_place_scope), with tasks that begin in the order in which a thread has spawned them.
    pub fn in_place_scope_fifo<'scope, R>(&self, f: impl FnOnce(&ScopeFifo<'scope>) -> R) -> R {
        ScopeFifo::run(Arc::clone(&self.state), f)
    }

    /// Lets the threads end when all that was spawned is done, without waiting for that. Afterwards the pool must not be used from outside: nothing would run it.
    pub fn release(&self) {
        if !self.dedication().released.swap(true, AcqRel) {
            self.state.let_go();
        }
    }

    /// Waits until all threads have started.
    pub fn wait_until_started(&self) {
        self.dedication().started.wait(self.threads());
    }

    /// Waits until all threads have ended, but for one that has [settled](super::WorkerStart::settle).
    pub fn wait_until_stopped(&self) {
        self.dedication().stopped.wait(self.threads());
    }
}

impl PoolState {
    /// A job for which the pool is held.
    pub(crate) fn held(&self, f: impl FnOnce() + Send + 'static) -> NonNull<Job> {
        self.hold();
        // SAFETY: it borrows nothing, and does not unwind.
        unsafe { HeapJob::leak(move |slot: &WorkerSlot| slot.pool().run_held(f)) }
    }

    /// Into the queue of the calling thread if it is a worker of this pool.
    pub(crate) fn push_or_inject(&self, job: NonNull<Job>) {
        match Worker::current().filter(|worker| worker.slot().is_in(self)) {
            Some(worker) => worker.spawn(job),
            None => self.inject(job),
        }
    }
}

impl fmt::Debug for DedicatedPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DedicatedPool").field("threads", &self.threads()).finish_non_exhaustive()
    }
}
