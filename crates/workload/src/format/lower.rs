//! From the text of a program to its threads, for one value of the thread parameter.

use std::collections::BTreeSet;
use std::ops::Range;

use evenkeel_model::names::printable;
use evenkeel_model::{Behaviour, Ns};
use toml::Spanned;

use super::amount;
use super::error::Fault;
use super::expr::{Letters, evaluate};
use super::names::Names;
use super::ops::{Lowering, Member, spread};
use super::text::{GroupText, Number, PhaseText, ProgramText, Skew, TasksText};
use crate::graph::creator;
use crate::program::{
    Barrier, Class, Op, Phase, Program, Queue, SchedParams, Semaphore, Spread, Start, Tasking, Thread, ThreadKind, Work,
};

/// Threads of a program, at most: a bound on what a file can hold, far above what schedulers are studied with.
pub(crate) const MOST_THREADS: u32 = 4096;

/// A thread group with the threads that it became.
pub(crate) struct Group {
    pub name: String,
    pub first: u32,
    pub count: u32,
}

/// Builds the program for the thread parameter `n`.
pub(crate) fn lower(text: &ProgramText, at: Range<usize>, n: Option<u32>) -> Result<Program, Fault> {
    let letters = Letters::of_program(n);
    let mut program = Program { name: text.name.clone(), memory: text.memory, ..Program::default() };
    program.phases = text.phases.iter().map(|(name, phase)| phase_of(name, phase)).collect::<Result<_, _>>()?;

    let time = |text: &Spanned<String>| amount::time(text.get_ref()).map_err(|why| Fault::new(text.span(), why));
    program.spin = text.spin.as_ref().map(time).transpose()?.unwrap_or_default();
    program.barrier_spin = text.barrier_spin.as_ref().map(time).transpose()?;

    let mut queues = Names::new("queue");
    for (name, capacity) in &text.queues {
        let capacity = count(capacity, letters)?;
        let many = queues.declare(name.get_ref(), letters).map_err(|why| Fault::new(name.span(), why))?;
        let queue = Queue { name: String::new(), capacity, filled: 0, producers: 0 };
        program.queues.extend(std::iter::repeat_n(queue, many));
    }
    for (queue, name) in program.queues.iter_mut().zip(&queues.names) {
        queue.name.clone_from(name);
    }
    let mut semaphores = Names::new("semaphore");
    let mut counts = Vec::new();
    for (name, number) in &text.semaphores {
        let start = count(number, letters)?;
        let many = semaphores.declare(name.get_ref(), letters).map_err(|why| Fault::new(name.span(), why))?;
        counts.extend(std::iter::repeat_n(start, many));
    }
    let mut loops = Names::new("loop");
    let mut iterations = Vec::new();
    for (name, number) in &text.loops {
        let items = count(number, letters)?;
        let many = loops.declare(name.get_ref(), letters).map_err(|why| Fault::new(name.span(), why))?;
        iterations.extend(std::iter::repeat_n(items, many));
    }
    let groups = groups(&text.threads, letters)?;
    if groups.iter().all(|group| group.count == 0) {
        return Err(Fault::new(at, format!("program \"{}\" has no threads: add [[program.threads]]", text.name)));
    }

    let mut lowering = Lowering {
        letters,
        phases: text.phases.keys().map(String::as_str).collect(),
        locks: declare("lock", &text.locks, letters)?,
        barriers: declare("barrier", &text.barriers, letters)?,
        conditions: declare("condition", &text.conditions, letters)?,
        events: declare("event", &text.events, letters)?,
        timers: declare("timer", &text.timers, letters)?,
        regions: declare("region", &text.regions, letters)?,
        queues,
        semaphores,
        loops,
        iterations,
        instances: Default::default(),
        filled: program.queues,
        split: Default::default(),
        sharing: Vec::new(),
        groups: &groups,
        budget: super::ops::MOST_OPS,
        named: 0,
    };
    for (group, text) in groups.iter().zip(&text.threads) {
        threads(&mut lowering, group, text, &mut program.threads)?;
    }

    program.queues = lowering.filled;
    program.splits = lowering.sharing;
    program.locks = lowering.locks.names;
    program.conditions = lowering.conditions.names;
    program.events = lowering.events.names;
    program.timers = lowering.timers.names;
    program.regions = lowering.regions.names;
    let barriers = lowering.barriers.names.into_iter();
    program.barriers = barriers.map(|name| Barrier { name, parties: 0 }).collect();
    let named = lowering.semaphores.names.into_iter().zip(counts);
    program.semaphores = named.map(|(name, count)| Semaphore { name, count }).collect();
    derive(&mut program);
    program.tasking = match &text.tasks {
        Some(tasks) => Some(tasking(tasks.get_ref(), letters)?),
        None => creator(&program).map(|_| Tasking::default()),
    };
    Ok(program)
}

