//! WASH: a managed runtime's scheduler for asymmetric multicores (Jibaja et al., "Portable performance on asymmetric
//! multicore processors", CGO 2016, section 6).
//!
//! Problem: threads differ in what a big core gives them, in which others wait for them, and in how far they got. WASH ranks
//! them once a quantum and binds the top ones to the big cores; everything else is left to the operating system (CFS).
//! This file is Algorithm 1, with what the text says beyond it as knobs. Where both are silent: in mixes all application
//! threads together are `T_A` (COLAB 5.1, "we use it for controlling all application threads"), and contended time is
//! time blocked on futexes. The defaults are those of COLAB's use of WASH, and `gc`, which is no paper's; the paper's own is
//! `wash:quantum=40ms:fallback:rebind:homogeneous:culprit=holders:gc=little`.

use evenkeel_model::predict::Quality;
use evenkeel_model::{CoreSet, CoreTypeId, Ns, ProgramId, ThreadId, ThreadKind};

use super::description::{Description, Knob, Reads, Setup, Value};
use super::hooks::{Changes, Policy};
use super::in_kernel::InKernel;
use super::parts::culprit::{CULPRIT, Culprit};
use super::parts::services::{FIRST_PROGRAM, GC, Services, services};
use crate::state::State;
use crate::thread::Run;
use evenkeel_hooks::hooks;

/// A thread that spent more than this share of its execution time contended is a bottleneck victim (section 6).
const LOCK_THRESHOLD: f64 = 0.5;

/// Sums that differ by less than this share are the same: the rest is rounding.
const ROUNDING: f64 = 1e-9;

/// What can be set.
const KNOBS: &[Knob] = &[
    Knob {
        name: "quantum",
        summary: "how often threads are ranked; 40ms in the paper (7)",
        value: Value::Time(Ns::from_ms(10)),
    },
    Knob { name: "no-locks", summary: "bottlenecks are not preferred (8.5)", value: Value::Switch },
    Knob { name: "no-exec", summary: "productive threads are not preferred, only bottlenecks", value: Value::Switch },
    Knob { name: "no-priority", summary: "service threads are like any other (8.5)", value: Value::Switch },
    Knob {
        name: "predictor",
        summary: "of speedups: the best, one from the next best counters, or one that is always wrong (8.4)",
        value: Value::Word(&["best", "second-best", "inverted"]),
    },
    Knob {
        name: "fallback",
        summary: "a thread stays where it began until it has lived for a quantum, so that short-lived ones stay on big cores; on in the paper (6, 8.3)",
        value: Value::Switch,
    },
    Knob {
        name: "rebind",
        summary: "threads of scalable programs that are too far behind the pace of all go to big cores, one for each; on in the paper (6)",
        value: Value::Switch,
    },
    Knob {
        name: "behind",
        summary: "how far is too far for rebind, in quanta; 6 has no number",
        value: Value::Number { default: 1.0, from: 0.0, to: 1000.0 },
    },
    Knob {
        name: "homogeneous",
        summary: "a program without contended threads is scalable only if its threads do about the same amount and type of work; on in the paper (4)",
        value: Value::Switch,
    },
    Knob {
        name: "same-amount",
        summary: "how far from the mean of what threads achieve while they could run is about the same amount for homogeneous, in per cent of it; 4 has no number",
        value: Value::Number { default: 50.0, from: 0.0, to: 1000.0 },
    },
    Knob {
        name: "same-type",
        summary: "how far from the mean of threads' predicted speedups is about the same type for homogeneous, in per cent of it; 4 has no number",
        value: Value::Number { default: 25.0, from: 0.0, to: 1000.0 },
    },
    Knob {
        name: "classes",
        summary: "which programs are told from non-scalable ones, whose threads are ranked: sequential ones, with no more application threads than big cores, and scalable ones (6)",
        value: Value::Word(&["both", "sequential", "scalable", "none"]),
    },
    Knob {
        name: "fair-share",
        summary: "from which share of all execution on a thread says whether its program is scalable, in per cent, divided by the number of cores (4); 0: every thread does (Algorithm 1, line 11)",
        value: Value::Number { default: 2.0, from: 0.0, to: 100.0 },
    },
    Knob {
        name: "sets",
        summary: "how many of the threads with the highest ranks make up a share: those that come nearest to it, or the fewest that are not below it (6)",
        value: Value::Word(&["nearest", "at-least"]),
    },
    Knob {
        name: "lock-rank",
        summary: "how many of the threads that others wait for longest go to big cores: those that make up the big cores' share of all waiting, or that share of the contended threads (6)",
        value: Value::Word(&["waiting", "threads"]),
    },
    CULPRIT,
    GC,
    FIRST_PROGRAM,
];

