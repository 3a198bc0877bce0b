//! A worker: a queue, and a thread that works on it. The loop of one that waits is [`Worker::wait_until`].
#![allow(unsafe_code)]

use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{self, NonNull};
use std::thread;

use crossbeam_utils::Backoff;
use evenkeel_model::stealing::HINT_AFTER;

use crate::asymmetry::{Asymmetry, Failures};
use crate::clock;
use crate::deque::StealResult;
use crate::fence;
use crate::fork;
use crate::job::Job;
use crate::latch::Latch;
use crate::state::{PoolState, WorkerSlot, count};

/// Failed searches after which a worker counts as waiting: the hint of Torng et al., ISCA 2016, III.A.
const WAITING_AFTER: u32 = HINT_AFTER;
/// Failed searches after which it sleeps. `assumed`: about as long as a wake-up takes.
const SLEEP_AFTER: u32 = 32;
/// As many failed searches as it takes for tasks not to be left to others.
const LEAVE_NOTHING: u32 = u32::MAX;

/// The calling thread as the worker at a slot: the owner of its queue. Cannot leave the thread.
#[derive(Clone, Copy)]
pub(crate) struct Worker<'a> {
    slot: &'a WorkerSlot,
    _thread: PhantomData<*mut ()>,
}

/// A worker on the stack of a thread. A worker of one pool may be in a task that uses another pool, so there can be several below each other.
struct Entered {
    slot: *const WorkerSlot,
    below: *const Entered,
}

thread_local! {
    /// The slot at which this thread works now: what a `join` needs.
    static CURRENT: Cell<*const WorkerSlot> = const { Cell::new(ptr::null()) };
    /// The newest of the workers that this thread is.
    static ENTERED: Cell<*const Entered> = const { Cell::new(ptr::null()) };
}

/// What a push returns: the queue's `bottom` above the job, or that the job has to be searched for.
#[derive(Clone, Copy)]
pub(crate) struct Ticket(isize);

/// No `bottom` that a queue gets to.
const LONG_WAY: Ticket = Ticket(isize::MIN);