/// How the program's tasks are run.
fn tasking(text: &TasksText, letters: Letters) -> Result<Tasking, Fault> {
    let usual = Tasking::default();
    let small = |number: &Spanned<Number>| {
        let most = MOST_THREADS;
        let value = count(number, letters)?;
        u32::try_from(value)
            .ok()
            .filter(|value| *value <= most)
            .ok_or_else(|| Fault::new(number.span(), format!("expected at most {most}, not {value}")))
    };
    let cost = |text: &Option<Spanned<String>>, usual: Work| match text {
        None => Ok(usual),
        Some(text) => amount::work(text.get_ref()).map_err(|why| Fault::new(text.span(), why)),
    };
    Ok(Tasking {
        ready: text.ready.unwrap_or(usual.ready),
        main: text.main.unwrap_or(usual.main),
        workers: text.workers.as_ref().map(small).transpose()?,
        tied: text.tied,
        window: text.window.as_ref().map_or(Ok(usual.window), small)?,
        create: cost(&text.create, usual.create)?,
        queue: cost(&text.queue, usual.queue)?,
    })
}

/// A whole number that is not negative.
pub(crate) fn count(number: &Spanned<Number>, letters: Letters) -> Result<u64, Fault> {
    let value = evaluate(&number.get_ref().0, letters).map_err(|why| Fault::new(number.span(), why))?;
    u64::try_from(value).map_err(|_| {
        Fault::new(
            number.span(),
            format!("\"{}\" is {value}: expected a number that is not negative", number.get_ref().0),
        )
    })
}

fn phase_of(name: &str, text: &Spanned<PhaseText>) -> Result<Phase, Fault> {
    printable(name).map_err(|why| Fault::new(text.span(), why))?;
    let phase = text.get_ref();
    let rates = [("branches", phase.branches), ("fp", phase.fp), ("stores", phase.stores)];
    let fault = |what: String| Err(Fault::new(text.span(), format!("phase \"{name}\": {what}")));
    if !(phase.ilp > 0.0 && phase.ilp <= 16.0) {
        return fault(format!("expected ilp above 0 and up to 16 instructions per cycle, not {}", phase.ilp));
    }
    if !(phase.memory_ns >= 0.0 && phase.memory_ns <= 1e6) {
        return fault(format!("expected memory_ns from 0 to 1e6 ns per 1000 instructions, not {}", phase.memory_ns));
    }
    if let Some(bytes) = phase.memory_bytes.filter(|bytes| !(0.0..=1e6).contains(bytes)) {
        return fault(format!("expected memory_bytes from 0 to 1e6 bytes per 1000 instructions, not {bytes}"));
    }
    if !(0.0..=1e9).contains(&phase.reuse_kb) {
        return fault(format!("expected reuse_kb from 0 to 1e9 kB, not {}", phase.reuse_kb));
    }
    if !(phase.starved >= 0.0 && phase.starved <= 1e6) {
        return fault(format!("expected starved from 0 to 1e6 cycles per 1000 instructions, not {}", phase.starved));
    }
    if let Some((key, value)) = rates.iter().find(|(_, value)| !(0.0..=1000.0).contains(value)) {
        return fault(format!("expected {key} from 0 to 1000 per 1000 instructions, not {value}"));
    }
    let PhaseText { ilp, memory_ns, memory_bytes, reuse_kb, starved, branches, fp, stores, .. } = *phase;
    let behaviour = Behaviour { ilp, memory_ns, memory_bytes, reuse_kb, starved, branches, fp, stores };
    Ok(Phase { name: name.to_owned(), behaviour })
}

fn declare(kind: &'static str, list: &[Spanned<String>], letters: Letters) -> Result<Names, Fault> {
    let mut names = Names::new(kind);
    for name in list {
        names.declare(name.get_ref(), letters).map_err(|why| Fault::new(name.span(), why))?;
    }
    Ok(names)
}

fn groups(texts: &[Spanned<GroupText>], letters: Letters) -> Result<Vec<Group>, Fault> {
    let mut groups: Vec<Group> = Vec::new();
    let mut first = 0;
    for text in texts {
        let name = &text.get_ref().name;
        printable(name.get_ref()).map_err(|why| Fault::new(name.span(), why))?;
        if groups.iter().any(|other| other.name == *name.get_ref()) {
            return Err(Fault::new(name.span(), format!("thread group \"{}\" is declared twice", name.get_ref())));
        }
        let many = text.get_ref().count.as_ref().map_or(Ok(1), |number| count(number, letters))?;
        let most = MOST_THREADS - first;
        let count = u32::try_from(many).ok().filter(|many| *many <= most).ok_or_else(|| {
            let all = many.saturating_add(first.into());
            Fault::new(text.span(), format!("{all} threads are too many: a program has at most {MOST_THREADS}"))
        })?;
        groups.push(Group { name: name.get_ref().clone(), first, count });
        first += count;
    }
    Ok(groups)
}

