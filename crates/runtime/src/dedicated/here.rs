//! The calling thread, as a worker.

use crate::dedicated::{DedicatedPool, Scope, ScopeFifo};
use crate::join::join_in;
use crate::worker::Worker;

/// The calling thread as a worker of the pool where it works now. See [`here`].
#[derive(Clone, Copy)]
pub struct Here<'a>(Worker<'a>);

/// Calls `f` with the worker that this thread is now, in a dedicated pool or in another one. `None`: in none.
#[inline(always)]
pub fn here<R>(f: impl for<'a> FnOnce(Option<Here<'a>>) -> R) -> R {
    f(Worker::current().map(Here))
}

impl Here<'_> {
    /// This worker, if its pool is dedicated.
    #[inline]
    pub fn dedicated(self) -> Option<Self> {
        self.0.shared().dedication.is_some().then_some(self)
    }

    /// [`join`](crate::join) on this worker. A closure gets whether it was migrated: called from another thread than that which has provided it, or from another frame while
    /// that thread waited.
    #[inline(always)]
    pub fn join<A, B, RA, RB>(self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(bool) -> RA + Send,
        B: FnOnce(bool) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        join_in(self.0, || a(false), b)
    }

    /// Runs `f`, which may spawn tasks in this worker's pool, and waits until all have ended.
    pub fn scope<'scope, R>(self, f: impl FnOnce(&Scope<'scope>) -> R) -> R {
        Scope::run(self.0.shared().arc(), f)
    }

    /// As [`scope`](Self::scope), with tasks that begin in the order in which a worker has spawned them.
    pub fn scope_fifo<'scope, R>(self, f: impl FnOnce(&ScopeFifo<'scope>) -> R) -> R {
        ScopeFifo::run(self.0.shared().arc(), f)
    }

    /// Has a worker of this pool, which is [dedicated](Self::dedicated), run `f` later: [`DedicatedPool::spawn`].
    pub fn spawn(self, f: impl FnOnce() + Send + 'static) {
        self.0.spawn(self.0.shared().held(f));
    }

    /// As [`spawn`](Self::spawn), in the order of this worker: [`DedicatedPool::spawn_fifo`].
    pub fn spawn_fifo(self, f: impl FnOnce() + Send + 'static) {
        let job = self.0.shared().held(f);
        self.0.spawn(self.0.slot().own.fifo.push(job));
    }

    /// The number of this worker in its pool.
    #[inline]
    pub fn index(self) -> usize {
        self.0.index()
    }

    /// How many workers its pool has.
    #[inline]
    pub fn threads(self) -> usize {
        self.0.shared().slots.len()
    }

    /// Whether this worker has tasks in its queue.
    #[inline]
    pub fn has_tasks(self) -> bool {
        !self.0.is_empty()
    }

    /// Runs one task, of whichever worker. False if there is none.
    pub fn yield_now(self) -> bool {
        self.0.run_one()
    }

    /// Runs one task of this worker. False if there is none.
    pub fn yield_local(self) -> bool {
        self.0.run_one_of_its_own()
    }

    /// The pool, if it is dedicated.
    pub fn pool(self) -> Option<DedicatedPool> {
        self.dedicated().map(|here| DedicatedPool::of(here.0.shared().arc()))
    }
}
