//! COLAB: core allocation, thread selection and fairness decided together (Yu et al., CGO 2020).
//!
//! Problem: a scheduler that sends both the threads that profit most and the threads that others wait for to the big
//! cores crowds them there. COLAB separates the two. Where a thread is queued follows from its core sensitivity; which
//! waiting thread runs next follows from how long others have waited for it; and equal progress follows from shorter
//! slices on big cores (sections 3 and 4, Algorithm 1).
//!
//! Where the paper is silent or contradicts itself: the table in `docs/policies/colab.md`. Since vruntime is scaled when it is
//! charged, the check at a wake-up (`wakeup_preempt_entity`) compares scaled values, and is Linux's own.

use evenkeel_model::{CoreId, CoreSet, Ns, ThreadId, ThreadKind};

use super::description::{Description, Guarantee, Knob, Reads, Setup, Value};
use super::hooks::{Changes, Group, Policy, Standing};
use super::in_kernel::InKernel;
use super::parts::culprit::{CULPRIT, Culprit};
use super::parts::fair;
use super::parts::faster_first::scaled;
use super::parts::running::Running;
use super::parts::services::{GC_OR_ANY, Services, services};
use crate::action::{Pick, Why};
use crate::span::Span;
use crate::state::State;
use crate::thread::Run;
use evenkeel_hooks::hooks;

/// How far from the mean "high" and "low" begin at least, as a share of it (assumed): threads that differ by less are equal.
const LABEL_MARGIN: f64 = 0.05;

/// What can be set.
const KNOBS: &[Knob] = &[
    Knob { name: "period", summary: "how often threads are labelled (4.2)", value: Value::Time(Ns::from_ms(10)) },
    Knob {
        name: "takeover",
        summary: "which of the threads that little cores run an idle big core takes over (Algorithm 1: any)",
        value: Value::Word(&["any", "blamed", "none"]),
    },
    Knob {
        name: "deal",
        summary: "to which core of its group a woken or new thread goes: idle ones in turn (with takeover=any big ones first), else all in turn; all in turn (Algorithm 1); the least loaded for what it can do",
        value: Value::Word(&["idle", "turn", "load"]),
    },
    Knob {
        name: "eligible",
        summary: "which of the threads that wait for a core it chooses among: those that are at most a latency ahead of the first in vruntime, so that blocking ones do not starve others (3.1 wants fairness); all (Algorithm 1)",
        value: Value::Word(&["latency", "all"]),
    },
    Knob {
        name: "balance",
        summary: "threads are moved as CFS balances, too: of CFS's functions 4.2 replaces the two that select threads and cores; else dealing and idle cores alone even out queues",
        value: Value::Switch,
    },
    Knob {
        name: "blame",
        summary: "which waiting a thread is blamed for: recent, halved each period, or all since it began (4.1)",
        value: Value::Word(&["recent", "all"]),
    },
    Knob {
        name: "labels",
        summary: "how far from the mean a high and a low speedup and blame begin, in standard deviations, and at least 5 % of the mean; 3.2 has no number",
        value: Value::Number { default: 0.5, from: 0.0, to: 10.0 },
    },
    Knob {
        name: "vruntime",
        summary: "what time on a big core adds to a thread's vruntime: that time multiplied by the thread's speedup, for equal progress (3.2), or divided by it, as it is written in 4.1",
        value: Value::Word(&["multiplied", "divided"]),
    },
    CULPRIT,
    GC_OR_ANY,
];

/// What `evenkeel policies` shows of it, and how it is made.
pub(super) static DESCRIPTION: Description = Description {
    summary: "deals threads to cores by sensitivity, runs the most blamed first, lets big cores take over from little ones",
    source: "Yu, Petoumenos, Janjic, Leather, Thomson, \"COLAB: a collaborative multi-factor scheduler for asymmetric multicore processors\", CGO 2020, sections 3 and 4",
    reads: Reads::Speedups,
    knobs: KNOBS,
    guarantees: &[Guarantee::TakesOver],
    in_kernel: Some(InKernel { choices: &["takeover", "deal", "eligible", "vruntime", "balance"], ..InKernel::new(6) }),
    ..Description::of::<Colab>("colab", |setup| Box::new(Colab::new(setup)))
};

