//! Any number of tasks that may borrow from the frame that waits for them.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

use crate::job::{HeapJob, Panic, discard};
use crate::latch::Latch;
use crate::pool::Pool;
use crate::state::{PoolState, WorkerSlot};
use crate::sync::{AtomicUsize, Mutex, lock};
use crate::worker::Worker;

/// Where tasks are spawned; see [`scope`].
pub struct Scope<'scope> {
    /// Tasks that have not ended, and one for the body.
    open: AtomicUsize,
    /// Open when all have ended.
    latch: Latch,
    /// The first panic.
    panic: Mutex<Option<Panic>>,
    /// The pool of the worker that waits.
    pool: Arc<PoolState>,
    /// That worker takes what it queued since then.
    floor: isize,
    /// Invariant: tasks may put what they borrow for `'scope` where others find it.
    _borrows: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

/// A scope, for a task of it.
#[derive(Clone, Copy)]
pub(crate) struct ScopeRef<'scope>(*const Scope<'scope>);

// SAFETY: scopes are `Sync`.
unsafe impl Send for ScopeRef<'_> {}
// SAFETY: as above.
unsafe impl Sync for ScopeRef<'_> {}

impl<'scope> ScopeRef<'scope> {
    /// For a task, which has [entered](Scope::enter).
    pub(crate) fn new(scope: &Scope<'_>) -> ScopeRef<'scope> {
        ScopeRef(std::ptr::from_ref(scope).cast())
    }

    pub(crate) fn get(&self) -> &Scope<'scope> {
        // SAFETY: a scope exists until each of its tasks has left it.
        unsafe { &*self.0 }
    }

    /// Ends a task.
    pub(crate) fn leave(&self, outcome: Result<(), Panic>) {
        if let Err(panic) = outcome {
            self.get().keep(panic);
        }
        // SAFETY: as above. A task does not touch the scope after the count, but for the last: that one until the latch is open.
        unsafe {
            if (*self.0).open.fetch_sub(1, AcqRel) == 1 {
                let pool = Arc::clone(&(*self.0).pool);
                if let Some(sleeper) = Latch::open(&raw const (*self.0).latch) {
                    pool.wake(sleeper);
                }
            }
        }
    }
}

impl<'scope> Scope<'scope> {
    /// Spawns a task, which ends before the scope does. It gets the scope, to spawn more.
    ///
    /// The newest task of a worker is run first by itself, the oldest is stolen first by others. A panic in it is carried to the end of the scope.
    pub fn spawn<F>(&self, f: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        self.enter();
        let scope = ScopeRef::new(self);
        let task = move |_: &WorkerSlot| {
            let scope = scope;
            let outcome = catch_unwind(AssertUnwindSafe(|| f(scope.get())));
            scope.leave(outcome);
        };
        // SAFETY: the scope waits for it, and it catches its panic.
        let job = unsafe { HeapJob::leak(task) };
        match Worker::current() {
            Some(worker) => worker.spawn(job),
            None => self.pool.inject(job),
        }
    }

    pub(crate) fn new(worker: Worker<'_>) -> Scope<'scope> {
        Scope {
            open: AtomicUsize::new(1),
            latch: Latch::new(),
            panic: Mutex::new(None),
            pool: worker.shared().arc(),
            floor: worker.floor(),
            _borrows: PhantomData,
        }
    }

    /// Counts a task, which has to [leave](ScopeRef::leave).
    pub(crate) fn enter(&self) {
        self.enter_many(1);
    }

    /// Counts as many tasks as will be spawned, or [taken back](Self::take_back).
    pub(crate) fn enter_many(&self, tasks: usize) {
        self.open.fetch_add(tasks, Relaxed);
    }

    /// Counts no more so many of the tasks that were to be spawned. For the body.
    pub(crate) fn take_back(&self, tasks: usize) {
        self.open.fetch_sub(tasks, Relaxed);
    }

    /// Tasks that have not ended. For the body.
    pub(crate) fn unfinished(&self) -> usize {
        self.open.load(Relaxed) - 1
    }

    /// Works until no more than `left` tasks have not ended. For the body; if `left` is not zero only the body may spawn.
    pub(crate) fn wait(&self, worker: Worker<'_>, left: usize) {
        // Without the share of the body, and of those that may be left: the task that brings that to zero opens the latch.
        let share = left + 1;
        if self.open.fetch_sub(share, AcqRel) > share {
            self.wait_for_open(worker);
        }
        self.open.fetch_add(share, Relaxed);
    }

    /// Works until the latch is open, and closes it again.
    pub(crate) fn wait_for_open(&self, worker: Worker<'_>) {
        worker.wait_until(&self.latch, self.floor);
        self.latch.close();
    }

    /// Opens the latch, and wakes the worker that waits for it.
    pub(crate) fn open(&self) {
        // SAFETY: the latch is a part of this.
        if let Some(sleeper) = unsafe { Latch::open(&self.latch) } {
            self.pool.wake(sleeper);
        }
    }

    pub(crate) fn take_panic(&self) -> Option<Panic> {
        lock(&self.panic).take()
    }

    /// Ends it after its body.
    pub(crate) fn end<R>(&self, worker: Worker<'_>, outcome: Result<R, Panic>) -> R {
        self.wait(worker, 0);
        let panic = self.take_panic();
        match outcome {
            Err(first) => {
                if let Some(panic) = panic {
                    discard(panic);
                }
                resume_unwind(first)
            }
            Ok(result) => match panic {
                Some(panic) => resume_unwind(panic),
                None => result,
            },
        }
    }

    fn keep(&self, panic: Panic) {
        let mut first = lock(&self.panic);
        if first.is_none() {
            *first = Some(panic);
        } else {
            drop(first);
            discard(panic);
        }
    }
}

/// Runs `f`, which may spawn tasks that borrow from outside of the scope, and waits until all have ended.
///
/// Outside of [`Pool::install`] the [global pool](Pool::global) is used.
///
/// # Panics
/// If `f` or a task panics, after all have ended; with the panic of `f` if it has one, else with the first one of a task.
///
/// ```
/// let mut left = 0;
/// let mut right = 0;
/// evenkeel_runtime::scope(|scope| {
///     scope.spawn(|_| left = 1);
///     scope.spawn(|scope| scope.spawn(|_| right = 2));
/// });
/// assert_eq!((left, right), (1, 2));
/// ```
pub fn scope<'scope, F, R>(f: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    let Some(worker) = Worker::current() else { return Pool::global().install(|| scope(f)) };
    let scope = Scope::new(worker);
    let outcome = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    scope.end(worker, outcome)
}

impl Pool {
    /// [`scope`](crate::scope) in this pool.
    ///
    /// # Panics
    /// If `f` or a task does.
    pub fn scope<'scope, F, R>(&self, f: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope(f))
    }
}
