//! What threads stall on, for bias scheduling: running averages for threads, a short history for cores.

use evenkeel_model::{CoreId, Counter, Instructions, ThreadId};

use crate::span::Span;
use crate::state::State;

/// Stalls in events per 1000 instructions ("we normalize metrics to the number of instructions retired", Koufaty et al.,
/// EuroSys 2010, section 6.2).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Stalls {
    /// Cycles in which the front end delivered nothing to issue although there was room: instruction starvation.
    pub internal: f64,
    /// Demand requests served outside the core, by the last-level cache or by memory: offcore requests.
    pub external: f64,
}

impl Stalls {
    /// What was counted in a span of running: the increment of the thread's virtualised counters (5.1). `None` if nothing
    /// was.
    fn of(span: &Span) -> Option<(Self, f64)> {
        let counters = span.counters.as_ref()?;
        let instructions = counters.get(Counter::Instructions);
        let rate = |counter| 1000.0 * counters.get(counter) / instructions;
        let stalls = Self { internal: rate(Counter::FrontendStallCycles), external: rate(Counter::L2Refills) };
        (instructions > 0.0).then_some((stalls, instructions))
    }
}

/// The running average of a thread's stalls over a sliding window of instructions (5.1).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Average {
    stalls: Stalls,
    /// How many instructions it is over: those of the thread's life, up to the window.
    instructions: f64,
}

impl Average {
    /// "The running average is updated with the new data plus a fraction of the running average inversely proportional to
    /// the number of instructions executed in the quantum." The average of a thread younger than the window is that of
    /// its life. Returns the new average.
    pub fn update(&mut self, span: &Span, window: Instructions) -> Option<Stalls> {
        let (new, instructions) = Stalls::of(span)?;
        self.instructions = (self.instructions + instructions).min(window.0 as f64);
        let share = (instructions / self.instructions).min(1.0);
        let mix = |old: f64, new: f64| old + share * (new - old);
        self.stalls.internal = mix(self.stalls.internal, new.internal);
        self.stalls.external = mix(self.stalls.external, new.external);
        Some(self.stalls)
    }
}

/// How many entries a core's history has (6.2).
const ENTRIES: usize = 10;

/// The bias of the threads that ran on a core most recently, in a circular buffer: the core can be searched without
/// a scan of every thread that waits for it (6.2).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct History {
    entries: [Option<(ThreadId, Stalls)>; ENTRIES],
    latest: usize,
}

impl History {
    /// The outgoing thread leaves its present stalls; one that still runs renews them.
    pub fn push(&mut self, thread: ThreadId, stalls: Stalls) {
        if self.entries[self.latest].is_some_and(|(last, _)| last != thread) {
            self.latest = (self.latest + 1) % ENTRIES;
        }
        self.entries[self.latest] = Some((thread, stalls));
    }

    /// A thread was migrated from the core.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// The threads with their stalls, the latest entry first, each thread once.
    pub fn recent(&self) -> impl Iterator<Item = (ThreadId, Stalls)> + '_ {
        let at = move |age: usize| self.entries[(self.latest + ENTRIES - age) % ENTRIES];
        let newer = move |age: usize, thread: ThreadId| (0..age).any(|age| at(age).is_some_and(|(t, _)| t == thread));
        let entries = (0..ENTRIES).filter_map(move |age| Some((age, at(age)?)));
        entries.filter(move |(age, (thread, _))| !newer(*age, *thread)).map(|(_, entry)| entry)
    }
}

/// What is known of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    average: Average,
    ran_on: Option<CoreId>,
}

/// Everything that is known of stalls: an average for each thread, a history for each core.
#[derive(Clone, Debug, Default)]
pub(crate) struct Monitor {
    records: Vec<Record>,
    histories: Vec<History>,
}

impl Monitor {
    /// A thread begins, or begins anew: nothing is known of it, and what it left behind counts no more.
    pub fn begin(&mut self, s: &State, thread: ThreadId) {
        self.grow(s);
        let before = std::mem::take(&mut self.records[thread.index()]);
        before.ran_on.iter().for_each(|core| self.histories[core.index()].clear());
    }