/// Which running threads of little cores a big core without work takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takeover {
    /// The most blamed, whatever its blame.
    Any,
    /// The most blamed, if its blame is high.
    Blamed,
    None,
}

impl Takeover {
    fn named(word: &str) -> Self {
        match word {
            "none" => Self::None,
            "blamed" => Self::Blamed,
            _ => Self::Any,
        }
    }
}

/// Which core of a group the next thread is dealt to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deal {
    /// The next idle one, else the next one.
    Idle,
    /// The next one, so that little cores are given as many threads as big ones.
    Turn,
    /// The one that then has least to do for its capacity, idle ones before busy ones.
    Load,
}

impl Deal {
    fn named(word: &str) -> Self {
        match word {
            "turn" => Self::Turn,
            "load" => Self::Load,
            _ => Self::Idle,
        }
    }
}

/// Which threads of its own queue a core chooses among.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Eligible {
    /// Those that are at most a latency ahead of the first in vruntime.
    Latency,
    All,
}

impl Eligible {
    fn named(word: &str) -> Self {
        if word == "all" { Self::All } else { Self::Latency }
    }
}

/// How long a thread is blamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blame {
    /// Half as much at each labelling, so that it is about the present phase.
    Recent,
    /// For ever: "the cumulative time" (4.1).
    All,
}

impl Blame {
    fn named(word: &str) -> Self {
        if word == "all" { Self::All } else { Self::Recent }
    }
}

/// What time on a big core adds to vruntime. "By dividing it by its speedup value" (4.1) lets threads on big cores have more time still,
/// and "relative equal progress", which that sentence is about, needs the opposite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vruntime {
    /// What was achieved in it.
    Multiplied,
    /// The less, the more was achieved in it.
    Divided,
}

impl Vruntime {
    fn named(word: &str) -> Self {
        if word == "divided" { Self::Divided } else { Self::Multiplied }
    }
}

/// The COLAB scheduler.
#[derive(Debug)]
pub struct Colab {
    /// How often threads are labelled.
    period: Ns,
    takeover: Takeover,
    deal: Deal,
    eligible: Eligible,
    /// Whether CFS balances, too.
    balance: bool,
    blame: Blame,
    /// How far from the mean "high" and "low" begin, in standard deviations.
    deviations: f64,
    vruntime: Vruntime,
    culprit: Culprit,
    services: Services,
    labels: Vec<Labels>,
    /// The selector's priority of each thread, apart from the labels, since a core without a queue compares many: only threads
    /// with the label differ by how much they block.
    urgencies: Vec<f64>,
    round_robin: RoundRobin,
    /// What runs on little cores, for big ones to take over.
    on_little: Running,
}

/// What the labeller knows of a thread: one label for the allocator, one for the selector (3.2).
#[derive(Clone, Copy, Debug, Default)]
struct Labels {
    /// Core sensitivity: high predicted speedup, big cores; low and little waiting for it, little ones; the rest balances the
    /// load.
    group: Group,
    /// For how long others waited for the thread, in ns ([`Blame`]).
    block: f64,
    high_block: bool,
    /// Comes before all others: a service thread while the world is stopped.
    critical: bool,
    /// The thread's blame at the last labelling.
    blame_then: Ns,
}

impl Labels {
    /// The selector's priority.
    fn urgency(&self) -> f64 {
        match self {
            Self { critical: true, .. } => f64::MAX,
            Self { high_block: true, block, .. } => *block,
            _ => 0.0,
        }
    }
}

/// By group of cores: where the search for the next core to deal to begins.
#[derive(Clone, Copy, Debug, Default)]
struct RoundRobin {
    big: u16,
    little: u16,
    either: u16,
}

#[hooks]
impl Policy for Colab {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn period(&self) -> Option<Ns> {
        Some(self.period)
    }

    fn culprit(&self) -> Culprit {
        self.culprit
    }

    /// The hierarchical core allocator (Algorithm 1, `_core_allocator_`).
    fn place(&mut self, s: &State, thread: ThreadId, why: Why) -> CoreId {
        if !matches!(why, Why::New { .. } | Why::Woken { .. }) {
            return fair::place(s, thread, why);
        }
        let (group, turn) = match self.labels(thread).group {
            Group::Big => (s.big, &mut self.round_robin.big),
            Group::Little => (s.little, &mut self.round_robin.little),
            Group::Either => (s.machine.all(), &mut self.round_robin.either),
        };
        // An idle big core would take the thread over from a little one.
        let first = if self.takeover == Takeover::Any { s.big } else { s.machine.all() };
        deal(s, self.deal, first, &group, &s.thread(thread).allowed(), turn)
    }

