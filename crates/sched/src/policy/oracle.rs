//! The oracle: list scheduling with full knowledge, to see how much room there is above a policy. No contestant.
//!
//! It reads what cannot be known: the true speedup of every thread, and its *level*, the longest path from where it is to
//! the end ([`crate::Future`]). A level algorithm (Horvath, Lam and Sethi, JACM 24(1), 1977) runs the threads with the
//! highest levels, on the fastest cores, and lets those with equal levels take turns there. It is optimal for independent
//! threads on cores that differ by a factor, and otherwise a heuristic like every list scheduling (Graham, 1969).
//!
//! How it is approximated: levels are compared at wake-ups and ticks. A level counts on a core by what the core does for
//! the thread, so that those that gain most get the big cores. Equal threads need be equal only when they wait: hence the
//! margin of a quarter of what is left until then. Smith's rule multiplies what is left by what there was, because each
//! program counts relative to its length. What is decided, and how good a bound it is: `docs/policies/oracle.md`.

use std::cmp::Ordering;

use evenkeel_model::{CoreId, CoreTypeId, Ns, ThreadId};

use super::description::{Description, Knob, Value};
use super::hooks::Policy;
use super::parts::fair;
use crate::action::{Pick, Why};
use crate::state::State;
use evenkeel_hooks::hooks;

/// No program counts as having less left than this, in ns: the last moments need no order.
const LEAST: f64 = 1e5;

/// A thread whose future is unknown is taken to be so far from the end, as a share of the longest path of its program.
const UNKNOWN: f64 = 0.5;

/// What `evenkeel policies` shows of it, and how it is made.
pub(super) static DESCRIPTION: Description = Description {
    summary: "knows the future: the longest way to the end goes first, on the fastest core; to compare with, no contestant",
    source: "Graham, \"Bounds on multiprocessing timing anomalies\", SIAM Journal on Applied Mathematics 17(2), 1969; Horvath, Lam and Sethi, \"A level algorithm for preemptive scheduling\", JACM 24(1), 1977",
    knobs: &[Knob {
        name: "goal",
        summary: "what is to be small: the mean slowdown of programs, or the time until the last is done",
        value: Value::Word(&["turnaround", "makespan"]),
    }],
    foresight: true,
    ..Description::of::<Oracle>("oracle", |setup| Box::new(Oracle::new(setup.word("goal"))))
};

/// A heuristic with full knowledge.
#[derive(Debug)]
pub struct Oracle {
    goal: Goal,
    programs: Vec<Program>,
}

/// What is to be small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    /// The mean slowdown of the programs.
    Turnaround,
    /// The time until the last is done.
    Makespan,
}

/// The longest path of a program: when it was introduced, and now.
#[derive(Clone, Copy, Debug)]
struct Program {
    alone: f64,
    left: f64,
    /// What is added to the levels of its threads, and how much they count then.
    common: f64,
    weight: f64,
}

#[hooks]
impl Policy for Oracle {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    /// Idle cores balance once a tick at 250 Hz: what was not worth a move may have become so.
    fn period(&self) -> Option<Ns> {
        Some(Ns::from_ms(4))
    }

    /// The fastest idle core, or a faster one whose thread should let it go first.
    fn place(&mut self, s: &State, thread: ThreadId, why: Why) -> CoreId {
        if let Why::Taken { by } = why {
            return by;
        }
        self.weigh(s, Some(thread));
        let view = self.view(s);
        let previous = s.thread(thread).core;
        let allowed = s.thread(thread).allowed();
        let idle = fastest_idle(s, thread);
        let faster = allowed.iter().filter(|core| idle.is_none_or(|idle| faster(s, *core, idle)));
        // One at a time: a thread that waits there already comes first.
        let free = faster.filter(|core| s.core(*core).queue.is_empty());
        let yielding = free.filter(|core| view.gives_way(*core, thread, idle));
        let end = |core: CoreId| s.core(core).current.map_or(0.0, |running| view.end(running, core));
        let first = yielding.min_by(|a, b| {
            let types = core_type(s, *a).cmp(&core_type(s, *b));
            types.then(end(*a).total_cmp(&end(*b))).then((*a != previous).cmp(&(*b != previous)))
        });
        first
            .or(idle)
            .unwrap_or_else(|| if allowed.contains(previous) { previous } else { fair::place(s, thread, why) })
    }

