//! How the threads of a dedicated pool start: the program starts them, as it likes.
#![allow(unsafe_code)]

use std::fmt;
use std::mem;
use std::sync::Arc;

use evenkeel_topology::Topology;

use crate::asymmetry::{self, Activity};
use crate::dedicated::dedication::{Dedication, Handlers};
use crate::dedicated::pool::DedicatedPool;
use crate::enter::Binding;
use crate::error::MAX_THREADS;
use crate::fork;
use crate::state::PoolState;
use crate::thread::PoolThread;
use crate::worker::Worker;
use crate::workers::{Lifetime, PoolPlan};

/// How a dedicated pool is to be.
#[derive(Debug)]
pub struct DedicatedOptions {
    /// How many workers it has: at least one, at most [`MAX_THREADS`].
    pub threads: usize,
    /// The cores to run on, as in [`PoolBuilder::cores`](crate::PoolBuilder::cores). Default: those of this machine that this process may use.
    pub cores: Option<Topology>,
    /// Whether workers begin with the oldest of their own tasks. Default: with the newest.
    pub breadth_first: bool,
    /// What the program wants to be called for.
    pub handlers: Handlers,
}

impl Default for DedicatedOptions {
    fn default() -> DedicatedOptions {
        DedicatedOptions { threads: 1, cores: None, breadth_first: false, handlers: Handlers::default() }
    }
}

/// A worker that has no thread yet.
pub struct WorkerStart {
    pool: DedicatedPool,
    index: usize,
}

/// Why a thread cannot [settle](WorkerStart::settle): it is a worker already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this thread is a worker of a pool already")]
pub struct Settled;

/// Releases a pool that is not complete.
struct Incomplete<'a>(&'a DedicatedPool);

impl Drop for Incomplete<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl DedicatedPool {
    /// Makes a pool. `start` gets each worker, the first one first, and has a thread [run](WorkerStart::run) it, now or later.
    ///
    /// # Errors
    /// That of `start`. The workers which have started by then end.
    pub fn start<E>(
        options: DedicatedOptions,
        mut start: impl FnMut(WorkerStart) -> Result<(), E>,
    ) -> Result<DedicatedPool, E> {
        let DedicatedOptions { threads, cores, breadth_first, handlers } = options;
        fork::count_forks();
        // It ends when the last spawned task does, maybe at the end of the process: nothing is changed that outlives it.
        let threads = threads.clamp(1, MAX_THREADS);
        if threads > 1
            && cores.is_none()
            && let Some(wrong) = asymmetry::wrong_powers()
        {
            asymmetry::tell_of(&wrong);
        }
        let plan = PoolPlan { threads, cores, lifetime: Lifetime::Process, ..PoolPlan::default() };
        let (asymmetry, _) = plan.asymmetry();
        let dedication = Dedication::new(handlers, breadth_first);
        let state = PoolState::new(threads, asymmetry.map(Arc::new), Some(dedication));
        let pool = DedicatedPool::of(state);
        let incomplete = Incomplete(&pool);
        for index in 0..threads {
            start(WorkerStart { pool: pool.clone(), index })?;
        }
        mem::forget(incomplete);
        if let Some(body) = plan.sampler(pool.state()) {
            // It ends by itself. Without it tasks stay where they are.
            drop(PoolThread::start(format!("{}-turns", plan.name), body));
        }
        Ok(pool)
    }
}

impl WorkerStart {
    /// Its number in the pool.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The pool.
    pub fn pool(&self) -> &DedicatedPool {
        &self.pool
    }

    /// Works, as the calling thread, until the pool ends.
    pub fn run(self) {
        let WorkerStart { pool, index } = self;
        let state = pool.state();
        let dedication = pool.dedication();
        let handlers = &dedication.handlers;
        {
            let slot = &state.slots[index];
            let _binding = Binding::new(state, index, Activity::Waiting);
            let work = |worker: Worker<'_>| {
                dedication.started.add();
                handlers.start.iter().for_each(|start| dedication.shield(|| start(index)));
                worker.work_at_once(&slot.closed);
                handlers.exit.iter().for_each(|exit| dedication.shield(|| exit(index)));
            };
            // SAFETY: there is one `WorkerStart` for each slot, and it holds the pool.
            unsafe { Worker::enter(slot, work) };
        }
        dedication.stopped.add();
    }

    /// Makes the calling thread this worker for as long as it lives. It works only where it waits, in this pool or for another one. The pool is never freed.
    ///
    /// # Errors
    /// The thread is a worker already.
    pub fn settle(self) -> Result<(), Settled> {
        let WorkerStart { pool, index } = self;
        if Worker::current().is_some() || Worker::outermost().is_some() {
            return Err(Settled);
        }
        // As a worker would keep it.
        mem::forget(Binding::new(pool.state(), index, Activity::Active));
        let state: *const PoolState = Arc::into_raw(Arc::clone(pool.state()));
        // SAFETY: the count of the pool is never lowered again.
        let state: &'static PoolState = unsafe { &*state };
        // SAFETY: there is one `WorkerStart` for each slot; the thread is in no other.
        unsafe { Worker::settle(&state.slots[index]) };
        pool.dedication().started.add();
        pool.dedication().stopped.add();
        Ok(())
    }
}

impl fmt::Debug for WorkerStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerStart").field("pool", &self.pool).field("index", &self.index).finish()
    }
}