    /// The biased-global thread selector (Algorithm 1, `_thread_selector_`).
    fn pick(&mut self, s: &State, core: CoreId) -> Pick {
        if let Some(thread) = self.max_block_local(s, core) {
            return Pick::Queued(thread);
        }
        let queued = s.queued_cores();
        let own = if s.big.contains(core) { s.big } else { s.little };
        for domain in s.domains[core.index()].iter().filter(|domain| domain.intersects(&queued)) {
            // Threads "have priority to be selected by the same type of cores" (3.2).
            for cores in [domain.and(own), domain.minus(own)] {
                let waiting = cores.and(queued).iter().flat_map(|other| s.core(other).queue.iter());
                if let Some(thread) = self.max_block(s, core, waiting) {
                    return Pick::Queued(thread);
                }
            }
        }
        let takes = s.big.contains(core) && self.takeover != Takeover::None;
        let most = takes.then(|| self.max_block_running(s, core)).flatten();
        match most.filter(|thread| self.takeover == Takeover::Any || self.urgency(*thread) > 0.0) {
            Some(thread) => Pick::Running(thread),
            None => Pick::Idle,
        }
    }

    fn arrive(&mut self, s: &State, _thread: ThreadId, core: CoreId) {
        self.rank(s, core);
    }

    fn leave(&mut self, s: &State, thread: ThreadId) {
        let core = s.thread(thread).core;
        if self.on_little.on(core) == Some(thread) {
            self.on_little.set(s.cores.len(), core, None);
        }
    }

    fn forget(&mut self, thread: ThreadId) {
        if let Some(labels) = self.labels.get_mut(thread.index()) {
            *labels = Labels::default();
        }
        if let Some(urgency) = self.urgencies.get_mut(thread.index()) {
            *urgency = 0.0;
        }
    }

    /// A host that measures speedups may have a new one.
    fn ran(&mut self, s: &State, thread: ThreadId, core: CoreId, span: &Span) {
        if span.speedup.is_some() && self.on_little.on(core) == Some(thread) {
            self.rank(s, core);
        }
    }

    /// "The slices of threads on big cores are relative shorter than on little cores" (3.2).
    fn slice(&self, s: &State, thread: ThreadId, core: CoreId) -> Ns {
        Ns((fair::slice(s, thread, core).0 as f64 / s.progress_rate(thread, core)) as u64)
    }

    /// A span on a big core is scaled by the speedup (4.1, scale-slice; the knob `vruntime`). Multiplied, it counts for as much as it achieved, for
    /// equal progress: what compares vruntimes, at a tick and at a wake-up, compares progress.
    fn charge(&mut self, s: &State, thread: ThreadId, core: CoreId, ran: Ns) -> Ns {
        self.counted(s, thread, core, ran)
    }

    fn owes(&self, s: &State, running: ThreadId, core: CoreId) -> Ns {
        self.counted(s, running, core, fair::unreported(s, running))
    }

    /// Without the knob `balance` the allocator and the selector replace load balancing: queues are balanced by dealing, idle cores help themselves.
    fn balance(&mut self, s: &State, core: CoreId) -> Pick {
        if self.balance { fair::balance(s, core) } else { Pick::Idle }
    }

    /// A stop of the world is over before labels are given again.
    fn turned(&mut self, s: &State, thread: ThreadId, changes: &mut Changes) {
        let Some(group) = self.services.turned(s, thread) else { return };
        let threads = s.threads.len().max(self.labels.len());
        self.labels.resize(threads, Labels::default());
        self.urgencies.resize(threads, 0.0);
        for service in services(s, s.thread(thread).program) {
            self.label_service(service, group);
            changes.affinity(service, self.services.cores(s, service, group, s.little));
            self.urgencies[service.index()] = self.labels[service.index()].urgency();
        }
        s.little.iter().for_each(|core| self.rank(s, core));
    }

