//! A pool of workers, and how a thread gets into it.
#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread::{self, JoinHandle, Thread};

use crossbeam_utils::CachePadded;

use crate::builder::PoolBuilder;
use crate::error::{BuildError, Shortage};
use crate::injected::Injected;
use crate::job::{HeapJob, Job, StackJob, discard};
use crate::latch::Latch;
use crate::missing::Missing;
use crate::roster::{Account, Mask, Roster};
use crate::sleep::Sleep;
use crate::stats::Stats;
use crate::trace::Event;
use crate::urgent::Urgent;
use crate::worker::{Desk, Worker};

/// What the workers of a pool share.
pub(crate) struct Shared {
    /// The first one is for the thread that calls [`Pool::install`], the others are for threads of the pool.
    pub(crate) desks: Box<[CachePadded<Desk>]>,
    pub(crate) injected: Injected,
    pub(crate) urgent: Urgent,
    pub(crate) sleep: Sleep,
    /// Where cores differ, or somebody wants to know what workers do.
    pub(crate) roster: Option<Arc<Roster>>,
    /// Whether somebody works at the first desk.
    taken: AtomicBool,
    /// Whether that is the only one at which anybody ever works.
    alone: AtomicBool,
    /// Threads that wait for that desk.
    callers: Mutex<Vec<Thread>>,
    /// Where workers of this pool are that have gone to another one: the pool, and the desk there.
    gone: Mutex<Vec<(Arc<Shared>, usize)>>,
    me: Weak<Shared>,
}

impl Shared {
    pub(crate) fn new(workers: usize, roster: Option<Arc<Roster>>) -> Arc<Shared> {
        Arc::new_cyclic(|me| Shared {
            desks: (0..workers).map(|index| CachePadded::new(Desk::new(index, me.as_ptr()))).collect(),
            injected: Injected::default(),
            urgent: Urgent::default(),
            sleep: Sleep::new(workers, roster.clone()),
            roster,
            taken: AtomicBool::new(false),
            alone: AtomicBool::new(false),
            callers: Mutex::new(Vec::new()),
            gone: Mutex::new(Vec::new()),
            me: Weak::clone(me),
        })
    }

    pub(crate) fn arc(&self) -> Arc<Shared> {
        // Never the second: there is a `self`.
        self.me.upgrade().unwrap_or_else(|| unreachable!("a pool that is used exists"))
    }

    /// Has a job run by whoever is free.
    pub(crate) fn inject(&self, job: NonNull<Job>) {
        self.injected.push(job);
        self.call();
        // Those look after this pool as soon as they have nothing to do, but they do not sleep here. A ring is kept for who does not sleep yet.
        gone(self).iter().for_each(|(shared, worker)| shared.sleep.ring(*worker));
        self.serve();
    }

    /// A worker of this pool goes to a desk of another one.
    pub(crate) fn goes(&self, there: Worker<'_>) {
        gone(self).push((there.shared().arc(), there.index()));
    }

    /// It comes back from there.
    pub(crate) fn comes_back(&self, from: Worker<'_>) {
        let mut gone = gone(self);
        let place =
            gone.iter().position(|(shared, desk)| ptr::eq(&raw const **shared, from.shared()) && *desk == from.index());
        if let Some(place) = place {
            gone.swap_remove(place);
        }
    }

    /// Has a job run by whoever looks for one next.
    pub(crate) fn hurry(&self, priority: u32, job: NonNull<Job>) {
        self.urgent.push(priority, job);
        self.call();
    }

    /// Calls somebody if all are asleep.
    fn call(&self) {
        // As between a push and its look at the alarm; but here nothing depends on its speed.
        fence(Ordering::SeqCst);
        if self.sleep.is_alarmed() {
            self.sleep.notify();
        }
    }

    /// What a thread of the pool does.
    pub(crate) fn work(&self, index: usize) {
        let desk = &self.desks[index];
        let job = |worker: Worker<'_>| {
            let floor = worker.floor();
            worker.wait_until(&desk.closed, floor);
            worker.finish(floor);
        };
        let _place = Place::take(self, index);
        // SAFETY: each index is given to one thread, which holds the pool.
        unsafe { Worker::enter(desk, job) }
    }

    /// What the thread does that lets tasks take turns.
    pub(crate) fn take_turns(&self) {
        let marks = |worker: usize| self.desks[worker].marks();
        let more = || !self.injected.is_empty() || self.desks.iter().any(|desk| desk.deque.len() > 0);
        if let Some(roster) = &self.roster {
            roster.take_turns(marks, more);
        }
    }

    /// Runs `f` at the first desk, or gives it back if that one is taken.
    fn at_first_desk<F: FnOnce() -> R, R>(&self, f: F) -> Result<R, F> {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.sit_down(f)));
        self.serve();
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Does what was sent to a pool without threads of its own if nobody is at its desk: workers of other pools wait for it where they are. Called by who has left
    /// the desk and by who has sent a job. Each does its part before it looks at what the other did, so one of them sees the job and the free desk.
    fn serve(&self) {
        fence(Ordering::SeqCst);
        while self.alone.load(Ordering::Relaxed) && !self.injected.is_empty() {
            let all = || {
                while let Some((worker, job)) = Worker::current().zip(self.injected.pop()) {
                    // SAFETY: it was in a queue.
                    unsafe { Job::run(job, worker) };
                }
            };
            if self.sit_down(all).is_err() {
                return;
            }
            fence(Ordering::SeqCst);
        }
    }

    fn sit_down<F: FnOnce() -> R, R>(&self, f: F) -> Result<R, F> {
        if self.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return Err(f);
        }
        let _leave = Leave(self);
        let _place = Place::take(self, 0);
        // SAFETY: `taken` keeps others away; the caller has the pool.
        Ok(unsafe { Worker::enter(&self.desks[0], |_| f()) })
    }
}

