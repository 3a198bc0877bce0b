//! What a dedicated pool has, and others have not.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::atomic::AtomicBool;
use std::sync::{Condvar, Mutex};

use crate::job::Panic;
use crate::state::PoolState;
use crate::sync::{AtomicUsize, lock_std};

use std::sync::atomic::Ordering::{AcqRel, Relaxed};

/// Gets the panics that no thread waits for.
pub type PanicHandler = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;
/// Gets the index of the thread that starts or ends, on that thread.
pub type ThreadHandler = Box<dyn Fn(usize) + Send + Sync>;

/// What the program wants to be called for.
#[derive(Default)]
pub struct Handlers {
    /// For panics that no thread waits for: those of spawned tasks and of the handlers below. Without it, or if it panics itself, the process aborts.
    pub panic: Option<PanicHandler>,
    /// When a worker starts, before it runs anything.
    pub start: Option<ThreadHandler>,
    /// When a worker ends, after it has run everything.
    pub exit: Option<ThreadHandler>,
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Handlers { panic, start, exit } = self;
        let is_set = [("panic", panic.is_some()), ("start", start.is_some()), ("exit", exit.is_some())];
        f.debug_set().entries(is_set.iter().filter(|(_, set)| *set).map(|(name, _)| name)).finish()
    }
}

/// What a dedicated pool has, and others have not.
pub(crate) struct Dedication {
    pub(crate) handlers: Handlers,
    /// Workers begin with the oldest of their own tasks.
    pub(crate) breadth_first: bool,
    /// Spawned tasks that have not ended, and one for the pool itself until it is released. The workers end when there are none.
    holds: AtomicUsize,
    pub(crate) released: AtomicBool,
    /// Held while a broadcast is put into the queues, so that all workers have the same order of broadcasts: tasks of two may wait for each other.
    pub(crate) broadcasting: Mutex<()>,
    pub(crate) started: Tally,
    pub(crate) stopped: Tally,
}

impl Dedication {
    pub(crate) fn new(handlers: Handlers, breadth_first: bool) -> Dedication {
        Dedication {
            handlers,
            breadth_first,
            holds: AtomicUsize::new(1),
            released: AtomicBool::new(false),
            broadcasting: Mutex::new(()),
            started: Tally::default(),
            stopped: Tally::default(),
        }
    }

    /// Runs `f`, whose panic no thread waits for.
    pub(crate) fn shield(&self, f: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(f)) {
            self.handle(panic);
        }
    }

    #[cold]
    fn handle(&self, panic: Panic) {
        let Some(handler) = &self.handlers.panic else {
            eprintln!("evenkeel: a spawned task has panicked, and its pool has no panic handler: aborting");
            process::abort()
        };
        if catch_unwind(AssertUnwindSafe(|| handler(panic))).is_err() {
            eprintln!("evenkeel: the panic handler of a pool has panicked: aborting");
            process::abort()
        }
    }
}

impl PoolState {
    /// The pool is not to end before [`let_go`](Self::let_go) was called once for this. To be called while it is held already.
    pub(crate) fn hold(&self) {
        if let Some(dedication) = &self.dedication {
            dedication.holds.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn let_go(&self) {
        if let Some(dedication) = &self.dedication
            && dedication.holds.fetch_sub(1, AcqRel) == 1
        {
            self.close();
        }
    }

    /// Runs a task for which the pool was [held](Self::hold).
    pub(crate) fn run_held(&self, f: impl FnOnce()) {
        if let Some(dedication) = &self.dedication {
            dedication.shield(f);
        }
        self.let_go();
    }
}

/// Counts threads that have come somewhere, and lets others wait for them.
#[derive(Default)]
pub(crate) struct Tally {
    count: Mutex<usize>,
    changed: Condvar,
}

impl Tally {
    pub(crate) fn add(&self) {
        *lock_std(&self.count) += 1;
        self.changed.notify_all();
    }

    pub(crate) fn wait(&self, wanted: usize) {
        let mut count = lock_std(&self.count);
        while *count < wanted {
            count = self.changed.wait(count).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }
}
