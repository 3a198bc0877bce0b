//! What each worker does: has a task, or waits for one. The hint of Torng et al. (ISCA 2016, III.A), one for each worker; on a stock kernel it is a word in memory.

use std::sync::atomic::Ordering::SeqCst;

use crossbeam_utils::CachePadded;
use evenkeel_model::Ns;

use crate::sync::AtomicU8;

/// What a worker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    /// Nothing: it has no thread at the moment.
    Away,
    /// It has a task.
    Active,
    /// It has failed to find one, twice in a row; it may be asleep.
    Waiting,
}

impl Activity {
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

/// The activity of all workers. SeqCst: a worker that waits searches for active ones, while an active one searches for one that waits.
pub(crate) struct Activities(Box<[CachePadded<AtomicU8>]>);

impl Activities {
    /// All workers are away.
    pub(super) fn new(workers: usize) -> Self {
        Self((0..workers).map(|_| CachePadded::new(AtomicU8::new(Activity::Away.bits()))).collect())
    }

    /// How many workers there are.
    pub(super) fn workers(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(&self, worker: usize) -> Activity {
        Activity::of(self.0[worker].load(SeqCst))
    }

    /// Returns what it was.
    pub(super) fn set(&self, worker: usize, activity: Activity) -> Activity {
        Activity::of(self.0[worker].swap(activity.bits(), SeqCst))
    }

    /// Sets what a worker does if it does what it did `before`. Returns whether it did.
    pub(super) fn exchange(&self, worker: usize, before: Activity, activity: Activity) -> bool {
        self.0[worker].compare_exchange(before.bits(), activity.bits(), SeqCst, SeqCst).is_ok()
    }

    /// The workers that do this.
    pub(super) fn all(&self, activity: Activity) -> impl Iterator<Item = usize> + '_ {
        (0..self.0.len()).filter(move |worker| self.get(*worker) == activity)
    }
}

/// The searches for a task in which a worker has failed since it last had one.
#[derive(Default)]
pub(crate) struct Failures {
    /// How many in a row.
    pub failed: u32,
    /// Since when there has been a worker to mug.
    pub since: Option<Ns>,
}