/// What `evenkeel policies` shows of it, and how it is made.
pub(super) static DESCRIPTION: Description = Description {
    summary: "ranks threads by progress x predicted speedup and by lock blame, and binds the top ones to big cores",
    source: "Jibaja, Cao, Blackburn, McKinley, \"Portable performance on asymmetric multicore processors\", CGO 2016, section 6, Algorithm 1",
    knobs: KNOBS,
    reads: Reads::Speedups,
    in_kernel: Some(InKernel::new(5)),
    ..Description::of::<Wash>("wash", |setup| Box::new(Wash::new(setup)))
};

/// The WASH scheduler.
#[derive(Debug)]
pub struct Wash {
    /// How often threads are ranked: 10 ms in COLAB (4.1 and 4.2), 40 ms in WASH (section 7).
    quantum: Ns,
    /// Whether the threads that others wait for longest are chosen. If not: "no lock" (8.5).
    locks: bool,
    /// Whether the most productive threads are chosen.
    exec: bool,
    classes: Classes,
    /// A thread says something about its program if it does this share of all that is executed, divided by the number of cores: "1 %
    /// with 2 cores, 0.5 % with 4 cores, and so on" (section 4). Line 11 of Algorithm 1 has every thread.
    fair_share: f64,
    sets: SetSize,
    members: Members,
    predictor: Quality,
    /// Whether a thread stays where it was admitted until it has a whole quantum of history.
    fallback: bool,
    /// How far behind threads of a scalable program are bound to big cores, in ns; `None` if they never are.
    rebind: Option<f64>,
    /// How much alike threads of a scalable program must be; `None` if they need not.
    homogeneous: Option<Alike>,
    lock_rank: LockRank,
    culprit: Culprit,
    /// Where service threads belong.
    services: Services,
    /// The cores that service threads have while their program runs, since the last quantum; none before the first.
    rest: Option<CoreSet>,
    /// By thread.
    histories: Vec<History>,
    ranked: Vec<(f64, ThreadId)>,
    /// The threads for the big cores.
    chosen: Vec<ThreadId>,
}

impl Wash {
    /// The policy as it is set up.
    pub fn new(setup: &Setup) -> Self {
        let quantum = setup.time("quantum");
        let alike = || Alike { amount: setup.number("same-amount") / 100.0, kind: setup.number("same-type") / 100.0 };
        Self {
            quantum,
            locks: !setup.switch("no-locks"),
            exec: !setup.switch("no-exec"),
            classes: Classes::named(setup.word("classes")),
            fair_share: setup.number("fair-share") / 100.0,
            sets: if setup.word("sets") == "at-least" { SetSize::AtLeast } else { SetSize::Nearest },
            members: Members { priority: !setup.switch("no-priority"), first_program: setup.switch("first-program") },
            predictor: match setup.word("predictor") {
                "second-best" => Quality::SecondBest,
                "inverted" => Quality::Inverted,
                _ => Quality::Best,
            },
            fallback: setup.switch("fallback"),
            // Assumed: a quantum, which is what one turn on a big core can bring back.
            rebind: setup.switch("rebind").then(|| setup.number("behind") * quantum.0 as f64),
            homogeneous: setup.switch("homogeneous").then(alike),
            lock_rank: if setup.word("lock-rank") == "threads" { LockRank::Threads } else { LockRank::Waiting },
            culprit: Culprit::of(setup),
            services: Services::of(setup),
            rest: None,
            histories: Vec::new(),
            ranked: Vec::new(),
            chosen: Vec::new(),
        }
    }
}