    /// The multi-factor labeller (Figure 3): "periodically labeling ready threads", and running ones, since they may be taken over (3.2).
    /// A thread that slept throughout the period keeps its labels.
    fn refresh(&mut self, s: &State, changes: &mut Changes) {
        self.labels.resize(s.threads.len(), Labels::default());
        for thread in s.living() {
            let labels = &mut self.labels[thread.index()];
            let blame = s.thread(thread).blame;
            let before = match self.blame {
                Blame::All => labels.block,
                // Or what is long gone would never be nothing.
                Blame::Recent if labels.block < 2.0 => 0.0,
                Blame::Recent => labels.block / 2.0,
            };
            labels.block = before + blame.since(labels.blame_then).0 as f64;
            labels.blame_then = blame;
        }
        let took_part = |thread: &ThreadId| {
            let t = s.thread(*thread);
            matches!(t.run, Run::Ready | Run::Running) || t.window.on_type.iter().any(|window| window.time > Ns::ZERO)
        };
        let ready = || s.living().filter(took_part);
        let speedup = Spread::of(self.deviations, ready().map(|thread| s.speedup(thread)));
        let block = Spread::of(self.deviations, ready().map(|thread| self.labels[thread.index()].block));
        for thread in ready() {
            let labels = &mut self.labels[thread.index()];
            labels.high_block = block.high(labels.block);
            let low_block = labels.block == 0.0 || block.low(labels.block);
            labels.group = match s.speedup(thread) {
                value if speedup.high(value) => Group::Big,
                value if speedup.low(value) && low_block => Group::Little,
                _ => Group::Either,
            };
        }
        let apart = self.services.told_apart();
        for thread in s.living().filter(|thread| apart && s.thread(*thread).kind == ThreadKind::Service) {
            let group = self.services.group(s, s.thread(thread).program);
            self.label_service(thread, group);
            changes.affinity(thread, self.services.cores(s, thread, group, s.little));
        }
        self.urgencies.clear();
        self.urgencies.extend(self.labels.iter().map(Labels::urgency));
        s.little.iter().for_each(|core| self.rank(s, core));
    }

    fn standing(&self, _s: &State, thread: ThreadId) -> Standing {
        Standing { group: self.labels(thread).group, urgency: self.urgency(thread), dominance: None }
    }
}

impl Colab {
    fn new(setup: &Setup) -> Self {
        Self {
            period: setup.time("period"),
            takeover: Takeover::named(setup.word("takeover")),
            deal: Deal::named(setup.word("deal")),
            eligible: Eligible::named(setup.word("eligible")),
            balance: setup.switch("balance"),
            blame: Blame::named(setup.word("blame")),
            deviations: setup.number("labels"),
            vruntime: Vruntime::named(setup.word("vruntime")),
            culprit: Culprit::of(setup),
            services: Services::of(setup),
            labels: Vec::new(),
            urgencies: Vec::new(),
            round_robin: RoundRobin::default(),
            on_little: Running::default(),
        }
    }

    /// The labels of a service thread follow from where it belongs: how long the program waited for the last collection says nothing of
    /// the present.
    fn label_service(&mut self, thread: ThreadId, group: Group) {
        let labels = &mut self.labels[thread.index()];
        labels.group = group;
        labels.critical = self.services.critical(group);
        labels.high_block &= !self.services.yield_to_all(group);
    }

    fn labels(&self, thread: ThreadId) -> Labels {
        self.labels.get(thread.index()).copied().unwrap_or_default()
    }

    /// `max_block_(c.rq)`: the most blamed of the threads whose turn it may be.
    fn max_block_local(&self, s: &State, core: CoreId) -> Option<ThreadId> {
        let queue = &s.core(core).queue;
        let first = queue.first()?;
        let bound = queue.first_vruntime()? + fair::latency(s).0 as i64;
        let may = |thread: &ThreadId| self.eligible == Eligible::All || s.thread(*thread).vruntime <= bound;
        let mut best = first;
        for thread in queue.iter().filter(may) {
            // Strictly more blamed: among equals the order of vruntime stands.
            if self.urgency(thread) > self.urgency(best) {
                best = thread;
            }
        }
        Some(best)
    }