    /// A thread ran on a core.
    pub fn ran(&mut self, s: &State, thread: ThreadId, core: CoreId, span: &Span, window: Instructions) {
        self.grow(s);
        let record = &mut self.records[thread.index()];
        if let Some(before) = record.ran_on.replace(core).filter(|before| *before != core) {
            self.histories[before.index()].clear();
        }
        if let Some(stalls) = record.average.update(span, window) {
            self.histories[core.index()].push(thread, stalls);
        }
    }

    /// The present stalls of a thread, if they could be counted.
    pub fn stalls(&self, thread: ThreadId) -> Option<Stalls> {
        let average = self.records.get(thread.index())?.average;
        (average.instructions > 0.0).then_some(average.stalls)
    }

    /// The threads that ran on a core recently, the latest first.
    pub fn recent(&self, core: CoreId) -> impl Iterator<Item = (ThreadId, Stalls)> + '_ {
        self.histories.get(core.index()).into_iter().flat_map(History::recent)
    }

    fn grow(&mut self, s: &State) {
        self.records.resize(s.threads.len(), Record::default());
        self.histories.resize(s.cores.len(), History::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_model::Counters;

    fn span(instructions: f64, starved: f64, requests: f64) -> Span {
        let mut counters = Counters::default();
        counters.0[Counter::Instructions as usize] = instructions;
        counters.0[Counter::FrontendStallCycles as usize] = starved;
        counters.0[Counter::L2Refills as usize] = requests;
        Span { counters: Some(counters), ..Span::default() }
    }

    const WINDOW: Instructions = Instructions(16_000_000_000);

    #[test]
    fn a_young_threads_average_is_over_its_life_and_an_old_ones_over_the_window() {
        let mut average = Average::default();
        average.update(&span(1e9, 2e8, 0.0), WINDOW);
        let young = average.update(&span(1e9, 0.0, 4e7), WINDOW).unwrap();
        assert_eq!((young.internal, young.external), (100.0, 20.0), "half of its life each");
        for _ in 0..20 {
            average.update(&span(1e9, 0.0, 0.0), WINDOW);
        }
        let before = average.stalls.internal;
        let old = average.update(&span(1e9, 1.6e9, 0.0), WINDOW).unwrap();
        assert!((old.internal - (before + (1600.0 - before) / 16.0)).abs() < 1e-9, "1 G of 16 G: {old:?}");
        let all = average.update(&span(64e9, 0.0, 64e7), WINDOW).unwrap();
        assert_eq!((all.internal, all.external), (0.0, 10.0), "more than the window at once");
    }

    #[test]
    fn what_was_not_counted_changes_nothing() {
        let mut average = Average::default();
        assert_eq!(average.update(&Span::default(), WINDOW), None);
        assert_eq!(average.update(&span(0.0, 10.0, 10.0), WINDOW), None, "no instructions, no rate");
        assert_eq!(average.instructions, 0.0);
    }

    #[test]
    fn a_history_keeps_the_last_ten_switches() {
        let mut history = History::default();
        let stalls = |internal: u32| Stalls { internal: f64::from(internal), external: 0.0 };
        for (thread, value) in [(1, 1), (2, 2), (1, 3), (1, 4)] {
            history.push(ThreadId(thread), stalls(value));
        }
        let recent: Vec<_> = history.recent().map(|(thread, stalls)| (thread.0, stalls.internal)).collect();
        assert_eq!(recent, [(1, 4.0), (2, 2.0)], "each thread once, with what it showed last");
        assert_eq!(history.entries.iter().flatten().count(), 3, "a thread that still runs renews its entry");
        (3..13).for_each(|thread| history.push(ThreadId(thread), stalls(thread)));
        assert_eq!(history.recent().map(|(thread, _)| thread.0).collect::<Vec<_>>(), (3..13).rev().collect::<Vec<_>>());
        history.clear();
        assert_eq!(history.recent().count(), 0);
    }
}
