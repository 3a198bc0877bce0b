//! Who is where and does what: the activity of workers and the cores that they are on, and what an asymmetry-aware runtime makes of that (Torng et
//! al., "Asymmetry-Aware Work-Stealing Runtimes", ISCA 2016, III). The decisions are those of [`evenkeel_model::stealing`], which the simulator uses, too.
//!
//! A pool on equal cores that keeps no books has no roster. One that has is asked by workers that look for work, never by one that runs a task.

mod affinity;
mod book;
mod places;
mod setup;
mod turns;
mod uneven;
mod voltages;

use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Mutex, MutexGuard};

use crossbeam_utils::CachePadded;
use evenkeel_model::{CoreTypeId, Ns};

use affinity::{Affinity, Kernel};
pub(crate) use affinity::{Mask, Tid};
pub(crate) use book::Books;
pub use book::{Account, Spans};
pub(crate) use places::Seat;
pub use setup::this_machine;
pub(crate) use setup::{Wanted, roster};
pub(crate) use uneven::Uneven;

use crate::missing::Missing;
use crate::trace::Event;

/// Locks. What a roster does needs none of the interleavings that loom explores: its locks and atomics are those of std everywhere.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// What a worker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Nothing: it has no thread at the moment.
    Away,
    /// It has a task.
    Active,
    /// It has failed to find one, twice in a row; it may be asleep.
    Waiting,
}

impl Doing {
    fn of(bits: u8) -> Self {
        match bits {
            0 => Self::Away,
            1 => Self::Active,
            _ => Self::Waiting,
        }
    }

    fn bits(self) -> u8 {
        match self {
            Self::Away => 0,
            Self::Active => 1,
            Self::Waiting => 2,
        }
    }
}

/// The hints of all workers (III.A), one for each; on a stock kernel they are words in memory. SeqCst, since who waits looks for others that are active while these
/// look for one that waits.
pub(crate) struct Hints(Box<[CachePadded<AtomicU8>]>);

impl Hints {
    fn new(workers: usize) -> Self {
        Self((0..workers).map(|_| CachePadded::new(AtomicU8::new(Doing::Away.bits()))).collect())
    }

    fn get(&self, worker: usize) -> Doing {
        Doing::of(self.0[worker].load(SeqCst))
    }

    /// Answers what it was.
    fn set(&self, worker: usize, doing: Doing) -> Doing {
        Doing::of(self.0[worker].swap(doing.bits(), SeqCst))
    }

    fn all(&self, doing: Doing) -> impl Iterator<Item = usize> + '_ {
        (0..self.0.len()).filter(move |worker| self.get(*worker) == doing)
    }
}

/// See the module.
pub(crate) struct Roster {
    hints: Hints,
    /// Where cores differ and workers may be bound to them.
    uneven: Option<Uneven>,
    books: Option<Books>,
    /// The type of each CPU, for books about workers that nobody binds.
    kinds: Vec<(u16, CoreTypeId)>,
}

/// How a worker that looks for work goes on after it has failed.
#[derive(Default)]
pub(crate) struct Patience {
    /// How often in a row it has.
    pub failed: u32,
    /// Since when there has been somebody to mug.
    since: Option<Ns>,
}

impl Roster {
    /// For so many workers; none if there is nothing to keep one for.
    pub fn new(
        workers: usize,
        uneven: Option<Uneven>,
        books: Option<Books>,
        kinds: Vec<(u16, CoreTypeId)>,
    ) -> Option<Self> {
        (uneven.is_some() || books.is_some()).then(|| Self { hints: Hints::new(workers), uneven, books, kinds })
    }

    /// The calling thread begins to be a worker, with a task or without, and goes to its core if it is free to. Returns what [`Self::leave`] needs.
    pub fn arrive(&self, worker: usize, free: bool, doing: Doing) -> Option<Mask> {
        let bound = self.uneven.as_ref().filter(|_| free);
        let before = bound.and_then(|uneven| uneven.arrive(worker, &self.hints, self.books.as_ref()));
        self.turn(worker, doing);
        before
    }

    /// The calling thread is this worker no more, and may go wherever it might before.
    pub fn leave(&self, worker: usize, before: Option<Mask>) {
        if let (Some(uneven), Some(mask)) = (&self.uneven, before) {
            uneven.leave(worker, &mask, &self.hints, self.books.as_ref());
        }
        self.turn(worker, Doing::Away);
    }

    /// The calling thread may go where it might before, in a process that has no roster.
    pub fn unbind(before: &Mask) {
        let _ = Kernel.restrict(affinity::own(), before);
    }