    /// The most blamed thread that a core without a queue may fetch. For a big core equals are ordered by what they gain there: "the
    /// speedup factors ... should be considered only in this case" (3.1).
    fn max_block(&self, s: &State, core: CoreId, threads: impl Iterator<Item = ThreadId>) -> Option<ThreadId> {
        let gains = s.big.contains(core);
        let mut best: Option<(f64, f64, ThreadId)> = None;
        for thread in threads {
            let urgency = self.urgency(thread);
            // There may be thousands: what is known of a thread elsewhere is read only if it matters.
            if best.is_some_and(|(most, ..)| urgency < most) {
                continue;
            }
            let gain = if gains { s.speedup(thread) } else { 0.0 };
            let first = best.is_none_or(|best| (urgency, gain) > (best.0, best.1));
            if first && s.thread(thread).may_run_on(core) {
                best = Some((urgency, gain, thread));
            }
        }
        best.map(|(_, _, thread)| thread)
    }

    /// The running thread of a little core that a big core should take over.
    fn max_block_running(&mut self, s: &State, core: CoreId) -> Option<ThreadId> {
        // Beside another thread in the same pipelines it would slow that one down.
        if !s.alone(core) {
            return None;
        }
        while let Some((thread, little)) = self.on_little.first() {
            if s.core(little).current != Some(thread) {
                // The host found it elsewhere.
                self.rank(s, little);
            } else if s.thread(thread).may_run_on(core) {
                return Some(thread);
            } else {
                break;
            }
        }
        let running = s.busy(s.little).filter_map(|little| s.movable_current(little, core));
        self.max_block(s, core, running)
    }

    /// Ranks what runs on a little core as [`Self::max_block`] does for a big one.
    fn rank(&mut self, s: &State, core: CoreId) {
        if s.little.contains(core) {
            let runs = s.core(core).current.map(|thread| (thread, (self.urgency(thread), s.speedup(thread))));
            self.on_little.set(s.cores.len(), core, runs);
        }
    }

    /// The selector's priority.
    fn urgency(&self, thread: ThreadId) -> f64 {
        self.urgencies.get(thread.index()).copied().unwrap_or_default()
    }

    /// What a span on a core counts for.
    fn counted(&self, s: &State, thread: ThreadId, core: CoreId, ran: Ns) -> Ns {
        let (time, rate) = (fair::charge(s, thread, ran).0 as f64, s.progress_rate(thread, core));
        let counted = match self.vruntime {
            Vruntime::Multiplied => time * rate,
            Vruntime::Divided => time / rate,
        };
        Ns(counted as u64)
    }
}

/// `rr_allocator_`: a core of the group. A thread that may run on none of the group is dealt to all that it may run on. Of idle cores in
/// turn those of `first` come first.
fn deal(s: &State, by: Deal, first: CoreSet, group: &CoreSet, allowed: &CoreSet, turn: &mut u16) -> CoreId {
    let from = CoreId(*turn);
    let group = if group.intersects(allowed) { group } else { allowed };
    let next = |among: &CoreSet| match by {
        Deal::Idle | Deal::Turn => CoreSet::first_common([group, allowed, among], from),
        Deal::Load => {
            let cores = group.and(*allowed).and(*among).around(from);
            cores.min_by_key(|core| scaled(s, *core, s.occupancy(*core) as u64 + 1))
        }
    };
    // A big core whose other hardware thread is busy comes after whole little ones.
    let whole = s.whole(s.idle_cores().and(*group).and(*allowed));
    let idle = match by {
        Deal::Turn => None,
        Deal::Idle if whole.intersects(&first) => next(&whole.and(first)),
        Deal::Idle | Deal::Load => next(&whole),
    };
    let chosen = idle.or_else(|| next(&s.machine.all())).unwrap_or(CoreId(0));
    *turn = (chosen.0 + 1) % s.cores.len() as u16;
    chosen
}

/// Mean and margin of a factor over all threads, which decide what is high and what is low.
struct Spread {
    mean: f64,
    margin: f64,
}

impl Spread {
    /// The margin is so many standard deviations wide.
    fn of(deviations: f64, values: impl Iterator<Item = f64> + Clone) -> Self {
        let count = values.clone().count().max(1) as f64;
        let mean = values.clone().sum::<f64>() / count;
        let variance = values.map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
        Self { mean, margin: (deviations * variance.sqrt()).max(LABEL_MARGIN * mean) }
    }

    fn high(&self, value: f64) -> bool {
        value > self.mean + self.margin
    }

    fn low(&self, value: f64) -> bool {
        value < self.mean - self.margin
    }
}