/// Which classes of programs have a step of their own (section 6). The others' threads are ranked.
#[derive(Clone, Copy, Debug)]
struct Classes {
    /// As many application threads as big cores, or fewer ("Single-Threaded and Low Parallelism").
    sequential: bool,
    scalable: bool,
}

impl Classes {
    fn named(word: &str) -> Self {
        Self { sequential: matches!(word, "both" | "sequential"), scalable: matches!(word, "both" | "scalable") }
    }
}

/// "About the same amount and type of work" (section 4): threads that do a fair share of the work are homogeneous if none is further from
/// their mean than this share of it.
#[derive(Clone, Copy, Debug)]
struct Alike {
    /// In what it achieves while it could run.
    amount: f64,
    /// In its predicted speedup.
    kind: f64,
}

/// How many threads make up a share: "the 1 to N most important threads such that the adjusted retired instructions rate of those N
/// threads is 0.5 of the total" leaves open what is done where no N meets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SetSize {
    /// As near to it as threads can be.
    Nearest,
    /// As few as are not below it.
    AtLeast,
}

/// How LockRank's set is sized. "According to the fraction of cores that are big" can be read in both ways: for a share of the threads
/// speaks line 17 (`LockRank < LRThresh |C_B|`); but line 16 has the same form, and its set is sized by an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LockRank {
    /// By that share of all waiting.
    Waiting,
    /// By that share of the contended threads.
    Threads,
}

/// Which threads belong to `T_A` and which to `T_V`.
#[derive(Clone, Copy, Debug)]
struct Members {
    /// Whether application and service threads are treated differently. If not: "no App/VM" (8.5).
    priority: bool,
    /// Whether other programs than the first are left to the operating system, as a virtual machine leaves what it does
    /// not know of (8.6).
    first_program: bool,
}

/// The log of a thread's execution (section 6, Overview).
#[derive(Clone, Copy, Debug, Default)]
struct History {
    /// How many quanta ended while it lived.
    quanta: u32,
    /// In how many of the last two it was blocked throughout.
    blocked: u8,
    /// Retired instructions as if all had run on big cores.
    progress: f64,
    /// How much of that came in the last quantum.
    rate: f64,
    /// Time executed as if all of it had been on big cores, in ns.
    achieved: f64,
}

#[hooks]
impl Policy for Wash {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn period(&self) -> Option<Ns> {
        Some(self.quantum)
    }

    fn predictor(&self) -> Quality {
        self.predictor
    }

    fn culprit(&self) -> Culprit {
        self.culprit
    }

    /// The fallback for threads without a history: application threads on big cores, service threads on small ones.
    fn admit(&mut self, s: &State, thread: ThreadId) -> CoreSet {
        match s.thread(thread).kind {
            _ if !self.members.priority || !self.members.known(s, thread) => s.machine.all(),
            ThreadKind::Application => s.big,
            ThreadKind::Service => {
                let group = self.services.group(s, s.thread(thread).program);
                self.services.cores(s, thread, group, s.little)
            }
        }
    }

    fn forget(&mut self, thread: ThreadId) {
        if let Some(history) = self.histories.get_mut(thread.index()) {
            *history = History::default();
        }
    }