impl<'a> Worker<'a> {
    /// The worker that this thread is now.
    #[inline(always)]
    pub(crate) fn current() -> Option<Worker<'a>> {
        let slot = CURRENT.get();
        // SAFETY: set by `enter` only, which outlives what runs in it, and so every use of the result in this thread.
        unsafe { slot.as_ref() }.map(|slot| Worker { slot, _thread: PhantomData })
    }

    /// The slot in this pool at which this thread works, now or further down its stack.
    pub(crate) fn slot_in(pool: &PoolState) -> Option<&'a WorkerSlot> {
        Self::slots().find(|slot| slot.is_in(pool))
    }

    /// The slots in which this thread works, the newest first. Those of pools of the parent process are none.
    pub(crate) fn slots() -> impl Iterator<Item = &'a WorkerSlot> {
        let mut next = ENTERED.get();
        let all = std::iter::from_fn(move || {
            // SAFETY: `enter` keeps each of them until it returns.
            let entered = unsafe { next.as_ref() }?;
            next = entered.below;
            // SAFETY: as above.
            Some(unsafe { &*entered.slot })
        });
        all.filter(|slot| !slot.pool().is_lost())
    }

    /// The slot in which this thread was a worker first: the first one of its pool, or that of a thread of the pool.
    pub(crate) fn outermost() -> Option<&'a WorkerSlot> {
        Self::slots().last()
    }

    /// The slots in other pools that this thread has left for the one where it is now. Those pools may wait for it.
    fn left() -> impl Iterator<Item = Worker<'a>> {
        let here = CURRENT.get();
        let other = move |slot: &&WorkerSlot| {
            // SAFETY: this thread is in that slot.
            !unsafe { here.as_ref() }.is_some_and(|here| slot.is_in(here.pool()))
        };
        Self::slots().filter(other).map(|slot| Worker { slot, _thread: PhantomData })
    }

    /// The worker in this slot.
    ///
    /// # Safety
    /// The calling thread is.
    pub(crate) unsafe fn at(slot: &'a WorkerSlot) -> Worker<'a> {
        Worker { slot, _thread: PhantomData }
    }

    /// Runs `f` as the worker in this slot, and then what it left in the queue.
    ///
    /// # Safety
    /// No other thread works in this slot, and the pool is complete and exists until this returns.
    pub(crate) unsafe fn enter<R>(slot: &'a WorkerSlot, f: impl FnOnce(Worker<'a>) -> R) -> R {
        let worker = Worker { slot, _thread: PhantomData };
        let entered = Entered { slot, below: ENTERED.get() };
        let before = CURRENT.replace(slot);
        ENTERED.set(&raw const entered);
        Self::left().for_each(|left| left.shared().goes(slot));
        let floor = slot.deque.bottom();
        let outcome = catch_unwind(AssertUnwindSafe(|| f(worker)));
        // Tasks of a scope that lives elsewhere. There may be no other worker that could take them.
        while let Some(job) = worker.pop(floor) {
            // SAFETY: it was in the queue, and this is its worker.
            unsafe { Job::run(job, slot) };
        }
        Self::left().for_each(|left| left.shared().comes_back(slot));
        ENTERED.set(entered.below);
        CURRENT.set(before);
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Makes the calling thread the worker in this slot, for as long as it lives. What it is leaks.
    ///
    /// # Safety
    /// No other thread works in this slot, the calling thread is in no other, and the pool is complete and exists for ever.
    pub(crate) unsafe fn settle(slot: &'static WorkerSlot) {
        let entered = Box::leak(Box::new(Entered { slot, below: ptr::null() }));
        CURRENT.set(slot);
        ENTERED.set(entered);
    }

    /// Its slot.
    pub(crate) fn slot(self) -> &'a WorkerSlot {
        self.slot
    }

    pub(crate) fn index(self) -> usize {
        self.slot.index
    }

    #[inline(always)]
    pub(crate) fn shared(self) -> &'a PoolState {
        self.slot.pool()
    }

    /// Whether the queue is empty: everything was stolen, so that other workers need tasks.
    pub(crate) fn is_empty(self) -> bool {
        self.slot.deque.len() == 0
    }

    /// What [`wait_until`](Self::wait_until) may take from the own queue, of the tasks that will come from now on.
    pub(crate) fn floor(self) -> isize {
        self.slot.deque.bottom()
    }

    /// Puts a job into the queue, and wakes one worker if all sleep.
    #[inline(always)]
    pub(crate) fn push(self, job: NonNull<Job>) -> Ticket {
        // SAFETY: this thread is the owner.
        let bottom = unsafe { self.slot.deque.push(job) };
        // The light fence between the push and the load of the alarm. Where it is not free, the alarm is always on, and `notify` has the fence.
        fence::free();
        if self.shared().sleep.is_alarmed() | self.slot.request.is_requested() {
            self.attend(bottom)
        } else {
            Ticket(bottom)
        }
    }

    /// Queues a job of a scope and counts it. The second half of a join is not counted, because counting would be 15 % of its cost.
    pub(crate) fn spawn(self, job: NonNull<Job>) {
        self.count_spawn();
        self.push(job);
    }

    /// Counts a task that it spawns.
    pub(crate) fn count_spawn(self) {
        count(&self.slot.counters.spawns);
    }

    /// After a push: a thief requests a task, or a worker has to be woken.
    #[cold]
    fn attend(self, bottom: isize) -> Ticket {
        self.serve_thief();
        if self.shared().sleep.is_alarmed() && !self.shared().is_lost() {
            self.shared().sleep.notify();
        }
        if fence::asymmetric() { Ticket(bottom) } else { LONG_WAY }
    }

    /// Puts a job where all workers search first.
    pub(crate) fn hurry(self, priority: u32, job: NonNull<Job>) {
        if self.shared().is_lost() {
            self.push(job);
        } else {
            self.shared().hurry(priority, job);
        }
    }

    /// Gives its oldest task to the thief that requests one, if there is one. To be called now and then by a worker that is busy for long with tasks in its queue.
    pub(crate) fn serve_thief(self) {
        if self.slot.request.is_requested()
            && let Some(thief) = self.slot.request.accept()
            && !self.shared().is_lost()
        {
            // SAFETY: this thread is the owner.
            self.shared().slots[thief].request.reply(unsafe { self.slot.deque.give() });
        }
    }

    /// Takes back what was pushed if it still is the newest in the queue.
    #[inline(always)]
    pub(crate) fn pop_at(self, ticket: Ticket) -> bool {
        // SAFETY: this thread is the owner. With symmetric fences every ticket is for the long way.
        unsafe { self.slot.deque.pop_at(ticket.0) }
    }

    /// Takes the newest job, if its index is not below `floor`.
    pub(crate) fn pop(self, floor: isize) -> Option<NonNull<Job>> {
        // SAFETY: this thread is the owner.
        unsafe { self.slot.deque.pop(floor) }
    }

    /// Takes the newest job, whatever it is.
    pub(crate) fn pop_any(self) -> Option<NonNull<Job>> {
        self.pop(self.slot.deque.top())
    }

    /// Works until the latch is open. Of the own queue only what was put there above `floor` is taken: below lie jobs of frames further down the stack, which
    /// expect them to be where they are, or stolen.
    pub(crate) fn wait_until(self, latch: &Latch, floor: isize) {
        let mut idle = Idle::default();
        let uneven = self.shared().asymmetry.as_deref().and_then(Asymmetry::uneven);
        // The tasks that it runs meanwhile are no serial code.
        let was_serial = uneven.is_some_and(|uneven| uneven.serial(self.index(), false));
        self.work_until(latch, floor, &mut idle);
        if self.shared().is_lost() {
            return self.wait_alone(latch, floor);
        }
        if let Some(uneven) = uneven.filter(|_| was_serial) {
            uneven.serial(self.index(), true);
        }
        idle.end(self);
    }

    /// Works until the latch is open, or this process has none of the other workers.
    fn work_until(self, latch: &Latch, floor: isize, idle: &mut Idle) {
        while !latch.is_open() && !self.shared().is_lost() {
            if let Some(job) = self.find(floor, idle.failures.failed) {
                idle.end(self);
                // SAFETY: it was in a queue.
                unsafe { Job::run(job, self.slot) };
            } else if let Some((left, job)) = Self::missed() {
                idle.end(self);
                left.catch_up(job);
            } else {
                idle.fail(self, latch);
            }
        }
    }

    /// Waits in a process that was forked by a task: what this thread has queued itself is all that can be done.
    #[cold]
    fn wait_alone(self, latch: &Latch, floor: isize) {
        while !latch.is_open() {
            match self.pop(floor) {
                // SAFETY: it was in the queue.
                Some(job) => unsafe { Job::run(job, self.slot) },
                None => fork::lost(),
            }
        }
    }

    /// Runs one job if there is one, whatever it is; for a thread that waits in a way of its own.
    pub(crate) fn run_one(self) -> bool {
        self.run_one_of_its_own() || self.run(self.find(self.floor(), LEAVE_NOTHING))
    }

    /// Runs one of this worker's jobs if there is one.
    pub(crate) fn run_one_of_its_own(self) -> bool {
        self.run(self.take_oldest().or_else(|| self.slot.own.broadcasts.pop()))
    }

    /// Runs a job that has come out of a queue.
    fn run(self, job: Option<NonNull<Job>>) -> bool {
        // SAFETY: the callers have taken it out.
        job.map(|job| unsafe { Job::run(job, self.slot) }).is_some()
    }

    /// What a thread of the pool does until the pool is dropped. It begins asleep, as nothing can have been pushed before the pool was complete: a search through all
    /// queues by each of N new workers would make starting them quadratic.
    pub(crate) fn work(self, closed: &Latch) {
        let woken = self.shared().sleep.first(self.index());
        self.work_from(closed, Idle { woken, ..Idle::default() });
    }

    /// As [`work`](Self::work), for a thread that does not begin asleep: jobs may have been pushed before it was there.
    pub(crate) fn work_at_once(self, closed: &Latch) {
        self.work_from(closed, Idle::default());
    }

    fn work_from(self, closed: &Latch, mut idle: Idle) {
        let floor = self.floor();
        let sleep = &self.shared().sleep;
        self.work_until(closed, floor, &mut idle);
        if self.shared().is_lost() {
            // A task has forked, and the child is back here: its thread ends. What it had queued is the parent's to run.
            while self.pop(floor).is_some() {}
        } else if !sleep.closed_at_rest() || self.shared().has_injected() {
            idle.end(self);
            self.finish(floor);
        }
    }

    /// A job that was sent to a pool whose slot this thread has left. There may be no other worker to run it, and this thread may wait for the thread that
    /// sent it.
    fn missed() -> Option<(Worker<'a>, NonNull<Job>)> {
        let job = |left: Worker<'_>| left.slot.own.broadcasts.pop().or_else(|| left.shared().injected.pop());
        Self::left().find_map(|left| Some((left, job(left)?)))
    }

    /// Runs such a job. `self` is one of the workers that were [left](Self::left).
    fn catch_up(self, job: NonNull<Job>) {
        // SAFETY: this thread works in that slot, further down its stack; the job was in a queue.
        unsafe { Worker::enter(self.slot, |worker| Job::run(job, worker.slot)) };
    }

    fn is_missed() -> bool {
        Self::left().any(|left| !left.shared().injected.is_empty() || !left.slot.own.broadcasts.is_empty())
    }

    /// Works until there is nothing to do.
    fn finish(self, floor: isize) {
        while let Some(job) = self.find(floor, LEAVE_NOTHING) {
            // SAFETY: it was in a queue.
            unsafe { Job::run(job, self.slot) };
        }
    }

    /// `failed` searches before this one have found nothing.
    pub(crate) fn find(self, floor: isize, failed: u32) -> Option<NonNull<Job>> {
        let job = self.search(floor, failed);
        if job.is_some() {
            count(&self.slot.counters.found);
        }
        job
    }

    fn search(self, floor: isize, failed: u32) -> Option<NonNull<Job>> {
        let own = self.urgent(failed).or_else(|| self.pop_own(floor)).or_else(|| self.slot.own.broadcasts.pop());
        self.serve_thief();
        if own.is_some() || self.leaves_it(failed) {
            return own;
        }
        self.steal().or_else(|| self.shared().injected.pop()).or_else(|| self.oldest_below())
    }

    /// The newest job in the own queue, or the oldest if the pool wants that.
    fn pop_own(self, floor: isize) -> Option<NonNull<Job>> {
        match &self.shared().dedication {
            Some(dedication) if dedication.breadth_first => self.take_oldest(),
            _ => self.pop(floor),
        }
    }

    /// What lies below the floor, if the pool is dedicated: the thread may wait for a task in another pool that waits for just that job, and here may be no other
    /// worker.
    fn oldest_below(self) -> Option<NonNull<Job>> {
        self.shared().dedication.as_ref().and_then(|_| self.take_oldest())
    }

    /// Takes the oldest job out of its own queue, as a thief does: its frame, if it has one, finds it stolen.
    pub(crate) fn take_oldest(self) -> Option<NonNull<Job>> {
        // SAFETY: this thread is the owner.
        unsafe { self.slot.deque.give() }
    }

    /// The most urgent task. It is in no worker's queue, so taking it counts as a steal, and is left to a worker that waits on a bigger core (work-biasing, Torng et al.,
    /// ISCA 2016, III.C). No worker has to be woken for it here: none falls asleep while there is one, and the push has woken the sleeper on the biggest core.
    fn urgent(self, failed: u32) -> Option<NonNull<Job>> {
        let urgent = &self.shared().urgent;
        if urgent.is_empty() || self.bigger_that_waits(failed).is_some() { None } else { urgent.pop() }
    }

    /// The worker to which this one leaves what is not its own.
    fn bigger_that_waits(self, failed: u32) -> Option<usize> {
        self.shared().asymmetry.as_ref()?.holds_back(self.index(), failed)
    }

    /// Whether this worker leaves the tasks of others to a worker on a bigger core. If there are tasks, it wakes that worker.
    fn leaves_it(self, failed: u32) -> bool {
        let Some(bigger) = self.bigger_that_waits(failed) else { return false };
        if failed == WAITING_AFTER && self.sees_work() {
            self.shared().sleep.wake(bigger);
        }
        true
    }

    fn steal(self) -> Option<NonNull<Job>> {
        while let Some(victim) = self.victim() {
            match self.take_from(victim) {
                StealResult::Task(job) => {
                    count(&self.slot.counters.steals);
                    return Some(job);
                }
                StealResult::Lost => {}
                StealResult::Empty => break,
            }
        }
        count(&self.slot.counters.failed_steals);
        None
    }

    /// Requests one first where taking needs a heavy fence (see [`crate::steal_request`]).
    fn take_from(self, victim: &WorkerSlot) -> StealResult<NonNull<Job>> {
        if fence::asymmetric() {
            let until = clock::now().0 + fence::cost();
            let wait = || {
                std::hint::spin_loop();
                clock::now().0 < until
            };
            match self.slot.request.request(&victim.request, self.index(), wait) {
                Some(Some(job)) => return StealResult::Task(job),
                Some(None) => return StealResult::Empty,
                None => {}
            }
        }
        victim.deque.steal()
    }

    /// The worker with the fullest queue (occupancy-based, Torng et al., ISCA 2016, IV.C); of equal ones the next by number.
    fn victim(self) -> Option<&'a WorkerSlot> {
        if let Some(asymmetry) = &self.shared().asymmetry {
            let victim = asymmetry.victim(self.index(), |worker| self.shared().slots[worker].deque.len());
            return victim.map(|worker| &*self.shared().slots[worker]);
        }
        let (before, from) = self.shared().slots.split_at(self.index());
        let mut fullest = None;
        let mut most = 0;
        for slot in from[1..].iter().chain(before) {
            let len = slot.deque.len();
            if len > most {
                (fullest, most) = (Some(&**slot), len);
            }
        }
        fullest
    }

    /// Whether a search would find something now.
    fn sees_work(self) -> bool {
        let shared = self.shared();
        let jobs = !shared.urgent.is_empty() || !self.slot.own.broadcasts.is_empty() || !shared.injected.is_empty();
        jobs || self.victim().is_some() || Self::is_missed()
    }
}

