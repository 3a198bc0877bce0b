//! A pool of workers.
#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::thread;

use crate::asymmetry::{Account, Asymmetry};
use crate::error::Shortage;
use crate::fork::{PerProcess, Process};
use crate::job::{HeapJob, StackJob, discard};
use crate::missing::Missing;
use crate::state::{PoolState, WorkerSlot};
use crate::stats::Stats;
use crate::trace::Event;
use crate::worker::Worker;
use crate::workers::{JoinDropped, PoolPlan, Workers};

/// A pool of workers that steal tasks from each other.
///
/// The thread that calls [`install`](Self::install) takes part, so a pool for N cores has N - 1 threads of its own.
///
/// # Dropping
/// Dropping a pool waits for what was [spawned](Self::spawn). In a task it does not, since a worker of the pool may wait for just that task, directly or through
/// other pools. What was spawned runs all the same; a thread that called `install` from outside waits for it before `install` returns.
///
/// # Forking
/// A process that was forked has none of its parent's threads. A pool starts as many again when it is first used there. Tasks that were spawned before the fork are run
/// by the parent alone.
///
/// ```
/// # fn main() -> Result<(), evenkeel_runtime::BuildError> {
/// let pool = evenkeel_runtime::Pool::new(4)?;
/// let (a, b) = pool.install(|| evenkeel_runtime::join(|| 1 + 1, || 2 + 2));
/// assert_eq!((a, b), (2, 4));
/// # Ok(())
/// # }
/// ```
pub struct Pool {
    plan: PoolPlan,
    workers: PerProcess<Workers>,
}

impl Pool {
    /// With workers that `plan` has started.
    pub(crate) fn from_parts(plan: PoolPlan, workers: Workers) -> Pool {
        Pool { plan, workers: PerProcess::with(workers) }
    }

    /// The same pool in a process that was forked.
    pub(crate) fn again(&self) -> Pool {
        Pool { plan: self.plan.clone(), workers: PerProcess::new() }
    }

    fn workers(&self) -> &Workers {
        self.workers.get_or_make(|_| self.plan.start())
    }

    fn state(&self) -> &PoolState {
        &self.workers().state
    }

    /// How many threads work in it, the calling one included.
    pub fn threads(&self) -> usize {
        self.workers().count()
    }

    /// What is missing, if the system refused to start threads.
    pub fn shortage(&self) -> Option<&Shortage> {
        self.workers().shortage.as_ref()
    }

    /// The slots of workers that exist.
    fn slots(&self) -> impl Iterator<Item = &WorkerSlot> {
        self.state().slots.iter().take(self.threads()).map(|slot| &**slot)
    }

    /// What each worker has done, the calling thread's first.
    pub fn stats(&self) -> Vec<Stats> {
        self.slots().map(WorkerSlot::stats).collect()
    }

    /// What cores that differ would need, and this machine does not allow: each once. The pool works without it.
    pub fn missing(&self) -> Vec<Missing> {
        let workers = self.workers();
        let later = workers.state.asymmetry.as_deref().map(Asymmetry::missing).unwrap_or_default();
        workers.missing.iter().cloned().chain(later).collect()
    }

    /// For how long each worker was busy and waited, on which type of core, the calling thread's first. Empty unless the pool keeps a
    /// [`Record`](crate::Record).
    pub fn accounts(&self) -> Vec<Account> {
        let Some(asymmetry) = &self.state().asymmetry else { return Vec::new() };
        self.slots().filter_map(|slot| asymmetry.account(slot.index)).collect()
    }

    /// When workers began to run tasks and to wait, and where, by time. Empty unless the pool keeps a record of [events](crate::Record::Events).
    pub fn trace(&self) -> Vec<Event> {
        self.state().asymmetry.as_deref().map(Asymmetry::events).unwrap_or_default()
    }

    /// Runs `f` in this pool: [`join`](crate::join), [`scope`](crate::scope) and the parallel loops in it use this pool's workers.
    ///
    /// The calling thread takes part. If another thread already does, `f` is run by a worker of the pool, or by this thread as soon as the other one is done.
    ///
    /// # Panics
    /// If `f` does.
    pub fn install<F, R>(&self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        let state = self.state();
        if let Some(slot) = Worker::slot_in(state) {
            // SAFETY: this thread works in that slot.
            return unsafe { Worker::enter(slot, |_| f()) };
        }
        let _join = JoinDropped;
        state.in_first_slot(f).unwrap_or_else(|f| send(state, f))
    }

    /// Has a worker run `f` later, and does not wait. In a pool without threads of its own `f` is run here, before the calling thread leaves the pool.
    ///
    /// A panic in it ends `f` alone, as in a thread that is never joined.
    pub fn spawn<F>(&self, f: F)
    where
        F: FnOnce() + Send + 'static,
    {
        let process = Process::current();
        let task = move || {
            if !process.is_current() {
                // The parent runs it, and has what it owns.
                return std::mem::forget(f);
            }
            if let Err(panic) = catch_unwind(AssertUnwindSafe(f)) {
                discard(panic);
            }
        };
        let workers = self.workers();
        let here = Worker::current().filter(|worker| worker.slot().is_in(&workers.state));
        if here.is_none() && workers.count() == 1 {
            return self.install(task);
        }
        // SAFETY: it borrows nothing and does not unwind.
        let job = unsafe { HeapJob::leak(|_| task()) };
        match here {
            // Not at once, even if there is no other thread: a task that spawns a task that spawns a task needs no stack for each.
            Some(worker) => worker.spawn(job),
            None => workers.state.inject(job),
        }
    }
}

/// Has `f` run by the workers, and waits.
#[cold]
pub(crate) fn send<F, R>(pool: &PoolState, f: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    let job = StackJob::new(|_| f());
    match Worker::current().filter(|worker| !worker.slot().pool().is_lost()) {
        Some(worker) => {
            let home = worker.slot().pool().arc();
            inject(pool, &job, move |_, sleeper| {
                if let Some(sleeper) = sleeper {
                    home.wake(sleeper);
                }
            });
            worker.wait_until(job.latch(), worker.floor());
        }
        None => {
            let caller = thread::current();
            inject(pool, &job, move |slot, sleeper| {
                // It may have got the first slot in the meantime.
                if let Some(sleeper) = sleeper {
                    slot.pool().wake(sleeper);
                }
                caller.unpark();
            });
            pool.wait_outside(job.latch());
        }
    }
    // SAFETY: the latch is open.
    unsafe { job.outcome() }.unwrap_or_else(|panic| resume_unwind(panic))
}

fn inject<F, R>(pool: &PoolState, job: &StackJob<F, R>, wake: impl FnOnce(&WorkerSlot, Option<usize>) + Send)
where
    F: FnOnce(bool) -> R + Send,
    R: Send,
{
    struct SentStackJob<F, R>(NonNull<StackJob<F, R>>);
    // SAFETY: closure and result are `Send`.
    unsafe impl<F: Send, R: Send> Send for SentStackJob<F, R> {}

    let sent = SentStackJob(NonNull::from(job));
    // SAFETY: `send` waits for the job's latch, and nothing here unwinds.
    let job = unsafe {
        HeapJob::leak(move |slot| {
            let sent = sent;
            wake(slot, StackJob::finish(sent.0));
        })
    };
    pool.inject(job);
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Of this process. Those of its parent are not there.
        if let Some(workers) = self.workers.take() {
            workers.end();
        }
    }
}
