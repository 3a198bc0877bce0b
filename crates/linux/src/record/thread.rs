//! A thread that is being recorded.

use evenkeel_model::Ns;
use evenkeel_workload::program::{Start, ThreadKind};
use evenkeel_workload::recording::{RecordedThread, Step};

use super::cpus::Cpus;
use super::teams::Part;
use super::work::{Meter, Moment, Total, Unit, Work};

/// The state of a thread, by the events so far.
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
        /// For how long another hardware thread of its core had run up to there.
        beside: Ns,
    },
    Blocked {
        since: Ns,
    },
}

/// Work, and what the thread did then; nothing where that was of no use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    pub work: Work,
    pub step: Option<Step>,
    /// The pool that the work is of.
    pub pool: Option<u32>,
    /// When it began to do that, and when it had.
    pub at: Ns,
    pub until: Ns,
    /// When this was written down, counted over all threads; of a wait, when the wake-up was that ended it. No two happen at once.
    pub order: u64,
    /// Of a wait or a wake-up, the futex word; 0 if it is not known.
    pub word: u32,
    /// And which futex call of the waker it was.
    pub call: u32,
}

#[derive(Debug)]
pub(super) struct ThreadRecord {
    pub name: String,
    pub process: u32,
    pub start: Start,
    pub done: Vec<Done>,
    pub state: RunState,
    pub last_cpu: Option<u16>,
    /// When, if it has.
    pub exited: Option<Ns>,
    /// Since when it could run.
    pub born: Ns,
    /// A wake-up that came while it ran: the waker, and which of its steps. It counts only if the thread was about to block
    /// and runs again without another.
    pub early: Option<(usize, usize)>,
    /// What its work is part of now.
    pub part: Option<Part>,
    /// All that it did.
    pub total: Total,
    /// For how long it ran, in ns, without what switches and moves cost.
    pub ran: f64,
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
            exited: None,
            born: now,
            early: None,
            part: None,
            total: Total::default(),
            ran: 0.0,
            work: Work::default(),
        }
    }

    /// Counts its work up to now.
    pub(super) fn settle(&mut self, now: Moment, cpus: &Cpus) {
        let RunState::Running { since, overhead, beside } = &mut self.state else { return };
        let elapsed = now.at.since(since.at);
        let lost = elapsed.min(*overhead);
        let others = cpus.beside(since.cpu, now.at);
        let shared = others.since(*beside).min(elapsed - lost).0 as f64;
        *beside = others;
        // In a core's pipelines by itself it would have taken less.
        let own = (elapsed - lost).0 as f64 - shared * (1.0 - 1.0 / cpus.longer(since.cpu));
        // What a switch costs is not the thread's own, in time as in instructions.
        let share = if lost > Ns::ZERO { (elapsed - lost).0 as f64 / elapsed.0 as f64 } else { 1.0 };
        let time = own * cpus.speed(since.cpu);
        let work = match now.counted_since(*since) {
            Some(count) => Work { time, uncounted: 0.0, instructions: share * count },
            None => Work { time, uncounted: time, instructions: 0.0 },
        };
        self.total.add(work, cpus.core_type(since.cpu), own);
        self.ran += own;
        self.work.add(work);
        *overhead -= lost;
        *since = Moment { at: now.at, cpu: since.cpu, count: now.count.filter(|_| now.cpu == since.cpu) };
    }

    /// Appends what it has done now, and before it the work since the last step.
    pub(super) fn push(&mut self, step: Option<Step>, now: Ns, order: u64) {
        let at = if let RunState::Blocked { since } = self.state { since } else { now };
        let pool = self.part.map(Part::pool);
        let work = std::mem::take(&mut self.work);
        self.done.push(Done { work, step, pool, at, until: now, order, word: 0, call: 0 });
    }

    /// Its last step, a wait, ended with this wake-up.
    pub(super) fn woken_by(&mut self, wake: Option<Done>) {
        if let (Some(last), Some(wake)) = (self.done.last_mut(), wake) {
            (last.until, last.order) = (wake.until, wake.order);
        }
    }

    /// What was recorded, without the gaps that wake-ups of no use have left.
    pub(super) fn finish(self, unit: &Unit) -> RecordedThread {
        let meter = unit.meter(&self.total);
        let steps = steps(self.done, &meter);
        let (kind, rates) = (ThreadKind::Application, meter.rates);
        RecordedThread { name: self.name, process: self.process, kind, start: self.start, rates, steps }
    }
}

/// What a thread did, in steps.
pub(super) fn steps(done: Vec<Done>, meter: &Meter) -> Vec<Step> {
    let mut steps = Steps::default();
    let mut rest = 0.0;
    let mut all = done.into_iter().peekable();
    while let Some(done) = all.next() {
        // The fraction of a unit stays for the next time.
        rest += meter.amount(&done.work);
        let whole = rest.floor();
        rest -= whole;
        steps.work(whole as u64, done.pool);
        // What it did in the middle of its part comes before: others may have been started or woken by it to share the work.
        if all.peek().and_then(|next| next.pool) != done.pool {
            steps.leave_pool();
        }
        steps.does(done.step);
    }
    steps.finish()
}

/// The steps of a thread, one after the other.
#[derive(Default)]
struct Steps {
    steps: Vec<Step>,
    /// The pool that the thread takes part in, and with how much so far.
    part: Option<(u32, u64)>,
}

impl Steps {
    fn work(&mut self, amount: u64, pool: Option<u32>) {
        if self.part.map(|(pool, _)| pool) != pool {
            self.leave_pool();
            self.part = pool.map(|pool| (pool, 0));
        }
        match (&mut self.part, self.steps.last_mut()) {
            (Some((_, part)), _) => *part += amount,
            (None, Some(Step::Run(before))) => *before += amount,
            (None, _) if amount > 0 => self.steps.push(Step::Run(amount)),
            (None, _) => {}
        }
    }

    fn does(&mut self, step: Option<Step>) {
        self.steps.extend(step.filter(|step| *step != Step::Sleep(Ns::ZERO)));
    }

    fn leave_pool(&mut self) {
        let part = self.part.take().map(|(pool, amount)| Step::Share { pool, amount });
        self.steps.extend(part);
    }

    fn finish(mut self) -> Vec<Step> {
        self.leave_pool();
        self.steps
    }
}