/// Leaves the first desk, and tells those who wait for it.
struct Leave<'a>(&'a Shared);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.taken.store(false, Ordering::Release);
        for caller in callers(self.0).iter() {
            caller.unpark();
        }
    }
}

/// The place of a thread that is a worker at the moment, where pools keep a roster: a core, which it leaves when it is a worker no more, panic or not.
struct Place<'a> {
    roster: Option<&'a Roster>,
    worker: usize,
    before: Option<Mask>,
}

impl<'a> Place<'a> {
    fn take(shared: &'a Shared, worker: usize) -> Place<'a> {
        let roster = shared.roster.as_deref();
        // A worker of another pool that is bound stays where that one has it, and moves it.
        let free = Worker::current().is_none_or(|outer| outer.shared().roster.is_none());
        Place { roster, worker, before: roster.and_then(|roster| roster.arrive(worker, free)) }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(roster) = self.roster {
            roster.leave(self.worker, self.before.take());
        }
    }
}

fn gone(shared: &Shared) -> std::sync::MutexGuard<'_, Vec<(Arc<Shared>, usize)>> {
    shared.gone.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn callers(shared: &Shared) -> std::sync::MutexGuard<'_, Vec<Thread>> {
    shared.callers.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A pool of workers that steal tasks from each other.
///
/// The thread that calls [`install`](Self::install) takes part, so a pool for N cores has N - 1 threads of its own. Dropping a pool waits for what was
/// [spawned](Self::spawn), unless one of its own tasks drops it, which would wait for itself.
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
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    shortage: Option<Shortage>,
    missing: Vec<Missing>,
    /// Lets tasks take turns, where cores differ.
    turns: Option<JoinHandle<()>>,
}

static GLOBAL: OnceLock<Pool> = OnceLock::new();

impl Pool {
    /// A pool for this many cores.
    ///
    /// # Errors
    /// Zero, or more than [`MAX_THREADS`](crate::MAX_THREADS). If the system refuses threads the pool works with those it got: [`shortage`](Self::shortage).
    pub fn new(threads: usize) -> Result<Pool, BuildError> {
        PoolBuilder::new().threads(threads).build()
    }

