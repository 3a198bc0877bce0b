//! Pools of one's own, and what a thread knows about the one in which it works.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use evenkeel_runtime::MAX_THREADS;
use evenkeel_runtime::dedicated::{BroadcastContext, Here, Scope, ScopeFifo, here};

use crate::join::join;
use crate::registry::{Registry, global};
use crate::scope::{scope, scope_fifo};

/// A pool of threads. Dropping it lets them end when all that was spawned is done, and does not wait for that.
pub struct ThreadPool {
    pub(crate) registry: Arc<Registry>,
}

impl ThreadPool {
    /// [`ThreadPoolBuilder::build`](crate::ThreadPoolBuilder::build).
    ///
    /// # Errors
    /// As there.
    #[deprecated(note = "use `ThreadPoolBuilder::build`")]
    #[allow(deprecated)]
    pub fn new(configuration: crate::Configuration) -> Result<ThreadPool, Box<dyn Error>> {
        Ok(configuration.into_builder().build()?)
    }

    /// Runs `op` on a thread of this pool: at once on one of them. Else the calling thread waits; if it belongs to another pool, it works there meanwhile.
    ///
    /// # Panics
    /// If `op` does.
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.registry.pool.install(op)
    }

    /// [`broadcast`](crate::broadcast()) in this pool.
    ///
    /// # Panics
    /// As there.
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        self.registry.pool.broadcast(op)
    }

    /// How many threads it has.
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.registry.num_threads()
    }

    /// The number of the calling thread, if it belongs to this pool.
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        self.registry.pool.index()
    }

    /// Whether the calling thread has tasks in its queue, if it belongs to this pool.
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.registry.pool.has_tasks()
    }

    /// [`join`](crate::join()) in this pool.
    ///
    /// # Panics
    /// As there.
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| join(oper_a, oper_b))
    }

    /// [`scope`](crate::scope()) in this pool.
    ///
    /// # Panics
    /// As there.
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope(op))
    }

    /// [`scope_fifo`](crate::scope_fifo()) in this pool.
    ///
    /// # Panics
    /// As there.
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope_fifo(op))
    }

    /// [`in_place_scope`](crate::in_place_scope()) with tasks in this pool.
    ///
    /// # Panics
    /// As there.
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        self.registry.pool.in_place_scope(op)
    }

    /// [`in_place_scope_fifo`](crate::in_place_scope_fifo()) with tasks in this pool.
    ///
    /// # Panics
    /// As there.
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        self.registry.pool.in_place_scope_fifo(op)
    }

    /// [`spawn`](crate::spawn()) in this pool.
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.registry.pool.spawn(op);
    }

    /// [`spawn_fifo`](crate::spawn_fifo()) in this pool.
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.registry.pool.spawn_fifo(op);
    }

    /// [`spawn_broadcast`](crate::spawn_broadcast()) in this pool.
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        self.registry.pool.spawn_broadcast(op);
    }

    /// [`yield_now`](crate::yield_now()), if the calling thread belongs to this pool.
    pub fn yield_now(&self) -> Option<Yield> {
        self.current_thread_index().and_then(|_| yield_now())
    }

    /// [`yield_local`](crate::yield_local()), if the calling thread belongs to this pool.
    pub fn yield_local(&self) -> Option<Yield> {
        self.current_thread_index().and_then(|_| yield_local())
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.registry.pool.release();
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool").field("num_threads", &self.current_num_threads()).finish_non_exhaustive()
    }
}

/// What a thread has done that yielded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// It has run a task.
    Executed,
    /// It has found none.
    Idle,
}

impl Yield {
    fn of(executed: bool) -> Yield {
        if executed { Yield::Executed } else { Yield::Idle }
    }
}

/// What the worker that this thread is says, if it is one.
#[inline]
fn worker<R>(f: impl for<'a> FnOnce(Here<'a>) -> R) -> Option<R> {
    here(|worker| worker.and_then(Here::dedicated).map(f))
}

/// The number of this thread in its pool, if it belongs to one.
#[inline]
pub fn current_thread_index() -> Option<usize> {
    worker(|worker| worker.index())
}

/// Whether this thread has tasks in its queue, if it belongs to a pool.
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    worker(|worker| worker.has_tasks())
}

/// How many threads this thread's pool has, or the global one.
pub fn current_num_threads() -> usize {
    worker(|worker| worker.threads()).unwrap_or_else(|| global().num_threads())
}

/// The most threads that a pool has. More are not an error: a pool has these then.
pub fn max_num_threads() -> usize {
    MAX_THREADS
}

/// Runs one task of this thread's pool, if the thread belongs to one.
pub fn yield_now() -> Option<Yield> {
    worker(|worker| worker.yield_now()).map(Yield::of)
}

/// Runs one of this thread's own tasks, if the thread belongs to a pool.
pub fn yield_local() -> Option<Yield> {
    worker(|worker| worker.yield_local()).map(Yield::of)
}
