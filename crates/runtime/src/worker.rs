//! A worker: a queue, and a thread that works on it. The loop of one that waits is [`Worker::wait_until`].
#![allow(unsafe_code)]

use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use crossbeam_utils::{Backoff, CachePadded};
use evenkeel_model::stealing::HINT_AFTER;

use crate::asking::Asking;
use crate::clock;
use crate::deque::{Deque, Steal};
use crate::fence;
use crate::job::Job;
use crate::latch::Latch;
use crate::pool::Shared;
use crate::roster::Patience;
use crate::stats::Stats;

/// Failed searches after which a worker counts as waiting: the hint of Torng et al., ISCA 2016, III.A.
const WAITING_AFTER: u32 = HINT_AFTER;
/// Failed searches after which it goes to sleep. `assumed`: about as long as a wake-up takes.
const SLEEP_AFTER: u32 = 32;
/// As many failed searches as it takes for work not to be left to others.
const LEAVE_NOTHING: u32 = u32::MAX;

/// What the other workers see of one.
pub(crate) struct Desk {
    pub(crate) deque: Deque<Job>,
    asking: CachePadded<Asking<Job>>,
    counters: CachePadded<Counters>,
    index: usize,
    /// The pool that holds this desk.
    shared: *const Shared,
    /// Open when the pool is dropped.
    pub(crate) closed: Latch,
}

/// Written by the worker at the desk only.
#[derive(Default)]
struct Counters {
    spawns: AtomicU64,
    steals: AtomicU64,
    failed_steals: AtomicU64,
}

fn count(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed).wrapping_add(1), Relaxed);
}

// SAFETY: `shared` is only followed by workers, which the pool outlives.
unsafe impl Sync for Desk {}
// SAFETY: as above.
unsafe impl Send for Desk {}

impl Desk {
    /// For the pool that will lie at `shared`, as soon as it is complete.
    pub(crate) fn new(index: usize, shared: *const Shared) -> Desk {
        Desk {
            deque: Deque::new(),
            asking: CachePadded::new(Asking::new()),
            counters: CachePadded::default(),
            index,
            shared,
            closed: Latch::new(),
        }
    }

    /// Where the queue begins and ends, and how often its owner has stolen: as long as all are the same, the owner is likely at the same task.
    pub(crate) fn marks(&self) -> (isize, isize, u64) {
        (self.deque.top(), self.deque.bottom(), self.counters.steals.load(Relaxed))
    }

    pub(crate) fn stats(&self) -> Stats {
        let counters = &self.counters;
        Stats {
            spawns: counters.spawns.load(Relaxed),
            steals: counters.steals.load(Relaxed),
            failed_steals: counters.failed_steals.load(Relaxed),
        }
    }
}

/// The calling thread as the worker at a desk: the owner of its queue. Cannot leave the thread.
#[derive(Clone, Copy)]
pub(crate) struct Worker<'a> {
    desk: &'a Desk,
    _thread: PhantomData<*mut ()>,
}

/// A worker on the stack of a thread. A worker of one pool may ask another pool to do something, so there can be several below each other.
struct Entered {
    desk: *const Desk,
    below: *const Entered,
}

thread_local! {
    /// The desk at which this thread works now: what a `join` needs.
    static CURRENT: Cell<*const Desk> = const { Cell::new(ptr::null()) };
    /// The newest of the workers that this thread is.
    static ENTERED: Cell<*const Entered> = const { Cell::new(ptr::null()) };
}

/// What a push returns: the queue's `bottom` above the job, or that the job has to be looked for.
#[derive(Clone, Copy)]
pub(crate) struct Ticket(isize);

/// No `bottom` that a queue gets to.
const LONG_WAY: Ticket = Ticket(isize::MIN);

