//! Workers that find no task sleep, and a push wakes one of them. A push while no worker sleeps pays one relaxed load for that.
//!
//! DESIGN.md ("Sleeping") has the protocol, and why no wake-up is lost.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crossbeam_utils::CachePadded;

use crate::asymmetry::Asymmetry;
use crate::fence;
use crate::sync::{AtomicUsize, Condvar, Mutex, lock};

/// A worker sleeps, and every worker that a push has woken has found a task.
const WAKE: usize = 1;
/// Fences are symmetric: every push has to go the long way.
const SYMMETRIC: usize = 2;

/// The sleeping workers of a pool.
pub(crate) struct Sleep {
    alarm: CachePadded<AtomicUsize>,
    /// `alarm` is only written under this lock.
    sleepers: Mutex<Sleepers>,
    parkers: Box<[CachePadded<Parker>]>,
    asymmetry: Option<Arc<Asymmetry>>,
}

/// The workers that sleep.
#[derive(Default)]
struct Sleepers {
    /// Those that sleep or are about to, in the order in which they began.
    list: Vec<usize>,
    /// How many there are at most: the workers that [`Sleep::begin`] knows.
    most: usize,
    /// All of them slept when it was dropped, so that there was no task.
    at_rest: bool,
}

/// Where one worker parks. Waking it before it parks counts.
struct Parker {
    woken: Mutex<bool>,
    condvar: Condvar,
}

impl Parker {
    fn park(&self) {
        let mut woken = lock(&self.woken);
        while !*woken {
            woken = self.condvar.wait(woken).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        *woken = false;
    }

    fn unpark(&self) {
        *lock(&self.woken) = true;
        self.condvar.notify_one();
    }
}

impl Sleep {
    pub(crate) fn new(workers: usize, asymmetry: Option<Arc<Asymmetry>>) -> Sleep {
        let parker = || CachePadded::new(Parker { woken: Mutex::new(false), condvar: Condvar::new() });
        let quiet = if fence::asymmetric() { 0 } else { SYMMETRIC };
        Sleep {
            alarm: CachePadded::new(AtomicUsize::new(quiet)),
            sleepers: Mutex::new(Sleepers { list: Vec::with_capacity(workers), ..Sleepers::default() }),
            parkers: (0..workers).map(|_| parker()).collect(),
            asymmetry,
        }
    }

    /// Whether a push has to [`notify`](Self::notify). Where fences are asymmetric this is false nearly always; elsewhere it is always true.
    ///
    /// Between the push and this lies a light fence, which pairs with the heavy ones in [`sleep`](Self::sleep) and [`pass_on`](Self::pass_on).
    #[inline(always)]
    pub(crate) fn is_alarmed(&self) -> bool {
        self.alarm.load(Relaxed) != 0
    }

    /// Wakes one sleeper, unless a woken worker has not found a task yet.
    #[cold]
    pub(crate) fn notify(&self) {
        fence::light();
        if self.alarm.load(Relaxed) & WAKE != 0 {
            self.wake_one();
        }
    }

    fn wake_one(&self) {
        let mut sleepers = lock(&self.sleepers);
        if self.alarm.load(Relaxed) & WAKE == 0 {
            return;
        }
        self.set_alarm(false);
        let woken = match &self.asymmetry {
            // The last to fall asleep: its caches are the warmest.
            None => sleepers.list.pop(),
            Some(asymmetry) => asymmetry.first_to_wake(&sleepers.list).map(|place| sleepers.list.remove(place)),
        };
        // None is woken only if the list is empty: the workers for which the alarm went on have all got up by themselves. The alarm may be off then, for the list
        // and the alarm change under one lock, and the next worker that falls asleep turns it on again, and searches for work after that.
        drop(sleepers);
        if let Some(worker) = woken {
            self.wake(worker);
        }
    }

    /// Wakes a worker because what it waits for is done. It counts as active from now on: it may take a while until it runs, and a worker on a bigger core may
    /// mug it until then.
    pub(crate) fn wake_for_latch(&self, worker: usize) {
        if let Some(asymmetry) = &self.asymmetry
            && let Some(bigger) = asymmetry.found(worker)
        {
            self.wake(bigger);
        }
        self.wake(worker);
    }