    /// The most urgent thread of all that wait, or that a slower core runs and that gains by the move.
    fn pick(&mut self, s: &State, core: CoreId) -> Pick {
        self.weigh(s, None);
        let view = self.view(s);
        let waits = waiting(s, core).max_by(|a, b| view.order(*a, *b, core));
        let runs = slower(s, core).map(|(thread, _)| thread).filter(|thread| view.pays(*thread, core));
        let runs = runs.max_by(|a, b| view.order(*a, *b, core));
        match (waits, runs) {
            (Some(waits), Some(runs)) if view.comes_first(runs, waits, core) => Pick::Running(runs),
            (Some(waits), _) => Pick::Queued(waits),
            (None, Some(runs)) => Pick::Running(runs),
            (None, None) => Pick::Idle,
        }
    }

    fn preempts(&self, s: &State, woken: ThreadId, _running: ThreadId, core: CoreId) -> bool {
        self.view(s).gives_way(core, woken, fastest_idle(s, woken))
    }

    fn expired(&self, s: &State, running: ThreadId, core: CoreId) -> bool {
        waiting(s, core).any(|thread| self.view(s).comes_first(thread, running, core))
    }

    fn balances_always(&self) -> bool {
        true
    }

    /// An exchange with one that waits for another core, or with a thread of a slower core.
    fn balance(&mut self, s: &State, core: CoreId) -> Pick {
        let Some(here) = s.core(core).current else { return self.pick(s, core) };
        let view = self.view(s);
        let elsewhere = waiting(s, core).filter(|thread| s.thread(*thread).core != core);
        let waits = elsewhere.filter(|thread| view.comes_first(*thread, here, core));
        let runs = slower(s, core).filter(|(thread, other)| {
            let may_go = s.thread(here).allowed().contains(*other);
            may_go && view.pays(*thread, core) && view.exchange([here, *thread], [core, *other])
        });
        let runs = runs.map(|(thread, _)| thread);
        let first = waits.max_by(|a, b| view.order(*a, *b, core));
        let first = first.or_else(|| runs.max_by(|a, b| view.order(*a, *b, core)));
        first.map_or(Pick::Idle, |there| Pick::Exchange { here, there })
    }
}

impl Oracle {
    /// With a goal, `turnaround` or `makespan`.
    pub fn new(goal: &str) -> Self {
        Self { goal: if goal == "makespan" { Goal::Makespan } else { Goal::Turnaround }, programs: Vec::new() }
    }

    fn view<'a>(&'a self, s: &'a State) -> View<'a> {
        View { s, programs: &self.programs }
    }

    /// Weighs the threads of each program by how far it is. `joins` is about to be runnable.
    fn weigh(&mut self, s: &State, joins: Option<ThreadId>) {
        let programs = s.threads.iter().map(|t| t.program.index() + 1).max().unwrap_or(0);
        self.programs.resize(programs, Program { alone: LEAST, left: LEAST, common: 0.0, weight: 1.0 });
        for (index, program) in self.programs.iter_mut().enumerate() {
            let threads = s.living().filter(|thread| s.thread(*thread).runnable() || joins == Some(*thread));
            let own = threads.map(|thread| s.thread(thread)).filter(|t| t.program.index() == index);
            let left = own.filter_map(|t| t.future?.level).max();
            program.left = left.map_or(program.left, |left| (left.0 as f64).max(LEAST));
            program.alone = program.alone.max(program.left);
        }
        if self.goal == Goal::Makespan || programs == 1 {
            return;
        }
        // In units of time: the geometric mean of what Smith's rule multiplies.
        let order = |program: &Program| (program.left * program.alone).sqrt();
        let most = |of: &dyn Fn(&Program) -> f64| self.programs.iter().map(of).fold(1.0, f64::max);
        let (left, last) = (most(&|program| program.left), most(&order));
        for program in &mut self.programs {
            program.common = program.left;
            program.weight = left / program.left * (last / order(program));
        }
    }
}

/// Threads on cores, by their futures.
struct View<'a> {
    s: &'a State,
    programs: &'a [Program],
}