impl<'a> Worker<'a> {
    /// The worker that this thread is now.
    #[inline(always)]
    pub(crate) fn current() -> Option<Worker<'a>> {
        let desk = CURRENT.get();
        // SAFETY: set by `enter` only, which outlives what runs in it, and so every use of the result in this thread.
        unsafe { desk.as_ref() }.map(|desk| Worker { desk, _thread: PhantomData })
    }

    /// The desk in this pool at which this thread works, now or further down its stack.
    pub(crate) fn desk_in(shared: &Shared) -> Option<&'a Desk> {
        Self::desks().find(|desk| ptr::eq(desk.shared, shared))
    }

    /// The desks at which this thread works, the newest first.
    fn desks() -> impl Iterator<Item = &'a Desk> {
        let mut next = ENTERED.get();
        std::iter::from_fn(move || {
            // SAFETY: `enter` keeps each of them until it returns.
            let entered = unsafe { next.as_ref() }?;
            next = entered.below;
            // SAFETY: as above.
            Some(unsafe { &*entered.desk })
        })
    }

    /// The desks in other pools that this thread has left for the one where it is now: there it is missed.
    fn left() -> impl Iterator<Item = Worker<'a>> {
        let here = CURRENT.get();
        let other = move |desk: &&Desk| {
            // SAFETY: this thread is at that desk.
            !unsafe { here.as_ref() }.is_some_and(|here| ptr::eq(here.shared, desk.shared))
        };
        Self::desks().filter(other).map(|desk| Worker { desk, _thread: PhantomData })
    }

    /// Runs `f` as the worker at this desk, and then what it left in the queue.
    ///
    /// # Safety
    /// No other thread works at this desk, and the pool is complete and exists until this returns.
    pub(crate) unsafe fn enter<R>(desk: &'a Desk, f: impl FnOnce(Worker<'a>) -> R) -> R {
        let worker = Worker { desk, _thread: PhantomData };
        let entered = Entered { desk, below: ENTERED.get() };
        let before = CURRENT.replace(desk);
        ENTERED.set(&raw const entered);
        Self::left().for_each(|left| left.shared().goes(worker));
        let floor = desk.deque.bottom();
        let outcome = catch_unwind(AssertUnwindSafe(|| f(worker)));
        // Tasks of a scope that lives elsewhere. There may be no other worker who could take them.
        while let Some(job) = worker.pop(floor) {
            // SAFETY: it was in the queue.
            unsafe { Job::run(job, worker) };
        }
        Self::left().for_each(|left| left.shared().comes_back(worker));
        ENTERED.set(entered.below);
        CURRENT.set(before);
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }

    pub(crate) fn index(self) -> usize {
        self.desk.index
    }

    pub(crate) fn shared(self) -> &'a Shared {
        // SAFETY: a desk is entered after its pool is complete, and the pool outlives the worker.
        unsafe { &*self.desk.shared }
    }

    /// Whether the queue is empty: everything was stolen, so that somebody is hungry.
    pub(crate) fn is_empty(self) -> bool {
        self.desk.deque.len() == 0
    }

    /// What [`wait_until`](Self::wait_until) may take from the own queue, of the tasks that will come from now on.
    pub(crate) fn floor(self) -> isize {
        self.desk.deque.bottom()
    }

    /// Puts a job into the queue, and calls somebody if all are asleep.
    #[inline(always)]
    pub(crate) fn push(self, job: NonNull<Job>) -> Ticket {
        // SAFETY: this thread is the owner.
        let bottom = unsafe { self.desk.deque.push(job) };
        // The light fence between the push and the look at the alarm. Where it is not free, the alarm is always on, and `notify` has the fence.
        fence::free();
        if self.shared().sleep.is_alarmed() | self.desk.asking.is_asked() {
            self.attend(bottom)
        } else {
            Ticket(bottom)
        }
    }

    /// Puts a job of a scope into the queue. Counted, other than the second half of a join: for that one it would be 15 % of what it costs.
    pub(crate) fn spawn(self, job: NonNull<Job>) {
        self.count_spawn();
        self.push(job);
    }

    /// Counts a task that it spawns.
    pub(crate) fn count_spawn(self) {
        count(&self.desk.counters.spawns);
    }

    /// After a push: somebody asks for a task, or has to be woken up.
    #[cold]
    fn attend(self, bottom: isize) -> Ticket {
        self.answer();
        if self.shared().sleep.is_alarmed() {
            self.shared().sleep.notify();
        }
        if fence::asymmetric() { Ticket(bottom) } else { LONG_WAY }
    }

    /// Gives its oldest task to the one who asks, if somebody does. To be called now and then by whoever works for long with tasks in its queue.
    pub(crate) fn answer(self) {
        if self.desk.asking.is_asked()
            && let Some(asker) = self.desk.asking.asker()
        {
            // SAFETY: this thread is the owner.
            self.shared().desks[asker].asking.answer(unsafe { self.desk.deque.give() });
        }
    }

    /// Takes back what was pushed if it still is the newest in the queue.
    #[inline(always)]
    pub(crate) fn pop_at(self, ticket: Ticket) -> bool {
        // SAFETY: this thread is the owner. With symmetric fences every ticket is for the long way.
        unsafe { self.desk.deque.pop_at(ticket.0) }
    }

    /// Takes the newest job, if its index is not below `floor`.
    pub(crate) fn pop(self, floor: isize) -> Option<NonNull<Job>> {
        // SAFETY: this thread is the owner.
        unsafe { self.desk.deque.pop(floor) }
    }

    /// Takes the newest job, whatever it is.
    pub(crate) fn pop_any(self) -> Option<NonNull<Job>> {
        self.pop(self.desk.deque.top())
    }

    /// Works until the latch is open. Of the own queue only what was put there above `floor` is taken: below lie jobs of frames further down the stack, which
    /// expect them to be where they are, or stolen.
    pub(crate) fn wait_until(self, latch: &Latch, floor: isize) {
        let mut idle = Idle::default();
        while !latch.is_open() {
            if let Some(job) = self.find(floor, idle.patience.failed) {
                idle.end(self);
                // SAFETY: it was in a queue.
                unsafe { Job::run(job, self) };
            } else if let Some((left, job)) = Self::missed() {
                idle.end(self);
                left.catch_up(job);
            } else {
                idle.fail(self, latch);
            }
        }
        idle.end(self);
    }

    /// A job that was sent to a pool whose desk this thread has left. There may be nobody else who could do it, and whoever sent it may be the one for whom this
    /// thread waits here.
    fn missed() -> Option<(Worker<'a>, NonNull<Job>)> {
        Self::left().find_map(|left| Some((left, left.shared().injected.pop()?)))
    }

    /// Does that. This is one of those that have been [left](Self::left).
    fn catch_up(self, job: NonNull<Job>) {
        // SAFETY: this thread works at that desk, further down its stack; the job was in a queue.
        unsafe { Worker::enter(self.desk, |worker| Job::run(job, worker)) };
    }

    fn is_missed() -> bool {
        Self::left().any(|left| !left.shared().injected.is_empty())
    }

    /// Works until that is so, and does not sleep: nobody would wake it up.
    pub(crate) fn work_until(self, over: impl Fn() -> bool) {
        let floor = self.floor();
        while !over() {
            self.finish(floor);
            match Self::missed() {
                Some((left, job)) => left.catch_up(job),
                None => thread::yield_now(),
            }
        }
    }

    /// Works until there is nothing to do.
    pub(crate) fn finish(self, floor: isize) {
        while let Some(job) = self.find(floor, LEAVE_NOTHING) {
            // SAFETY: it was in a queue.
            unsafe { Job::run(job, self) };
        }
    }

    /// `failed` searches before this one have found nothing.
    pub(crate) fn find(self, floor: isize, failed: u32) -> Option<NonNull<Job>> {
        let own = self.urgent(failed).or_else(|| self.pop(floor));
        self.answer();
        if own.is_some() || self.leaves_it(failed) {
            return own;
        }
        self.steal().or_else(|| self.shared().injected.pop())
    }

    /// The most urgent task. It is nobody's own, so taking it counts as a steal, and is left to a bigger core that waits (work-biasing, Torng et al.,
    /// ISCA 2016, III.C). Nobody has to be woken up for it: none goes to sleep while there is one, and who brings it calls the biggest sleeper.
    fn urgent(self, failed: u32) -> Option<NonNull<Job>> {
        let urgent = &self.shared().urgent;
        if urgent.is_empty() || self.bigger_that_waits(failed).is_some() { None } else { urgent.pop() }
    }

    /// To whom this worker leaves what is not its own.
    fn bigger_that_waits(self, failed: u32) -> Option<usize> {
        self.shared().roster.as_ref()?.holds_back(self.index(), failed)
    }

    /// Whether what there is, is left to a worker on a bigger core, which is woken up for it.
    fn leaves_it(self, failed: u32) -> bool {
        let Some(bigger) = self.bigger_that_waits(failed) else { return false };
        if failed == WAITING_AFTER && self.sees_work() {
            self.shared().sleep.ring(bigger);
        }
        true
    }

    fn steal(self) -> Option<NonNull<Job>> {
        while let Some(victim) = self.victim() {
            match self.take_from(victim) {
                Steal::Task(job) => {
                    count(&self.desk.counters.steals);
                    return Some(job);
                }
                Steal::Lost => {}
                Steal::Empty => break,
            }
        }
        count(&self.desk.counters.failed_steals);
        None
    }

    /// Asks first where taking needs a heavy fence (see [`crate::asking`]).
    fn take_from(self, victim: &Desk) -> Steal<NonNull<Job>> {
        if fence::asymmetric() {
            let until = clock::now().0 + fence::cost();
            let patient = || {
                std::hint::spin_loop();
                clock::now().0 < until
            };
            match self.desk.asking.ask(&victim.asking, self.index(), patient) {
                Some(Some(job)) => return Steal::Task(job),
                Some(None) => return Steal::Empty,
                None => {}
            }
        }
        victim.deque.steal()
    }

    /// The worker with the fullest queue (occupancy-based, Torng et al., ISCA 2016, IV.C); of equal ones the next one round the table.
    fn victim(self) -> Option<&'a Desk> {
        if let Some(roster) = &self.shared().roster {
            let victim = roster.victim(self.index(), |worker| self.shared().desks[worker].deque.len());
            return victim.map(|worker| &*self.shared().desks[worker]);
        }
        let (before, from) = self.shared().desks.split_at(self.index());
        let mut fullest = None;
        let mut most = 0;
        for desk in from[1..].iter().chain(before) {
            let len = desk.deque.len();
            if len > most {
                (fullest, most) = (Some(&**desk), len);
            }
        }
        fullest
    }

    /// Whether a search would find something now.
    fn sees_work(self) -> bool {
        let shared = self.shared();
        !shared.urgent.is_empty() || self.victim().is_some() || !shared.injected.is_empty() || Self::is_missed()
    }
}

