//! A thread that is being recorded.

use evenkeel_model::Ns;
use evenkeel_workload::program::{Start, ThreadKind};
use evenkeel_workload::recording::{RecordedThread, Step};

use super::cpus::Cpus;
use super::work::{Moment, Total, Unit, Work};

/// Where a thread is, as far as the events tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunState {
    /// It was there before recording began, and nothing has happened to it.
    Unseen,
    Ready {
        since: Ns,
        /// By a wake-up, not by preemption.
        woken: bool,
    },
    Running {
        /// On which CPU, and up to where its work is counted.
        since: Moment,
        /// What is left of the time that the switch to it and its move cost.
        overhead: Ns,
    },
    Blocked {
        since: Ns,
    },
}

/// Work, and what the thread did then; nothing where that was of no use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    work: Work,
    pub step: Option<Step>,
}

#[derive(Debug)]
pub(super) struct ThreadRecord {
    pub name: String,
    pub process: u32,
    pub start: Start,
    pub done: Vec<Done>,
    pub state: RunState,
    pub last_cpu: Option<u16>,
    pub exited: bool,
    /// A wake-up that came while it ran: the waker, and which of its steps. It counts only if the thread was about to block
    /// and runs again without another.
    pub early: Option<(usize, usize)>,
    /// All that it did.
    pub total: Total,
    /// What of it is not in `done`.
    work: Work,
}

impl ThreadRecord {
    pub(super) fn new(name: String, process: u32, start: Start, now: Ns) -> Self {
        Self {
            name,
            process,
            start,
            done: Vec::new(),
            state: RunState::Ready { since: now, woken: false },
            last_cpu: None,
            exited: false,
            early: None,
            total: Total::default(),
            work: Work::default(),
        }
    }

    /// Counts its work up to now.
    pub(super) fn settle(&mut self, now: Moment, cpus: &Cpus) {
        let RunState::Running { since, overhead } = &mut self.state else { return };
        let elapsed = now.at.since(since.at);
        let lost = elapsed.min(*overhead);
        let own = (elapsed - lost).0 as f64;
        // What a switch costs is not the thread's own, in time as in instructions.
        let share = if lost > Ns::ZERO { own / elapsed.0 as f64 } else { 1.0 };
        let time = own * cpus.speed(since.cpu);
        let work = match now.counted_since(*since) {
            Some(count) => Work { time, uncounted: 0.0, instructions: share * count },
            None => Work { time, uncounted: time, instructions: 0.0 },
        };
        self.total.add(work, cpus.core_type(since.cpu), own);
        self.work.add(work);
        *overhead -= lost;
        *since = Moment { at: now.at, cpu: since.cpu, count: now.count.filter(|_| now.cpu == since.cpu) };
    }

    /// Appends a step, and before it the work since the last one.
    pub(super) fn push(&mut self, step: Step) {
        self.done.push(Done { work: std::mem::take(&mut self.work), step: Some(step) });
    }

    /// What was recorded, without the gaps that wake-ups of no use have left.
    pub(super) fn finish(mut self, unit: &Unit) -> RecordedThread {
        self.done.push(Done { work: self.work, step: None });
        let meter = unit.meter(&self.total);
        let mut steps: Vec<Step> = Vec::with_capacity(self.done.len());
        let mut rest = 0.0;
        for done in self.done {
            // The fraction of a unit stays for the next time.
            rest += meter.amount(&done.work);
            let whole = rest.floor();
            rest -= whole;
            for step in [Some(Step::Run(whole as u64)), done.step].into_iter().flatten() {
                match (steps.last_mut(), step) {
                    (_, Step::Run(0) | Step::Sleep(Ns::ZERO)) => {}
                    (Some(Step::Run(before)), Step::Run(more)) => *before += more,
                    _ => steps.push(step),
                }
            }
        }
        let (kind, rates) = (ThreadKind::Application, meter.rates);
        RecordedThread { name: self.name, process: self.process, kind, start: self.start, rates, steps }
    }
}
