//! Any number of tasks that may borrow from the frame that waits for them.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

use crate::job::{HeapJob, Panic};
use crate::latch::Latch;
use crate::pool::{Pool, Shared};
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
    shared: Arc<Shared>,
    /// Invariant: tasks may put what they borrow for `'scope` where others find it.
    _borrows: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

/// A scope, for a task of it.
struct ScopeRef<'scope>(*const Scope<'scope>);

// SAFETY: scopes are `Sync`.
unsafe impl Send for ScopeRef<'_> {}

impl<'scope> ScopeRef<'scope> {
    fn get(&self) -> &Scope<'scope> {
        // SAFETY: a scope exists until each of its tasks has left it.
        unsafe { &*self.0 }
    }

    /// Ends a task.
    fn leave(self, outcome: Result<(), Panic>) {
        if let Err(panic) = outcome {
            self.get().keep(panic);
        }
        // SAFETY: as above. A task does not touch the scope after the count, but for the last: that one until the latch is open.
        unsafe {
            if (*self.0).open.fetch_sub(1, AcqRel) == 1 {
                let shared = Arc::clone(&(*self.0).shared);
                if let Some(sleeper) = Latch::open(&raw const (*self.0).latch) {
                    shared.sleep.wake(sleeper);
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
        self.open.fetch_add(1, Relaxed);
        let scope = ScopeRef(self);
        let task = move |_: Worker<'_>| {
            let scope = scope;
            let outcome = catch_unwind(AssertUnwindSafe(|| f(scope.get())));
            scope.leave(outcome);
        };
        // SAFETY: the scope waits for it, and it catches its panic.
        let job = unsafe { HeapJob::leak(task) };
        match Worker::current() {
            Some(worker) => {
                worker.push(job);
            }
            None => self.shared.inject(job),
        }
    }

    fn keep(&self, panic: Panic) {
        let mut first = lock(&self.panic);
        if first.is_none() {
            *first = Some(panic);
        } else {
            // Dropping it could run code of the program, and panic once more.
            std::mem::forget(panic);
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
    let floor = worker.floor();
    let scope = Scope {
        open: AtomicUsize::new(1),
        latch: Latch::new(),
        panic: Mutex::new(None),
        shared: worker.shared().arc(),
        _borrows: PhantomData,
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    ScopeRef(&scope).leave(Ok(()));
    worker.wait_until(&scope.latch, floor);
    let panic = lock(&scope.panic).take();
    match (outcome, panic) {
        (Err(panic), _) | (Ok(_), Some(panic)) => resume_unwind(panic),
        (Ok(result), None) => result,
    }
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