/// What a worker is that has found nothing for a while.
#[derive(Default)]
struct Idle {
    patience: Patience,
    backoff: Backoff,
    /// It was woken up for a task, and has to see to it that the next one wakes up the next worker.
    called: bool,
}

impl Idle {
    fn fail(&mut self, worker: Worker<'_>, latch: &Latch) {
        self.patience.failed += 1;
        if let Some(roster) = &worker.shared().roster {
            let tasks = |other: usize| worker.shared().desks[other].deque.len();
            // On the core that it goes to when it mugs it may have to wait until it runs: as one that sleeps it hears of what it waits for.
            let away = || latch.doze(worker.index());
            let stays = roster.failed(worker.index(), &mut self.patience, tasks, away);
            latch.rise(worker.index());
            if stays {
                return std::hint::spin_loop();
            }
        }
        if self.patience.failed < WAITING_AFTER {
            std::hint::spin_loop();
        } else if self.patience.failed < SLEEP_AFTER {
            if self.backoff.is_completed() { thread::yield_now() } else { self.backoff.snooze() }
        } else if latch.doze(worker.index()) {
            self.called |= worker.shared().sleep.sleep(worker.index(), || latch.is_open() || worker.sees_work());
            latch.rise(worker.index());
            self.patience.failed = WAITING_AFTER;
        }
    }

    /// It has found something to do.
    fn end(&mut self, worker: Worker<'_>) {
        if std::mem::take(&mut self.called) {
            worker.shared().sleep.pass_on(|| worker.sees_work());
        }
        if let Some(roster) = &worker.shared().roster
            && let Some(bigger) = roster.found(worker.index())
        {
            worker.shared().sleep.ring(bigger);
        }
        self.patience.failed = 0;
        self.backoff.reset();
    }
}
