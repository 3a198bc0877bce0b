//! Workers that find nothing sleep, and are called when a task comes. A task that comes while nobody sleeps pays one relaxed load for that.
//!
//! The README of this crate ("Sleeping") has the protocol and why no call is lost.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crossbeam_utils::CachePadded;

use crate::fence;
use crate::roster::Roster;
use crate::sync::{AtomicUsize, Condvar, Mutex, lock};

/// Somebody sleeps, and nobody is on the way up.
const CALL: usize = 1;
/// Fences are symmetric: every push has to go the long way.
const SYMMETRIC: usize = 2;

/// Where the workers of a pool sleep.
pub(crate) struct Sleep {
    alarm: CachePadded<AtomicUsize>,
    /// `alarm` is only written under this lock.
    sleepers: Mutex<Sleepers>,
    beds: Box<[CachePadded<Bed>]>,
    roster: Option<Arc<Roster>>,
}

/// The workers that sleep.
#[derive(Default)]
struct Sleepers {
    /// Those that sleep or are about to, in the order in which they lay down.
    list: Vec<usize>,
    /// How many there are at most: the workers that [`Sleep::begin`] knows.
    most: usize,
    /// The pool is dropped: it wakes all workers, and none has to wake another.
    closed: bool,
    /// All of them slept when it was dropped, so that there was no work.
    at_rest: bool,
}

/// Where one worker sleeps. A ring before it lies down counts.
struct Bed {
    rung: Mutex<bool>,
    bell: Condvar,
}

impl Sleep {
    pub(crate) fn new(workers: usize, roster: Option<Arc<Roster>>) -> Sleep {
        let bed = || CachePadded::new(Bed { rung: Mutex::new(false), bell: Condvar::new() });
        let quiet = if fence::asymmetric() { 0 } else { SYMMETRIC };
        Sleep {
            alarm: CachePadded::new(AtomicUsize::new(quiet)),
            sleepers: Mutex::new(Sleepers { list: Vec::with_capacity(workers), ..Sleepers::default() }),
            beds: (0..workers).map(|_| bed()).collect(),
            roster,
        }
    }

    /// Whether a push has to [`notify`](Self::notify). Where fences are asymmetric this is false nearly always; elsewhere it is always true.
    ///
    /// Between the push and this lies a light fence, which pairs with the heavy ones in [`sleep`](Self::sleep) and [`pass_on`](Self::pass_on).
    #[inline(always)]
    pub(crate) fn is_alarmed(&self) -> bool {
        self.alarm.load(Relaxed) != 0
    }

    /// Calls one sleeper if there is one and none has been called that is still on its way.
    #[cold]
    pub(crate) fn notify(&self) {
        fence::light();
        if self.alarm.load(Relaxed) & CALL != 0 {
            self.call();
        }
    }

    fn call(&self) {
        let mut sleepers = lock(&self.sleepers);
        if self.alarm.load(Relaxed) & CALL == 0 {
            return;
        }
        self.set_call(false);
        let called = match &self.roster {
            // The last to lie down: its caches are the warmest.
            None => sleepers.list.pop(),
            Some(roster) => roster.first_to_wake(&sleepers.list).map(|place| sleepers.list.remove(place)),
        };
        // Nobody is called only if the list is empty: those for whom the alarm went on have all got up by themselves. The alarm may be off then, for the list
        // and the alarm change under one lock, and who lies down from now on turns it on again, and looks for work after that.
        drop(sleepers);
        if let Some(worker) = called {
            self.ring(worker);
        }
    }

    /// Wakes a worker up because what it waits for is done. It counts as active from now on: it may take a while until it runs, and a bigger core may take it
    /// over until then.
    pub(crate) fn wake(&self, worker: usize) {
        if let Some(roster) = &self.roster
            && let Some(bigger) = roster.found(worker)
        {
            self.ring(bigger);
        }
        self.ring(worker);
    }

    /// Wakes a worker up, whatever the reason.
    pub(crate) fn ring(&self, worker: usize) {
        let bed = &self.beds[worker];
        *lock(&bed.rung) = true;
        bed.bell.notify_one();
    }

    /// Sleeps until woken up. `stay_up` is asked once more after everybody can see that this worker sleeps. Returns whether the worker was called: then it
    /// owes a [`pass_on`](Self::pass_on) as soon as it has found work.
    #[must_use]
    pub(crate) fn sleep(&self, worker: usize, stay_up: impl FnOnce() -> bool) -> bool {
        {
            let mut sleepers = lock(&self.sleepers);
            sleepers.list.push(worker);
            self.set_call(true);
        }
        // Pairs with the light fence between a push and `is_alarmed`. Without a heavy fence nothing could be stolen either.
        let _ = fence::heavy();
        if !stay_up() {
            self.wait(worker);
        }
        self.get_up(worker)
    }

    /// These workers sleep, from the moment when they start. Called before anything is pushed.
    pub(crate) fn begin(&self, workers: Range<usize>) {
        let mut sleepers = lock(&self.sleepers);
        sleepers.most = workers.len();
        self.set_call(!workers.is_empty());
        sleepers.list.extend(workers);
    }

    /// Sleeps for the first time; as [`sleep`](Self::sleep) for a worker that [`begin`](Self::begin) knows.
    #[must_use]
    pub(crate) fn first(&self, worker: usize) -> bool {
        self.wait(worker);
        self.get_up(worker)
    }

    fn wait(&self, worker: usize) {
        let bed = &self.beds[worker];
        let mut rung = lock(&bed.rung);
        while !*rung {
            rung = bed.bell.wait(rung).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        *rung = false;
    }

    /// Takes the worker off the list. Returns whether it was called.
    fn get_up(&self, worker: usize) -> bool {
        let mut sleepers = lock(&self.sleepers);
        match sleepers.list.iter().position(|&sleeper| sleeper == worker) {
            Some(place) => {
                sleepers.list.remove(place);
                false
            }
            None => !sleepers.closed,
        }
    }

    /// Wakes all workers, to end. Latches that tell them so are open.
    pub(crate) fn close(&self) {
        let woken = {
            let mut sleepers = lock(&self.sleepers);
            sleepers.closed = true;
            sleepers.at_rest = sleepers.list.len() == sleepers.most;
            self.set_call(false);
            std::mem::take(&mut sleepers.list)
        };
        woken.into_iter().for_each(|worker| self.ring(worker));
    }

    /// Whether all workers slept when the pool was closed.
    pub(crate) fn closed_at_rest(&self) -> bool {
        lock(&self.sleepers).at_rest
    }

    /// A worker that was called has found work: from now on the next push may call the next sleeper. `more`: is there work already?
    pub(crate) fn pass_on(&self, more: impl FnOnce() -> bool) {
        {
            let sleepers = lock(&self.sleepers);
            if sleepers.list.is_empty() {
                return;
            }
            self.set_call(true);
        }
        // Pairs with the light fence between a push and `is_alarmed`: that push sees the alarm, or `more` sees its task.
        let _ = fence::heavy();
        if more() {
            self.call();
        }
    }

    /// The caller holds the lock.
    fn set_call(&self, on: bool) {
        let quiet = self.alarm.load(Relaxed) & !CALL;
        self.alarm.store(if on { quiet | CALL } else { quiet }, Relaxed);
    }
}
