//! A thread that is being recorded.

use evenkeel_model::Ns;
use evenkeel_workload::program::{Start, ThreadKind};
use evenkeel_workload::recording::{RecordedThread, Step};

use super::cpus::Cpus;

/// Where a thread is, as far as the events tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It was there before recording began, and nothing has happened to it.
    Unseen,
    Ready {
        since: Ns,
        /// By a wake-up, not by preemption.
        woken: bool,
    },
    Running {
        cpu: u16,
        /// Up to here its CPU time is counted.
        since: Ns,
        /// What is left of the time that the switch to it and its move cost.
        overhead: Ns,
    },
    Blocked {
        since: Ns,
    },
}

#[derive(Debug)]
pub(super) struct Thread {
    pub name: String,
    pub process: u32,
    pub start: Start,
    pub steps: Vec<Step>,
    pub place: Place,
    pub last_cpu: Option<u16>,
    pub exited: bool,
    /// A wake-up that came while it ran: by whom, and which of its steps. It is worth something only if the thread was
    /// about to block and goes on without another.
    pub early: Option<(usize, usize)>,
    /// Nanoseconds on the biggest core that are not in `steps`.
    work: f64,
}

impl Thread {
    pub(super) fn new(name: String, process: u32, start: Start, now: Ns) -> Self {
        let (steps, place) = (Vec::new(), Place::Ready { since: now, woken: false });
        Self { name, process, start, steps, place, last_cpu: None, exited: false, early: None, work: 0.0 }
    }

    /// Counts its CPU time up to now.
    pub(super) fn settle(&mut self, now: Ns, cpus: &Cpus) {
        let Place::Running { cpu, since, overhead } = &mut self.place else { return };
        let elapsed = now.since(*since);
        let lost = elapsed.min(*overhead);
        *overhead -= lost;
        *since = now;
        self.work += (elapsed - lost).0 as f64 * cpus.speed(*cpu);
    }

    /// Appends a step, and before it the work since the last one.
    pub(super) fn push(&mut self, step: Step) {
        // The fraction of a nanosecond stays for the next time.
        let whole = self.work.floor();
        self.work -= whole;
        if whole > 0.0 {
            self.steps.push(Step::Run(whole as u64));
        }
        self.steps.push(step);
    }

    /// What was recorded, without the gaps that wake-ups of no use have left.
    pub(super) fn finish(mut self) -> RecordedThread {
        self.push(Step::Run(0));
        let mut steps: Vec<Step> = Vec::with_capacity(self.steps.len());
        for step in self.steps {
            match (steps.last_mut(), step) {
                (_, Step::Run(0) | Step::Sleep(Ns::ZERO)) => {}
                (Some(Step::Run(before)), Step::Run(more)) => *before += more,
                _ => steps.push(step),
            }
        }
        let kind = ThreadKind::Application;
        RecordedThread { name: self.name, process: self.process, kind, start: self.start, steps }
    }
}