    /// A stop of the world is over long before a quantum is.
    fn turned(&mut self, s: &State, thread: ThreadId, changes: &mut Changes) {
        if !self.members.priority || !self.members.known(s, thread) {
            return;
        }
        if let Some(group) = self.services.turned(s, thread) {
            let rest = self.rest.unwrap_or(s.little);
            for service in services(s, s.thread(thread).program) {
                changes.affinity(service, self.services.cores(s, service, group, rest));
            }
        }
    }

    /// Algorithm 1 for every thread.
    fn refresh(&mut self, s: &State, changes: &mut Changes) {
        self.observe(s);
        let (all, members) = (s.machine.all(), self.members);
        let applications = || members.applications(s);
        if self.classes.sequential && applications().count() <= s.big.len() {
            let in_use = in_use(s, applications());
            applications().for_each(|thread| changes.affinity(thread, in_use));
            self.bind_services(s, all.minus(in_use), changes);
            return;
        }
        self.bind_services(s, s.little, changes);
        self.chosen.clear();
        self.fallen_behind(s);
        if !self.chosen.is_empty() || !self.is_scalable(s) {
            self.exec_rank(s);
            self.lock_rank(s);
        }
        for thread in applications() {
            if self.fallback && self.histories[thread.index()].quanta < 2 {
                continue;
            }
            let cores = if self.chosen.contains(&thread) { s.big } else { all };
            changes.affinity(thread, cores);
        }
    }
}

impl Members {
    fn known(self, s: &State, thread: ThreadId) -> bool {
        !self.first_program || s.thread(thread).program == ProgramId(0)
    }

    fn applications(self, s: &State) -> impl Iterator<Item = ThreadId> + Clone + '_ {
        let is_application =
            move |thread: &ThreadId| !self.priority || s.thread(*thread).kind == ThreadKind::Application;
        s.living().filter(move |thread| self.known(s, *thread)).filter(is_application)
    }

    fn services(self, s: &State) -> impl Iterator<Item = ThreadId> + Clone + '_ {
        let is_service = move |thread: &ThreadId| self.priority && s.thread(*thread).kind == ThreadKind::Service;
        s.living().filter(move |thread| self.known(s, *thread)).filter(is_service)
    }
}

impl Wash {
    /// Adds the last quantum to every thread's history.
    fn observe(&mut self, s: &State) {
        self.histories.resize(s.threads.len(), History::default());
        for (index, (thread, history)) in s.threads.iter().zip(&mut self.histories).enumerate() {
            let id = ThreadId(index as u32);
            history.quanta = if thread.alive() { history.quanta + 1 } else { 0 };
            history.rate = 0.0;
            for (on, window) in thread.window.on_type.iter().enumerate() {
                let speedup = if on == 0 { 1.0 } else { speedup_from(s, id, on) };
                // Without a counter, time on the core stands in for instructions.
                let retired = window.instructions.map_or(window.time.0, |instructions| instructions.0) as f64;
                history.rate += retired * speedup;
                history.achieved += window.time.0 as f64 / speedup;
            }
            history.progress += history.rate;
            let ran = thread.window.on_type.iter().any(|window| window.time > Ns::ZERO);
            let blocked = !ran && matches!(thread.run, Run::Blocked(_));
            history.blocked = if blocked { (history.blocked + 1).min(2) } else { 0 };
        }
    }

    /// Binds the service threads, with the cores that they have while their program runs.
    fn bind_services(&mut self, s: &State, rest: CoreSet, changes: &mut Changes) {
        self.rest = Some(rest);
        for thread in self.members.services(s) {
            let group = self.services.group(s, s.thread(thread).program);
            changes.affinity(thread, self.services.cores(s, thread, group, rest));
        }
    }