/// The threads of a group.
fn threads(
    lowering: &mut Lowering<'_>,
    group: &Group,
    text: &Spanned<GroupText>,
    out: &mut Vec<Thread>,
) -> Result<(), Fault> {
    let at = text.span();
    let text = text.get_ref();
    let weights = weights(text.skew.as_ref(), group.count)?;
    let total: f64 = weights.iter().sum();
    let no_spread = |why: &str| match text.spread {
        None => Ok(()),
        Some(_) => Err(Fault::new(at.clone(), format!("\"spread\" is of a time to start after, {why}"))),
    };
    let start = match &text.start {
        None => no_spread("and there is no \"start\"").map(|()| Start::At(Ns::ZERO))?,
        Some(start) if start.get_ref() == "spawned" => no_spread("not of \"spawned\"").map(|()| Start::Spawned)?,
        Some(start) => {
            let after = amount::time(start.get_ref()).map_err(|why| {
                Fault::new(start.span(), format!("{why}, or \"spawned\" for a thread that another one spawns"))
            })?;
            match spread(text.spread).map_err(|why| Fault::new(start.span(), why))? {
                Spread::None => Start::At(after),
                spread => Start::About(after, spread),
            }
        }
    };
    let sched = sched(text.nice, text.realtime, text.cpus.as_ref()).map_err(|why| Fault::new(at, why))?;
    let mut before = 0.0;
    for (i, weight) in weights.iter().enumerate() {
        let range = (before / total, (before + weight) / total);
        before += weight;
        let member = Member::new(i as u32, group.count, range, sched.clone(), lowering.letters);
        let mut member = member.skewed(text.skew.is_some());
        let mut ops = Vec::new();
        lowering.ops(&mut member, &text.body, &mut ops)?;
        let name = if group.count == 1 { group.name.clone() } else { format!("{}-{i}", group.name) };
        let kind = if text.service { ThreadKind::Service } else { ThreadKind::Application };
        out.push(Thread { name, process: 0, ops, start, kind, sched: sched.clone() });
    }
    Ok(())
}

/// How much of a `share` each thread of a group gets, relative to the others.
fn weights(skew: Option<&Spanned<Skew>>, count: u32) -> Result<Vec<f64>, Fault> {
    let last = f64::from(count.max(2) - 1);
    let weight = |i: u32| match skew.map(|skew| *skew.get_ref()) {
        None => 1.0,
        Some(_) if count == 1 => 1.0,
        Some(Skew::Linear(x)) => 1.0 + x * (1.0 - 2.0 * f64::from(i) / last),
        Some(Skew::Heavy(x)) if i == 0 => x,
        Some(Skew::Heavy(_)) => 1.0,
    };
    if let Some(text) = skew {
        let (ok, expected) = match *text.get_ref() {
            Skew::Linear(x) => ((-1.0..=1.0).contains(&x), "linear from -1 to 1"),
            Skew::Heavy(x) => (x > 0.0 && x <= 1e6, "heavy above 0 and up to 1e6"),
        };
        if !ok {
            return Err(Fault::new(text.span(), format!("skew: expected {expected}")));
        }
    }
    Ok((0..count).map(weight).collect())
}

/// Scheduling parameters as the file gives them.
pub(crate) fn sched(nice: Option<i64>, realtime: Option<i64>, cpus: Option<&Vec<u16>>) -> Result<SchedParams, String> {
    let class = match (nice, realtime) {
        (None, None) => Class::default(),
        (Some(nice @ -20..=19), None) => Class::fair(nice as i8),
        (None, Some(priority @ 1..=99)) => Class::RealTime { priority: priority as u8 },
        (Some(nice), None) => return Err(format!("expected nice from -20 to 19, not {nice}")),
        (None, Some(priority)) => return Err(format!("expected realtime from 1 to 99, not {priority}")),
        (Some(_), Some(_)) => return Err("nice and realtime exclude each other".into()),
    };
    if cpus.is_some_and(Vec::is_empty) {
        return Err("cpus is empty: name a core, or leave it out for all cores".into());
    }
    Ok(SchedParams { class, cpus: cpus.cloned(), ..SchedParams::default() })
}

/// What the operations imply: a barrier's parties are the threads that use it, a queue's producers those that close it.
fn derive(program: &mut Program) {
    for thread in &program.threads {
        let mut met = BTreeSet::new();
        let mut closed = BTreeSet::new();
        crate::validate::walk(&thread.ops, &mut |op| match op {
            Op::Barrier(barrier) => drop(met.insert(*barrier)),
            Op::Close(queue) => drop(closed.insert(*queue)),
            _ => {}
        });
        for barrier in met {
            program.barriers[barrier.index()].parties += 1;
        }
        for queue in closed {
            program.queues[queue.index()].producers += 1;
        }
    }
}