    /// To whom, who waits on a bigger core, a worker that has failed so often leaves what there is (work-biasing, III.C).
    pub fn holds_back(&self, worker: usize, failed: u32) -> Option<usize> {
        self.uneven.as_ref()?.holds_back(worker, failed, &self.hints)
    }

    /// The worker to wake up first of these, as a position among them: the one on the biggest core, and the last of equals, whose caches are the warmest.
    /// `None` only if there are none.
    pub fn first_to_wake(&self, sleepers: &[usize]) -> Option<usize> {
        let kind = |worker: usize| self.uneven.as_ref().map(|uneven| uneven.kind(worker));
        (0..sleepers.len()).rev().min_by_key(|place| kind(sleepers[*place]))
    }

    /// The worker to steal from. `tasks` says how many are in a worker's queue.
    pub fn victim(&self, thief: usize, tasks: impl Fn(usize) -> usize) -> Option<usize> {
        let distance = |worker| match &self.uneven {
            Some(uneven) => uneven.distance(thief, worker),
            None => evenkeel_model::stealing::ring_distance(thief, worker, self.hints.0.len()),
        };
        let others = (0..self.hints.0.len()).filter(|worker| *worker != thief);
        evenkeel_model::stealing::victim(others.map(|worker| evenkeel_model::stealing::Queue {
            worker,
            tasks: tasks(worker),
            distance: distance(worker),
        }))
    }

    /// A worker has failed once more to find a task. Answers whether it has reason not to sleep: somebody to mug. `away` is asked before it leaves its
    /// core for that, and forbids it by false.
    pub fn failed(
        &self,
        worker: usize,
        patience: &mut Patience,
        tasks: impl Fn(usize) -> usize,
        away: impl FnOnce() -> bool,
    ) -> bool {
        if !evenkeel_model::stealing::waits(patience.failed) {
            return false;
        }
        self.turn(worker, Doing::Waiting);
        let Some(uneven) = &self.uneven else { return false };
        uneven.mug(worker, patience, &self.hints, tasks, away, self.books.as_ref())
    }

    /// A worker has a task, or what it waits for is done. Answers who should be woken up because of that: somebody on a bigger core, who may want
    /// the task for that.
    pub fn found(&self, worker: usize) -> Option<usize> {
        if self.hints.get(worker) != Doing::Waiting {
            return None;
        }
        self.turn(worker, Doing::Active);
        self.uneven.as_ref()?.who_could_mug(worker, &self.hints)
    }

    /// What happens on cores that differ, if they do.
    pub fn uneven(&self) -> Option<&Uneven> {
        self.uneven.as_ref()
    }

    /// Lets long tasks take turns on the bigger cores until [`Uneven::stop`] is called. `marks` tells what makes one worker's task another, and `more` whether
    /// there are tasks that nobody has begun.
    pub fn take_turns(&self, marks: impl Fn(usize) -> (isize, isize, u64), more: impl Fn() -> bool) {
        if let Some(uneven) = &self.uneven {
            uneven.take_turns(&self.hints, marks, more, self.books.as_ref());
        }
    }

    /// What a worker's book says.
    pub fn account(&self, worker: usize) -> Option<Account> {
        self.books.as_ref().map(|books| books.account(worker))
    }

    /// What all workers did, by time.
    pub fn events(&self) -> Vec<Event> {
        self.books.as_ref().map(Books::events).unwrap_or_default()
    }

    /// What has turned out to be missing since the pool was made.
    pub fn missing(&self) -> Vec<Missing> {
        self.uneven.as_ref().map(Uneven::missing).unwrap_or_default()
    }

    fn turn(&self, worker: usize, doing: Doing) {
        let before = self.hints.set(worker, doing);
        if before == doing {
            return;
        }
        if let Some(books) = &self.books {
            books.note(worker, doing, self.seat(worker));
        }
        // Without a task it makes no difference to voltages and turns whether there is a thread: N of them may start without each concerning all others.
        if let Some(uneven) = &self.uneven
            && (before == Doing::Active || doing == Doing::Active)
        {
            uneven.turned(doing, &self.hints);
        }
    }

    fn seat(&self, worker: usize) -> Seat {
        if let Some(uneven) = &self.uneven {
            return uneven.seat(worker);
        }
        let cpu = affinity::here();
        let kind = self.kinds.iter().find(|(other, _)| *other == cpu).map_or(CoreTypeId(0), |(_, kind)| *kind);
        Seat::at(cpu, kind)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