    /// The most productive active threads by their running total, as many as make up the big cores' share of the present
    /// rate of retired instructions, `B_RI / (B_RI + S_RI)`.
    fn exec_rank(&mut self, s: &State) {
        if !self.exec {
            return;
        }
        self.ranked.clear();
        for thread in self.members.applications(s) {
            let history = &self.histories[thread.index()];
            if history.blocked < 2 {
                self.ranked.push((history.progress * s.speedup(thread), thread));
            }
        }
        let speedups: f64 = self.ranked.iter().map(|(_, thread)| s.speedup(*thread)).sum();
        let mean_speedup = speedups / self.ranked.len().max(1) as f64;
        let big = s.big.len() as f64 * mean_speedup;
        let share = big / (big + little(s));
        let rate = |thread: ThreadId| self.histories[thread.index()].rate;
        choose_top(&mut self.ranked, &mut self.chosen, self.sets, share, rate);
    }

    /// The contended threads that others waited for longest, as many as make up the big cores' share, `B / (B + S)` ([`LockRank`]).
    fn lock_rank(&mut self, s: &State) {
        if !self.locks {
            return;
        }
        let blame = |thread: ThreadId| s.thread(thread).blame.0 as f64;
        self.ranked.clear();
        for thread in self.members.applications(s) {
            if lock_share(s, thread) > LOCK_THRESHOLD {
                self.ranked.push((blame(thread), thread));
            }
        }
        let share = s.big.len() as f64 / s.cores.len() as f64;
        match self.lock_rank {
            LockRank::Waiting => choose_top(&mut self.ranked, &mut self.chosen, self.sets, share, blame),
            LockRank::Threads => choose_top(&mut self.ranked, &mut self.chosen, self.sets, share, |_| 1.0),
        }
    }

    /// Whether no thread that does a fair share of the work is contended (section 4, and line 11 of Algorithm 1), and these are alike:
    /// "a low locking ratio is necessary but not sufficient" (section 4).
    fn is_scalable(&self, s: &State) -> bool {
        let executed = |thread: ThreadId| s.thread(thread).executed.0 as f64;
        let all: f64 = self.members.applications(s).map(executed).sum();
        let share = self.fair_share / s.cores.len() as f64;
        let responsible = || self.members.applications(s).filter(|thread| executed(*thread) >= share * all);
        let contended = |thread| lock_share(s, thread) >= LOCK_THRESHOLD;
        let pace = |thread: ThreadId| self.histories[thread.index()].achieved / wanted(s, thread).max(1.0);
        let alike = |limits: Alike| {
            near_mean(responsible().map(pace), limits.amount)
                && near_mean(responsible().map(|thread| s.speedup(thread)), limits.kind)
        };
        self.classes.scalable && !responsible().any(contended) && self.homogeneous.is_none_or(alike)
    }

    /// The threads of a scalable program that are too far behind the pace of all of them, as many as there are big cores. While
    /// there are any, the program is treated as non-scalable (section 6, Scalable multithreaded).
    fn fallen_behind(&mut self, s: &State) {
        let Some(too_far) = self.rebind.filter(|_| self.is_scalable(s)) else { return };
        let achieved = |thread: ThreadId| self.histories[thread.index()].achieved;
        let (all, wanted_by_all) = self.members.applications(s).fold((0.0, 0.0), |(sum, wanted_by_all), thread| {
            (sum + achieved(thread), wanted_by_all + wanted(s, thread))
        });
        self.ranked.clear();
        for thread in self.members.applications(s) {
            let behind = wanted(s, thread) - achieved(thread) * wanted_by_all / all;
            if behind > too_far + ROUNDING * wanted_by_all {
                self.ranked.push((behind, thread));
            }
        }
        sort_by_rank(&mut self.ranked);
        self.chosen.extend(self.ranked.iter().take(s.big.len()).map(|(_, thread)| *thread));
    }
}

/// As many big cores as there are application threads, those first on which they are. "The relative complement" of
/// these is left to the services, and only the small cores if these are all (section 6, Single-Threaded).
fn in_use(s: &State, applications: impl Iterator<Item = ThreadId> + Clone) -> CoreSet {
    let here: CoreSet = applications.clone().map(|thread| s.thread(thread).core).collect();
    let missing = applications.count().saturating_sub(here.and(s.big).len());
    here.and(s.big).or(s.big.minus(here).iter().take(missing).collect())
}

