//! By what threads are sorted.

use std::cmp::Ordering;

use evenkeel_linux::monitor::Label;

use crate::view::ThreadRow;

/// A column to sort by: the largest first, names and numbers in their order, what has none last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// How much of a core a thread has.
    #[default]
    Run,
    /// Which part of that is on the biggest cores.
    Big,
    /// Which part of the time it waits for a core.
    Ready,
    /// How much others wait for it.
    Blame,
    /// What it gains from a big core.
    Speedup,
    /// Its name.
    Name,
    /// Its number.
    Tid,
    /// The CPU that it is on.
    On,
    /// What the policy thinks of it, what belongs on a big core first.
    Label,
    /// The CPUs that it is pinned to.
    Pinned,
}

impl Sort {
    /// All of them, in the order of the table's columns.
    pub const ALL: [Self; 10] = [
        Self::Tid,
        Self::Name,
        Self::On,
        Self::Run,
        Self::Big,
        Self::Ready,
        Self::Blame,
        Self::Speedup,
        Self::Label,
        Self::Pinned,
    ];

    /// What it is called on the screen and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Big => "big",
            Self::Ready => "ready",
            Self::Blame => "blame",
            Self::Speedup => "speedup",
            Self::Name => "name",
            Self::Tid => "tid",
            Self::On => "on",
            Self::Label => "label",
            Self::Pinned => "pinned",
        }
    }

    /// The one of a name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sort| sort.name() == name)
    }

    /// The column `by` places to the right.
    pub fn moved(self, by: usize) -> Self {
        let at = Self::ALL.iter().position(|sort| *sort == self).unwrap_or_default();
        Self::ALL[(at + by) % Self::ALL.len()]
    }

    /// Sorts rows; those that are equal by their numbers.
    pub fn sort(self, rows: &mut [ThreadRow], reverse: bool) {
        rows.sort_by(|one, other| {
            let order = self.order(one, other);
            let order = if reverse { order.reverse() } else { order };
            order.then(one.tid.cmp(&other.tid))
        });
    }

    fn order(self, one: &ThreadRow, other: &ThreadRow) -> Ordering {
        let larger = |value: fn(&ThreadRow) -> f64| value(other).total_cmp(&value(one));
        match self {
            Self::Run => larger(|row| row.run),
            Self::Big => larger(|row| row.big.unwrap_or(-1.0)),
            Self::Ready => larger(|row| row.ready),
            Self::Blame => larger(|row| row.blame.unwrap_or(-1.0)),
            Self::Speedup => larger(|row| row.speedup.unwrap_or(-1.0)),
            Self::Name => one.name.cmp(&other.name),
            Self::Tid => one.tid.cmp(&other.tid),
            Self::On => one.cpu.cmp(&other.cpu),
            Self::Label => place(one).cmp(&place(other)),
            Self::Pinned => (one.pinned.is_empty(), &one.pinned).cmp(&(other.pinned.is_empty(), &other.pinned)),
        }
    }
}

/// The place of a thread's label among all.
fn place(row: &ThreadRow) -> u8 {
    match row.label {
        _ if row.service => 3,
        Label::Critical => 0,
        Label::Big => 1,
        Label::Little => 2,
        // The screen shows none.
        Label::Any => 4,
    }
}
