//! How much a thread has done: in instructions where they were counted, in time where they were not.

use evenkeel_model::{Instructions, Ns};
use evenkeel_workload::recording::rate;

/// A recording counts instructions if at most this share of the work has no count. A note reports a smaller share.
const MOST_ESTIMATED: f64 = 0.1;
const FEW_ESTIMATED: f64 = 0.01;
/// A thread that was on a core type for a smaller part of its time has no rate there: most of it would be cold caches.
const LEAST_SHARE: f64 = 0.05;

/// A point in time, and what the counter of a CPU read then, if that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moment {
    pub at: Ns,
    pub cpu: u16,
    pub count: Option<Instructions>,
}

impl Moment {
    /// The instructions of its CPU since an earlier moment there.
    pub(super) fn counted_since(self, earlier: Self) -> Option<f64> {
        let count = self.count?.0.checked_sub(earlier.count?.0)?;
        (self.cpu == earlier.cpu).then_some(count as f64)
    }
}

/// Some work.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    /// Nanoseconds that the biggest core would have needed.
    pub time: f64,
    /// The part of `time` without a count.
    pub uncounted: f64,
    /// The instructions of the other part.
    pub instructions: f64,
}

impl Work {
    pub(super) fn add(&mut self, more: Self) {
        self.time += more.time;
        self.uncounted += more.uncounted;
        self.instructions += more.instructions;
    }

    /// A share of it.
    pub(super) fn part(self, share: f64) -> Self {
        Self { time: share * self.time, uncounted: share * self.uncounted, instructions: share * self.instructions }
    }
}

/// What was counted on cores of a type, and the time that it took there.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    instructions: f64,
    time: f64,
}

/// All work of a thread, or of a recording.
#[derive(Clone, Debug, Default)]
pub(super) struct Total {
    work: Work,
    types: Vec<Counted>,
    /// How many spans had no count.
    uncounted: u64,
}

impl Total {
    /// Adds a span of work, which took so long on a core of a type.
    pub(super) fn add(&mut self, work: Work, core_type: usize, time: f64) {
        self.work.add(work);
        match work.uncounted > 0.0 {
            true => self.uncounted += 1,
            false => self.count(core_type, Counted { instructions: work.instructions, time }),
        }
    }

    /// Adds all work of another thread.
    fn join(&mut self, other: &Self) {
        self.work.add(other.work);
        self.uncounted += other.uncounted;
        other.types.iter().enumerate().for_each(|(core_type, counted)| self.count(core_type, *counted));
    }

    fn count(&mut self, core_type: usize, more: Counted) {
        if self.types.len() <= core_type {
            self.types.resize(core_type + 1, Counted::default());
        }
        self.types[core_type].instructions += more.instructions;
        self.types[core_type].time += more.time;
    }

    /// Instructions for each nanosecond of the biggest core.
    fn rate(&self) -> Option<f64> {
        let counted = self.work.time - self.work.uncounted;
        (counted > 0.0).then(|| self.work.instructions / counted)
    }

    /// Instructions per ns on each of so many core types.
    fn rates(&self, types: usize) -> Vec<Option<f64>> {
        let all: f64 = self.types.iter().map(|counted| counted.time).sum();
        let often = |on: &Counted| on.time > 0.0 && on.time >= LEAST_SHARE * all;
        let on_type = |on: &Counted| often(on).then(|| rate(on.instructions / on.time));
        let mut rates: Vec<_> = self.types.iter().map(on_type).collect();
        rates.resize(types, None);
        rates
    }
}

/// What a recording counts work in.
#[derive(Debug)]
pub(super) enum Unit {
    /// Nanoseconds of the biggest core.
    Time,
    /// Instructions. A thread without a count is taken to be like all others together.
    Instructions {
        all: Total,
        /// How many core types there are.
        types: usize,
    },
}

impl Unit {
    /// What work can be counted in, and what a reader should know of it.
    pub(super) fn of<'a>(threads: impl Iterator<Item = &'a Total>, types: usize) -> (Self, Option<String>) {
        let mut all = Total::default();
        threads.for_each(|total| all.join(total));
        if all.rate().is_none() {
            return (Self::Time, None);
        }
        let share = all.work.uncounted / all.work.time;
        let spans = format!("{} spans of work ({:.1} % of it) were not counted", all.uncounted, 100.0 * share);
        if share > MOST_ESTIMATED {
            return (Self::Time, Some(format!("{spans}, so that work is recorded as time instead of instructions")));
        }
        let note = format!("{spans}; their instructions are estimated by how fast their threads were otherwise");
        (Self::Instructions { all, types }, (share > FEW_ESTIMATED).then_some(note))
    }

    /// What the work of a thread is counted by.
    pub(super) fn meter(&self, own: &Total) -> Meter {
        let Self::Instructions { all, types } = self else { return Meter::default() };
        let total = if own.rate().is_some() { own } else { all };
        Meter { rate: total.rate(), rates: total.rates(*types) }
    }
}

/// Measures the work of a thread.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// Instructions for each nanosecond of the biggest core, where none were counted; `None` if time is what counts.
    rate: Option<f64>,
    /// Instructions per ns on each core type.
    pub rates: Vec<Option<f64>>,
}

impl Meter {
    /// How much it was.
    pub(super) fn amount(&self, work: &Work) -> f64 {
        match self.rate {
            Some(rate) => work.instructions + rate * work.uncounted,
            None => work.time,
        }
    }
}