impl View<'_> {
    fn level(&self, thread: ThreadId) -> f64 {
        let t = self.s.thread(thread);
        let Some(program) = self.programs.get(t.program.index()) else { return 0.0 };
        let Some(future) = t.future else { return 0.0 };
        let own = future.level.map_or(UNKNOWN * program.left, |level| level.0 as f64);
        (program.common + own) * program.weight
    }

    fn stretch(&self, thread: ThreadId) -> Ns {
        self.s.thread(thread).future.map_or(Ns::ZERO, |future| future.stretch)
    }

    /// How many times as long a thread takes on a core as on the biggest type.
    fn slowdown(&self, thread: ThreadId, core: CoreId) -> f64 {
        (self.s.speedup(thread) / self.s.progress_rate(thread, core)).max(1.0)
    }

    /// When a thread would be done if all that is ahead of it went on as on this core.
    fn end(&self, thread: ThreadId, core: CoreId) -> f64 {
        self.level(thread) * self.slowdown(thread, core)
    }

    /// How much a core should run a thread: its level, times what the core does for it.
    fn urgency(&self, thread: ThreadId, core: CoreId) -> f64 {
        self.level(thread) * self.s.progress_rate(thread, core)
    }

    /// The more urgent thread is the greater one; among equals that which has had less.
    fn order(&self, a: ThreadId, b: ThreadId, core: CoreId) -> Ordering {
        let vruntime = |thread| self.s.thread(thread).vruntime;
        self.urgency(a, core).total_cmp(&self.urgency(b, core)).then(vruntime(b).cmp(&vruntime(a)))
    }

    /// By how much a schedule must be better to be worth a change: a tick, or a quarter of what is left until one of both
    /// waits.
    fn margin(&self, a: ThreadId, b: ThreadId) -> f64 {
        self.s.machine.costs.tick.max(Ns(self.stretch(a).min(self.stretch(b)).0 / 4)).0 as f64
    }

    /// Whether what a thread gains on a core until it waits is more than what the move costs.
    fn pays(&self, thread: ThreadId, core: CoreId) -> bool {
        let from = self.s.thread(thread).core;
        let gain = self.stretch(thread).0 as f64 * (self.slowdown(thread, from) - self.slowdown(thread, core));
        let costs = &self.s.machine.costs;
        gain > (costs.take + costs.migrate_across_clusters + costs.context_switch).0 as f64
    }

    /// Whether the first of two threads should have a core before the second one.
    fn comes_first(&self, first: ThreadId, second: ThreadId, core: CoreId) -> bool {
        self.urgency(first, core) > self.urgency(second, core) + self.margin(first, second)
    }

    /// Whether two threads should change places, the second one to the first core, which is the faster one: the later end
    /// of both comes sooner, or it stays and the other one's does.
    fn exchange(&self, threads: [ThreadId; 2], cores: [CoreId; 2]) -> bool {
        let ends = |first: usize| [self.end(threads[first], cores[0]), self.end(threads[1 - first], cores[1])];
        let later = |ends: [f64; 2]| ends[0].max(ends[1]);
        let sum = |ends: [f64; 2]| ends[0] + ends[1];
        let margin = self.margin(threads[0], threads[1]);
        let (now, then) = (ends(0), ends(1));
        later(then) + margin < later(now) || later(then) <= later(now) && sum(then) + margin < sum(now)
    }

    /// Whether the thread that runs on a core, if any, should leave it to one that is ready and could have an idle core.
    fn gives_way(&self, core: CoreId, ready: ThreadId, idle: Option<CoreId>) -> bool {
        let Some(running) = self.s.core(core).current else { return true };
        match idle.filter(|idle| self.s.thread(running).allowed().contains(*idle)) {
            Some(idle) => faster(self.s, core, idle) && self.exchange([running, ready], [core, idle]),
            None => self.comes_first(ready, running, core),
        }
    }
}

fn core_type(s: &State, core: CoreId) -> CoreTypeId {
    s.machine.cores[core.index()].core_type
}

fn faster(s: &State, core: CoreId, than: CoreId) -> bool {
    core_type(s, core) < core_type(s, than)
}

/// The threads that wait, for whichever core, and may have this one.
fn waiting(s: &State, core: CoreId) -> impl Iterator<Item = ThreadId> + '_ {
    let all = s.machine.all().iter().flat_map(|other| s.core(other).queue.iter());
    all.filter(move |thread| s.thread(*thread).allowed().contains(core))
}

/// The threads that run on slower cores and may have this one, with their cores.
fn slower(s: &State, core: CoreId) -> impl Iterator<Item = (ThreadId, CoreId)> + '_ {
    let slower = s.machine.all().iter().filter(move |other| faster(s, core, *other));
    slower.filter_map(move |other| Some((s.movable_current(other, core)?, other)))
}

fn fastest_idle(s: &State, thread: ThreadId) -> Option<CoreId> {
    let previous = s.thread(thread).core;
    let idle = s.thread(thread).allowed().iter().filter(|core| s.idle(*core));
    idle.min_by_key(|core| (core_type(s, *core), *core != previous))
}