/// The time in which a thread ran or could have run, in ns.
fn wanted(s: &State, thread: ThreadId) -> f64 {
    let t = s.thread(thread);
    let waits = if s.ready(thread) { s.now.since(t.since) } else { Ns::ZERO };
    (t.executed + t.waited + waits).0 as f64
}

/// Whether no value is further from their mean than this share of it.
fn near_mean(mut values: impl Iterator<Item = f64> + Clone, share: f64) -> bool {
    let mean = values.clone().sum::<f64>() / values.clone().count().max(1) as f64;
    values.all(|value| (value - mean).abs() <= (share + ROUNDING) * mean)
}

/// Time contended over time executing.
fn lock_share(s: &State, thread: ThreadId) -> f64 {
    let t = s.thread(thread);
    t.contended.0 as f64 / t.executed.0.max(1) as f64
}

/// The predicted speedup of the biggest core type over type `on`: the prediction is for the smallest, the types between
/// follow by capacity.
fn speedup_from(s: &State, thread: ThreadId, on: usize) -> f64 {
    let smallest = s.machine.core_types.len() - 1;
    if on == smallest {
        return s.speedup(thread);
    }
    1024.0 / f64::from(s.machine.capacity(CoreTypeId(on as u8)))
}

/// What all little cores retire, where one of the smallest type retires 1: the types between follow by capacity.
fn little(s: &State) -> f64 {
    let capacity = |on: CoreTypeId| f64::from(s.machine.capacity(on));
    let smallest = capacity(CoreTypeId(s.machine.core_types.len() as u8 - 1));
    s.little.iter().map(|core| capacity(s.machine.cores[core.index()].core_type) / smallest).sum()
}

/// Chooses of the ranked threads the highest that have a share of some amount between them ([`SetSize`]): "the 1 to N most important
/// threads". Of nothing, none.
fn choose_top(
    ranked: &mut [(f64, ThreadId)],
    chosen: &mut Vec<ThreadId>,
    size: SetSize,
    share: f64,
    amount: impl Fn(ThreadId) -> f64,
) {
    sort_by_rank(ranked);
    let wanted = share * ranked.iter().map(|(_, thread)| amount(*thread)).sum::<f64>();
    if wanted == 0.0 {
        return;
    }
    let mut sum = 0.0;
    for (place, (_, thread)) in ranked.iter().enumerate() {
        let enough = match size {
            SetSize::Nearest => sum + amount(*thread) / 2.0 >= wanted,
            SetSize::AtLeast => sum >= wanted * (1.0 - ROUNDING),
        };
        if place > 0 && enough {
            break;
        }
        sum += amount(*thread);
        chosen.push(*thread);
    }
}

/// Highest first; the older thread first among equals.
fn sort_by_rank(ranked: &mut [(f64, ThreadId)]) {
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
}

#[cfg(test)]
mod tests {
    use evenkeel_model::{CoreId, machines};

    use crate::{NewThread, Scheduler, Setup, Span, Why};

    use super::*;

    /// The host's kernel decides which of its threads run, and it says what they did.
    #[test]
    fn a_thread_that_is_ready_while_its_host_has_it_run_wants_no_more_than_it_had() {
        let machine = machines::by_name("2B2S").unwrap();
        let mut sched = Scheduler::new(machine, Setup::parse("wash").unwrap().make(), None);
        let thread = sched.create(&NewThread::anywhere(&sched.state().machine));
        sched.ready(Ns::ZERO, thread, Why::New { by: None });
        for ms in [10, 20, 30] {
            let span = Span { time: Ns::from_ms(8), waited: Ns::from_ms(2), ..Span::default() };
            sched.ran(Ns::from_ms(ms), thread, CoreId(0), &span);
        }
        assert_eq!(wanted(sched.state(), thread), 30e6);
    }
}