    /// Wakes a worker, whatever the reason.
    pub(crate) fn wake(&self, worker: usize) {
        self.parkers[worker].unpark();
    }

    /// Sleeps until woken. `stay_up` is called once more after every push can see that this worker sleeps. Returns whether a push has woken the worker: then it
    /// owes a [`pass_on`](Self::pass_on) as soon as it has found a task.
    #[must_use]
    pub(crate) fn sleep(&self, worker: usize, stay_up: impl FnOnce() -> bool) -> bool {
        {
            let mut sleepers = lock(&self.sleepers);
            sleepers.list.push(worker);
            self.set_alarm(true);
        }
        // Pairs with the light fence between a push and `is_alarmed`. Without a heavy fence no task could be stolen either.
        let _ = fence::heavy();
        if !stay_up() {
            self.parkers[worker].park();
        }
        self.get_up(worker)
    }

    /// These workers sleep, from the moment when they start. Called before anything is pushed.
    pub(crate) fn begin(&self, workers: Range<usize>) {
        let mut sleepers = lock(&self.sleepers);
        sleepers.most = workers.len();
        self.set_alarm(!workers.is_empty());
        sleepers.list.extend(workers);
    }

    /// Sleeps for the first time; as [`sleep`](Self::sleep) for a worker that [`begin`](Self::begin) knows.
    #[must_use]
    pub(crate) fn first(&self, worker: usize) -> bool {
        self.parkers[worker].park();
        self.get_up(worker)
    }

    /// Takes the worker off the list. Returns whether another thread did so before.
    fn get_up(&self, worker: usize) -> bool {
        let mut sleepers = lock(&self.sleepers);
        match sleepers.list.iter().position(|&sleeper| sleeper == worker) {
            Some(place) => {
                sleepers.list.remove(place);
                false
            }
            // Or the drop of the pool, which woke all that slept then: that one wakes another does no harm.
            None => true,
        }
    }

    /// Wakes all workers, so that they end. Their latches are open by then.
    pub(crate) fn close(&self) {
        let woken = {
            let mut sleepers = lock(&self.sleepers);
            sleepers.at_rest = sleepers.list.len() == sleepers.most;
            self.set_alarm(false);
            std::mem::take(&mut sleepers.list)
        };
        woken.into_iter().for_each(|worker| self.wake(worker));
    }

    /// Whether all workers slept when the pool was closed.
    pub(crate) fn closed_at_rest(&self) -> bool {
        lock(&self.sleepers).at_rest
    }

    /// A worker that was woken has found a task: from now on the next push may wake the next sleeper. `more`: is there another task already?
    pub(crate) fn pass_on(&self, more: impl FnOnce() -> bool) {
        {
            let sleepers = lock(&self.sleepers);
            if sleepers.list.is_empty() {
                return;
            }
            self.set_alarm(true);
        }
        // Pairs with the light fence between a push and `is_alarmed`: that push sees the alarm, or `more` sees its task.
        let _ = fence::heavy();
        if more() {
            self.wake_one();
        }
    }

    /// The caller holds the lock.
    fn set_alarm(&self, on: bool) {
        let quiet = self.alarm.load(Relaxed) & !WAKE;
        self.alarm.store(if on { quiet | WAKE } else { quiet }, Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// What they owe as woken ones does no harm: there is no other sleeper.
    #[test]
    fn workers_that_get_up_after_the_drop_wake_no_other() {
        let sleep = Sleep::new(3, None);
        sleep.begin(1..3);
        sleep.close();
        assert!(sleep.closed_at_rest());
        for worker in [1, 2] {
            assert!(sleep.first(worker), "it was taken off the list");
            sleep.pass_on(|| unreachable!("no worker sleeps"));
        }
        assert_eq!(sleep.alarm.load(Relaxed) & WAKE, 0);
        assert!(!sleep.sleep(1, || true), "one that lay down since takes itself off");
        assert!(lock(&sleep.sleepers).list.is_empty());
    }
}
