//! The event calendar: what happens at a time that no core decides by itself. Ordered by time, then by sequence.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use evenkeel_model::{CoreId, Ns, ThreadId};
use evenkeel_sched::Action;

/// An entry of the calendar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Entry {
    /// A thread begins, or ends a sleep. The number tells a current sleep from one that was cut short.
    Wake(ThreadId, u32),
    /// A delayed switch of the core to the thread.
    Switch(CoreId, ThreadId),
    /// A delayed action.
    Act(Action),
    /// The policy's period.
    Refresh,
    /// Who steers from beside looks, if that is still to be then.
    Look(Ns),
    /// Background work on a core.
    Noise(CoreId),
    /// The end of the workload's duration.
    End,
}

impl Entry {
    /// Whether the entry can make a thread run. If none of these is left and no core is busy, nothing happens any more.
    fn revives(self) -> bool {
        matches!(self, Self::Wake(..) | Self::Switch(..) | Self::Act(_))
    }
}

#[derive(Debug)]
struct Scheduled {
    at: Ns,
    sequence: u64,
    entry: Entry,
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Scheduled {}
impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.sequence).cmp(&(other.at, other.sequence))
    }
}

/// The calendar.
#[derive(Debug, Default)]
pub(crate) struct Calendar {
    heap: BinaryHeap<Reverse<Scheduled>>,
    sequence: u64,
    reviving: usize,
}

impl Calendar {
    pub(crate) fn push(&mut self, at: Ns, entry: Entry) {
        self.reviving += usize::from(entry.revives());
        self.heap.push(Reverse(Scheduled { at, sequence: self.sequence, entry }));
        self.sequence += 1;
    }

    /// When the next entry is due.
    pub(crate) fn due(&self) -> Ns {
        self.heap.peek().map_or(Ns::NEVER, |Reverse(next)| next.at)
    }

    pub(crate) fn pop(&mut self) -> Option<Entry> {
        let Reverse(next) = self.heap.pop()?;
        self.reviving -= usize::from(next.entry.revives());
        Some(next.entry)
    }

    /// Whether an entry is left that can make a thread run.
    pub(crate) fn can_revive(&self) -> bool {
        self.reviving > 0
    }
}