/// A worker that has found no task for a while.
#[derive(Default)]
struct Idle {
    failures: Failures,
    backoff: Backoff,
    /// It was woken for a task: it owes a [`pass_on`](crate::sleep::Sleep::pass_on).
    woken: bool,
}

impl Idle {
    fn fail(&mut self, worker: Worker<'_>, latch: &Latch) {
        self.failures.failed += 1;
        if let Some(asymmetry) = &worker.shared().asymmetry {
            let tasks = |other: usize| worker.shared().slots[other].deque.len();
            // After a mug the worker may wait for its new core. It counts as a sleeper of the latch, so it becomes active when the latch opens and can be mugged back.
            let away = || latch.doze(worker.index());
            let stays = asymmetry.failed(worker.index(), &mut self.failures, tasks, away);
            latch.rise(worker.index());
            if stays {
                return std::hint::spin_loop();
            }
        }
        if self.failures.failed < WAITING_AFTER {
            std::hint::spin_loop();
        } else if self.failures.failed < SLEEP_AFTER {
            if self.backoff.is_completed() { thread::yield_now() } else { self.backoff.snooze() }
        } else if latch.doze(worker.index()) {
            self.woken |= worker.shared().sleep.sleep(worker.index(), || latch.is_open() || worker.sees_work());
            latch.rise(worker.index());
            self.failures.failed = WAITING_AFTER;
        }
    }

    /// It has found a task.
    fn end(&mut self, worker: Worker<'_>) {
        if std::mem::take(&mut self.woken) {
            worker.shared().sleep.pass_on(|| worker.sees_work());
        }
        if let Some(asymmetry) = &worker.shared().asymmetry
            && let Some(bigger) = asymmetry.found(worker.index())
        {
            worker.shared().sleep.wake(bigger);
        }
        self.failures = Failures::default();
        self.backoff.reset();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use evenkeel_model::Ns;

    use super::*;

    #[test]
    fn a_task_ends_the_time_for_which_a_worker_has_seen_one_to_mug() {
        let pool = PoolState::new(1, None, None);
        let mut idle = Idle { failures: Failures { failed: 2, since: Some(Ns(1)) }, ..Idle::default() };
        // SAFETY: no other thread works in this slot, and the pool outlives the call.
        unsafe { Worker::enter(&pool.slots[0], |worker| idle.end(worker)) };
        assert_eq!((idle.failures.failed, idle.failures.since), (0, None));
    }
}
