//! Any number of tasks that may borrow from the frame that waits for them.
#![allow(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

use crate::dedicated::broadcast::BroadcastContext;
use crate::dedicated::group::Group;
use crate::dedicated::queues::Fifo;
use crate::job::{HeapJob, Job};
use crate::state::{PoolState, WorkerSlot};
use crate::worker::Worker;

/// Where tasks are spawned that may borrow what lives for `'scope`. The newest task of a worker is run first by itself, the oldest is stolen first by others.
pub struct Scope<'scope> {
    base: Base<'scope>,
}

/// As [`Scope`], with tasks that begin in the order in which a worker has spawned them.
pub struct ScopeFifo<'scope> {
    base: Base<'scope>,
    /// One for each worker of the pool.
    fifos: Vec<Fifo>,
}

struct Base<'scope> {
    group: Group,
    pool: Arc<PoolState>,
    /// Invariant: tasks may put what they borrow for `'scope` where others find it.
    _borrows: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

impl Base<'_> {
    fn new(pool: Arc<PoolState>) -> Self {
        Base { group: Group::new(), pool, _borrows: PhantomData }
    }

    /// Runs the body, and waits.
    fn run<R>(&self, body: impl FnOnce() -> R) -> R {
        let outcome = catch_unwind(AssertUnwindSafe(body));
        let result = outcome.map_err(|panic| self.group.keep(panic));
        match (self.group.wait(), result) {
            (None, Ok(result)) => result,
            // A body that has panicked has left its panic, or an earlier one.
            (Some(panic), _) => resume_unwind(panic),
            (None, Err(())) => unreachable!("a panic was kept"),
        }
    }
}

/// A scope, for a task of it, which has entered its group.
struct Ref<S>(NonNull<S>);

// SAFETY: scopes are `Sync`.
unsafe impl<S: Sync> Send for Ref<S> {}
// SAFETY: as above.
unsafe impl<S: Sync> Sync for Ref<S> {}

/// What both kinds have.
trait HasBase<'scope> {
    fn base(&self) -> &Base<'scope>;
}

impl<'scope> HasBase<'scope> for Scope<'scope> {
    fn base(&self) -> &Base<'scope> {
        &self.base
    }
}

impl<'scope> HasBase<'scope> for ScopeFifo<'scope> {
    fn base(&self) -> &Base<'scope> {
        &self.base
    }
}

impl<'scope, S: HasBase<'scope> + Sync> Ref<S> {
    /// For a task, which enters.
    fn enter(scope: &S) -> Ref<S> {
        scope.base().group.enter();
        Ref(NonNull::from(scope))
    }

    /// Runs the task, and leaves.
    fn run(self, task: impl FnOnce(&S)) {
        // SAFETY: a scope exists until each of its tasks has left it.
        let scope = unsafe { self.0.as_ref() };
        let outcome = catch_unwind(AssertUnwindSafe(|| task(scope)));
        let group = &raw const scope.base().group;
        // SAFETY: the task has ended, and `enter` has counted it.
        unsafe { Group::leave(group, outcome) };
    }

    /// A job of it.
    fn job(scope: &S, task: impl FnOnce(&S) + Send) -> NonNull<Job> {
        let scope = Ref::enter(scope);
        // SAFETY: the scope waits for it, so that what it borrows exists; `run` catches its panic.
        unsafe { HeapJob::leak(move |_: &WorkerSlot| scope.run(task)) }
    }

    /// Has each worker of the pool run a task.
    fn broadcast<F>(scope: &S, task: F)
    where
        F: Fn(&S, BroadcastContext<'_>) + Send + Sync,
    {
        let task = Arc::new(task);
        let pool = &scope.base().pool;
        let jobs = pool.slots.iter().map(|_| {
            let (scope, task) = (Ref::enter(scope), Arc::clone(&task));
            let job = move |slot: &WorkerSlot| {
                scope.run(move |scope| task(scope, BroadcastContext::new(slot)));
            };
            // SAFETY: as in `job`. The closure itself is dropped by the last task, before it has left.
            unsafe { HeapJob::leak(job) }
        });
        pool.broadcast(jobs);
    }
}

impl<'scope> Scope<'scope> {
    /// Runs `f`, which may spawn tasks in this pool, and waits.
    pub(crate) fn run<R>(pool: Arc<PoolState>, f: impl FnOnce(&Scope<'scope>) -> R) -> R {
        let scope = Scope { base: Base::new(pool) };
        scope.base.run(|| f(&scope))
    }

    /// Spawns a task in the pool of the scope, which ends before the scope does. It gets the scope, to spawn more.
    ///
    /// A panic in it is carried to the end of the scope.
    pub fn spawn<F>(&self, f: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        self.base.pool.push_or_inject(Ref::job(self, f));
    }

    /// Spawns a task on each worker of the pool, which run it when they have no other tasks in their queues. All end before the scope does.
    pub fn spawn_broadcast<F>(&self, f: F)
    where
        F: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        Ref::broadcast(self, f);
    }
}

impl<'scope> ScopeFifo<'scope> {
    /// Runs `f`, which may spawn tasks in this pool, and waits.
    pub(crate) fn run<R>(pool: Arc<PoolState>, f: impl FnOnce(&ScopeFifo<'scope>) -> R) -> R {
        let fifos = pool.slots.iter().map(|_| Fifo::default()).collect();
        let scope = ScopeFifo { base: Base::new(pool), fifos };
        scope.base.run(|| f(&scope))
    }

    /// Spawns a task in the pool of the scope, which ends before the scope does. It gets the scope, to spawn more.
    ///
    /// A panic in it is carried to the end of the scope.
    pub fn spawn_fifo<F>(&self, f: F)
    where
        F: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        let job = Ref::job(self, f);
        let pool = &self.base.pool;
        match Worker::current().filter(|worker| worker.slot().is_in(pool)) {
            Some(worker) => worker.spawn(self.fifos[worker.index()].push(job)),
            None => pool.inject(job),
        }
    }

    /// Spawns a task on each worker of the pool, which run it when they have no other tasks in their queues. All end before the scope does.
    pub fn spawn_broadcast<F>(&self, f: F)
    where
        F: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        Ref::broadcast(self, f);
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("threads", &self.base.pool.slots.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeFifo").field("threads", &self.base.pool.slots.len()).finish_non_exhaustive()
    }
}
