//! A task of a graph: what has to end before it, and which tasks wait for it.
//!
//! Only the thread that makes the graph adds edges; the workers that end tasks take them away. An edge is in `after` of the earlier
//! task and in `before` of the later one, and it is made under the lock under which the earlier one ends. So either the edge is there when the earlier task
//! ends, or its end is seen when the edge would be made.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

use crate::job::{Job, Panic};
use crate::scope::ScopeRef;
use crate::state::WorkerSlot;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, lock};
use crate::worker::Worker;

/// What a task does.
pub(crate) type Body = Box<dyn FnOnce() + Send>;

/// A job that runs when all that it depends on has ended.
#[repr(C)]
pub(crate) struct GraphTask {
    job: Job,
    scope: ScopeRef<'static>,
    pub(crate) runs_on: RunsOn,
    /// Tasks that have to end before, and one while this one is being created.
    before: AtomicUsize,
    /// Something before it has panicked, or was not run.
    hopeless: AtomicBool,
    body: UnsafeCell<Option<Body>>,
    state: Mutex<TaskState>,
}

// SAFETY: the body is touched by `new`, and by the one worker that runs the task. The rest is made for several threads.
unsafe impl Sync for GraphTask {}

#[derive(Default)]
struct TaskState {
    /// Tasks that wait for this one.
    after: Vec<Arc<GraphTask>>,
    end: Option<TaskEnd>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TaskEnd {
    Done,
    Failed,
}

/// Where a task runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunsOn {
    /// Any worker; above zero it goes before others.
    AnyWorker { priority: u32 },
    /// The thread that makes the graph, which waits for it.
    Creator,
}

impl GraphTask {
    /// A task without edges. It counts as one of the scope's.
    ///
    /// # Safety
    /// The scope exists until the task has ended.
    pub(crate) unsafe fn new(scope: ScopeRef<'static>, runs_on: RunsOn, body: Option<Body>) -> Arc<GraphTask> {
        scope.get().enter();
        Arc::new(GraphTask {
            job: Job::new(GraphTask::run),
            scope,
            runs_on,
            before: AtomicUsize::new(1),
            hopeless: AtomicBool::new(false),
            body: UnsafeCell::new(body),
            state: Mutex::new(TaskState::default()),
        })
    }

    /// Makes this one wait for an earlier one.
    pub(crate) fn follow(self: &Arc<GraphTask>, earlier: &GraphTask) {
        let mut state = lock(&earlier.state);
        match state.end {
            None => {
                self.before.fetch_add(1, Relaxed);
                state.after.push(Arc::clone(self));
            }
            Some(TaskEnd::Failed) => self.hopeless.store(true, Relaxed),
            Some(TaskEnd::Done) => {}
        }
    }

    /// Whether it has ended well, so that no task needs to follow it.
    pub(crate) fn is_done(&self) -> bool {
        lock(&self.state).end == Some(TaskEnd::Done)
    }

    /// All its edges are made. It may have run when this returns.
    pub(crate) fn created(self: Arc<GraphTask>, worker: Worker<'_>) {
        self.one_less(worker);
    }

    /// Whether something before it has failed. Known when it is ready.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.hopeless.load(Relaxed)
    }

    /// AcqRel: the last of those before sees what the others did, and so does the task.
    fn one_less(self: Arc<GraphTask>, worker: Worker<'_>) {
        if self.before.fetch_sub(1, AcqRel) > 1 {
            return;
        }
        match self.runs_on {
            RunsOn::Creator => self.scope.get().open(),
            RunsOn::AnyWorker { priority: 0 } => {
                worker.push(self.into_job());
            }
            RunsOn::AnyWorker { priority } => worker.hurry(priority, self.into_job()),
        }
    }

    /// With its count, which `run` gets back.
    fn into_job(self: Arc<GraphTask>) -> NonNull<Job> {
        // SAFETY: not null.
        unsafe { NonNull::new_unchecked(Arc::into_raw(self).cast_mut()) }.cast()
    }

    unsafe fn run(job: NonNull<Job>, slot: &WorkerSlot) {
        // SAFETY: made by `into_job`, and run once. The job is the first field.
        let task = unsafe { Arc::from_raw(job.cast::<GraphTask>().as_ptr()) };
        // SAFETY: run once, after whatever made it ready.
        let body = unsafe { (*task.body.get()).take() };
        let hopeless = task.is_hopeless();
        let outcome = catch_unwind(AssertUnwindSafe(|| match body {
            Some(body) if !hopeless => body(),
            // What it owns is dropped.
            _ => {}
        }));
        // SAFETY: a job is run by the worker in that slot.
        task.end(outcome, unsafe { Worker::at(slot) });
    }

    /// Ends it with a panic that goes another way than through the scope.
    pub(crate) fn fail(&self, worker: Worker<'_>) {
        self.hopeless.store(true, Relaxed);
        self.end(Ok(()), worker);
    }

    /// Ends it, and makes the tasks ready that waited for it alone.
    pub(crate) fn end(&self, outcome: Result<(), Panic>, worker: Worker<'_>) {
        let failed = outcome.is_err() || self.is_hopeless();
        let after = {
            let mut state = lock(&self.state);
            state.end = Some(if failed { TaskEnd::Failed } else { TaskEnd::Done });
            std::mem::take(&mut state.after)
        };
        for later in after {
            if failed {
                later.hopeless.store(true, Relaxed);
            }
            later.one_less(worker);
        }
        // The scope may be gone after that.
        self.scope.leave(outcome);
    }
}