    /// The pool of those who have none: made when it is first needed, for the number of cores in the environment variable `EVENKEEL_THREADS`, or else for all
    /// cores that this process may use. [`PoolBuilder::build_global`] makes another one in its place.
    pub fn global() -> &'static Pool {
        GLOBAL.get_or_init(|| PoolBuilder::new().build_anyway())
    }

    pub(crate) fn make_global(pool: Pool) -> Result<&'static Pool, BuildError> {
        GLOBAL.set(pool).map_err(|_| BuildError::GlobalExists)?;
        Ok(Pool::global())
    }

    pub(crate) fn has_global() -> bool {
        GLOBAL.get().is_some()
    }

    pub(crate) fn from_parts(
        shared: Arc<Shared>,
        threads: Vec<JoinHandle<()>>,
        shortage: Option<Shortage>,
        missing: Vec<Missing>,
        turns: Option<JoinHandle<()>>,
    ) -> Pool {
        shared.alone.store(threads.is_empty(), Ordering::Relaxed);
        Pool { shared, threads, shortage, missing, turns }
    }

    /// A pool of the calling thread.
    pub(crate) fn alone() -> Pool {
        Pool::from_parts(Shared::new(1, None), Vec::new(), None, Vec::new(), None)
    }

    /// How many threads work in it, the calling one included.
    pub fn threads(&self) -> usize {
        self.threads.len() + 1
    }

    /// What is missing, if the system refused to start threads.
    pub fn shortage(&self) -> Option<&Shortage> {
        self.shortage.as_ref()
    }

    /// What each worker has done, the calling thread's place first.
    pub fn stats(&self) -> Vec<Stats> {
        self.shared.desks.iter().take(self.threads()).map(|desk| desk.stats()).collect()
    }

    /// What cores that differ would need, and this machine does not allow: each once. The pool works without it.
    pub fn missing(&self) -> Vec<Missing> {
        let later = self.shared.roster.as_deref().map(Roster::missing).unwrap_or_default();
        self.missing.iter().cloned().chain(later).collect()
    }

    /// For how long each worker was busy and waited, on which type of core, the calling thread's place first. Empty unless the pool keeps a
    /// [`Record`](crate::Record).
    pub fn accounts(&self) -> Vec<Account> {
        let Some(roster) = &self.shared.roster else { return Vec::new() };
        (0..self.threads()).filter_map(|worker| roster.account(worker)).collect()
    }

    /// When workers began to run tasks and to wait, and where, by time. Empty unless the pool keeps a record of [events](crate::Record::Events).
    pub fn trace(&self) -> Vec<Event> {
        self.shared.roster.as_deref().map(Roster::events).unwrap_or_default()
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
        let shared = &*self.shared;
        match Worker::desk_in(shared) {
            // SAFETY: this thread works at that desk.
            Some(desk) => unsafe { Worker::enter(desk, |_| f()) },
            None => shared.at_first_desk(f).unwrap_or_else(|f| self.ask(f)),
        }
    }

    /// Has `f` run by the workers, and waits.
    #[cold]
    fn ask<F, R>(&self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        let job = StackJob::new(f);
        match Worker::current() {
            Some(worker) => {
                let home = worker.shared().arc();
                self.inject(&job, move |_, sleeper| {
                    if let Some(sleeper) = sleeper {
                        home.sleep.wake(sleeper);
                    }
                });
                worker.wait_until(job.latch(), worker.floor());
            }
            None => {
                let caller = thread::current();
                self.inject(&job, move |worker, sleeper| {
                    // It may have got the first desk in the meantime.
                    if let Some(sleeper) = sleeper {
                        worker.shared().sleep.wake(sleeper);
                    }
                    caller.unpark();
                });
                self.wait_outside(job.latch());
            }
        }
        // SAFETY: the latch is open.
        unsafe { job.outcome() }.unwrap_or_else(|panic| resume_unwind(panic))
    }

    fn inject<F, R>(&self, job: &StackJob<F, R>, wake: impl FnOnce(Worker<'_>, Option<usize>) + Send)
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        struct Sent<F, R>(NonNull<StackJob<F, R>>);
        // SAFETY: closure and result are `Send`.
        unsafe impl<F: Send, R: Send> Send for Sent<F, R> {}

        let sent = Sent(NonNull::from(job));
        // SAFETY: `ask` waits for the job's latch, and nothing here unwinds.
        let job = unsafe {
            HeapJob::leak(move |worker| {
                let sent = sent;
                wake(worker, StackJob::finish(sent.0));
            })
        };
        self.shared.inject(job);
    }

    /// Waits as a thread of no pool: without a desk, or at the first one if that is free.
    fn wait_outside(&self, latch: &Latch) {
        let me = thread::current();
        callers(&self.shared).push(me.clone());
        while !latch.is_open() {
            let wait = || {
                if let Some(worker) = Worker::current() {
                    worker.wait_until(latch, worker.floor());
                }
            };
            if self.shared.at_first_desk(wait).is_err() {
                thread::park();
            }
        }
        callers(&self.shared).retain(|caller| caller.id() != me.id());
    }

    /// Has `f` run some time, and does not wait: unless the pool has no threads of its own. Then it is run here, before the calling thread leaves the pool.
    ///
    /// A panic in it ends `f` alone, as in a thread that nobody joins.
    pub fn spawn<F>(&self, f: F)
    where
        F: FnOnce() + Send + 'static,
    {
        let task = || {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(f)) {
                discard(panic);
            }
        };
        let here = Worker::current().filter(|worker| ptr::eq(worker.shared(), &*self.shared));
        if here.is_none() && self.threads.is_empty() {
            return self.install(task);
        }
        // SAFETY: it borrows nothing and does not unwind.
        let job = unsafe { HeapJob::leak(|_| task()) };
        match here {
            // Not at once, even if there is no other thread: a task that spawns a task that spawns a task needs no stack for each.
            Some(worker) => worker.spawn(job),
            None => self.shared.inject(job),
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for desk in &self.shared.desks {
            // SAFETY: the pool exists.
            if let Some(sleeper) = unsafe { Latch::open(&desk.closed) } {
                self.shared.sleep.wake(sleeper);
            }
        }
        if let Some(uneven) = self.shared.roster.as_deref().and_then(Roster::uneven) {
            uneven.stop();
        }
        // A pool may be dropped by one of its own tasks. Another thread may wait for just that task, so all of them end by themselves then.
        if Worker::desk_in(&self.shared).is_some() {
            return;
        }
        for thread in self.threads.drain(..).chain(self.turns.take()) {
            // What runs there may wait for the pool in which this thread is a worker.
            if let Some(worker) = Worker::current() {
                worker.work_until(|| thread.is_finished());
            }
            // Threads of a pool do not panic.
            let _ = thread.join();
        }
    }
}
