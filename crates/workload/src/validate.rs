//! Mistakes of a workload that can be found before it runs, whatever it was made from.
//!
//! A lock released by a stranger and a deadlock depend on the order of events; the simulator finds those.

use std::fmt;

use evenkeel_model::{FULL_LOAD, Ns};

use crate::graph::{self, MOST_TASKS};
use crate::lives::lives;
use crate::program::{
    Clamp, Class, MainThread, Op, Program, ReadyQueue, SchedParams, Spread, Start, Task, Tasking, ThreadIndex, Work,
    Workload,
};

/// Something that keeps a workload from running.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problem {
    /// The program.
    pub program: String,
    /// The thread whose operations are meant, if it is one.
    pub thread: Option<String>,
    /// What is wrong, and what to do.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.thread {
            Some(thread) => write!(f, "{}, thread {thread}: {}", self.program, self.what),
            None => write!(f, "{}: {}", self.program, self.what),
        }
    }
}

/// Checks every program of a workload.
///
/// # Errors
/// The first problem found, in the order of programs and threads.
pub fn workload(workload: &Workload) -> Result<(), Problem> {
    if workload.programs.is_empty() {
        let what = "the workload has no programs".to_owned();
        return Err(Problem { program: workload.name.clone(), thread: None, what });
    }
    workload.programs.iter().try_for_each(program)?;
    let idle = |program: &&Program| !program.threads.iter().any(|thread| works(program, &thread.ops));
    match workload.programs.iter().filter(|_| workload.rerun).find(idle) {
        None => Ok(()),
        Some(program) => {
            let what =
                "with `rerun` it begins again for ever, but never takes time: add a compute or a sleep".to_owned();
            Err(Problem { program: program.name.clone(), thread: None, what })
        }
    }
}

/// Checks one program.
///
/// # Errors
/// The first problem found.
pub fn program(program: &Program) -> Result<(), Problem> {
    let here = |what| Problem { program: program.name.clone(), thread: None, what };
    if program.threads.is_empty() {
        return Err(here("has no threads".into()));
    }
    if program.threads.iter().all(|thread| thread.start == Start::Spawned) {
        return Err(here("all threads wait to be spawned: one must start by itself".into()));
    }
    phases(program).map_err(here)?;
    for (index, thread) in program.threads.iter().enumerate() {
        let there = |what| Problem { program: program.name.clone(), thread: Some(thread.name.clone()), what };
        sched(&thread.sched).map_err(there)?;
        let mut first = Ok(());
        walk(&thread.ops, &mut |op| {
            if first.is_ok() {
                first = operation(program, index, op);
            }
        });
        first.map_err(there)?;
        if thread.splits() && thread.names_cores() {
            let what = "shares a loop that is split, whose threads are bound to cores by their speed: leave out `cpus`";
            return Err(there(what.into()));
        }
    }
    for list in &program.lists {
        let there = |what: String| here(format!("{}: {what}", list.name));
        list.items.iter().flatten().try_for_each(|op| in_list(program, op)).map_err(there)?;
    }
    tasks(program)?;
    meeting_points(program).map_err(here)
}

/// Which thread does an item is not known before, so it has nothing that concerns a thread.
fn in_list(program: &Program, op: &Op) -> Result<(), String> {
    match op {
        Op::Compute { .. } | Op::Sleep { .. } | Op::Post(_) | Op::Acquire(_) | Op::Lock(_) | Op::Unlock(_) => {
            operation(program, usize::MAX, op)
        }
        _ => Err("an item does something other than compute, sleep, post, acquire, lock and unlock".into()),
    }
}

/// Calls `visit` for every operation, bodies included, in the order of the text.
pub(crate) fn walk(ops: &[Op], visit: &mut impl FnMut(&Op)) {
    for op in ops {
        visit(op);
        match op {
            Op::Drain { body, .. } | Op::Repeat { body, .. } => walk(body, visit),
            Op::Task(task) => walk(&task.body, visit),
            _ => {}
        }
    }
}

fn phases(program: &Program) -> Result<(), String> {
    for phase in &program.phases {
        let b = &phase.behaviour;
        let rates = [b.branches, b.fp, b.stores];
        if !(b.ilp > 0.0 && b.ilp.is_finite()) {
            return Err(format!("phase {}: ilp is {}, expected a number above 0", phase.name, b.ilp));
        }
        if !(b.memory_ns >= 0.0 && b.memory_ns.is_finite()) {
            return Err(format!("phase {}: memory_ns is {}, expected 0 or more", phase.name, b.memory_ns));
        }
        if !rates.iter().all(|rate| (0.0..=1000.0).contains(rate)) {
            return Err(format!("phase {}: branches, fp and stores are 0 to 1000 per 1000 instructions", phase.name));
        }
    }
    Ok(())
}

fn sched(params: &SchedParams) -> Result<(), String> {
    match params.class {
        Class::Fair { weight: 0 } => return Err("the weight is 0, not 1 or more".into()),
        Class::RealTime { priority } if !(1..=100).contains(&priority) => {
            return Err(format!("the real-time priority is {priority}, not 1 to 100"));
        }
        _ => {}
    }
    if params.cpus.as_ref().is_some_and(Vec::is_empty) {
        return Err("no core is allowed: name one, or none at all to allow every core".into());
    }
    let Clamp { min, max } = params.clamp;
    if min > max || max > FULL_LOAD {
        return Err(format!("the utilisation clamp is {min} to {max}, expected 0 <= min <= max <= {FULL_LOAD}"));
    }
    Ok(())
}

/// One operation by itself.
fn operation(program: &Program, me: usize, op: &Op) -> Result<(), String> {
    let inside = |kind: &str, index: usize, len: usize| {
        if index < len { Ok(()) } else { Err(format!("uses {kind} number {index}, but there are {len}")) }
    };
    match op {
        Op::Compute { phase, spread, .. } => {
            inside("phase", phase.index(), program.phases.len())?;
            share(*spread)
        }
        Op::Split { split, member, phase, .. } => {
            inside("phase", phase.index(), program.phases.len())?;
            inside("split loop", split.index(), program.splits.len())?;
            inside("place in a split loop", *member as usize, program.splits[split.index()] as usize)
        }
        Op::Sleep { spread, .. } => share(*spread),
        Op::Lock(lock) | Op::Unlock(lock) => inside("lock", lock.index(), program.locks.len()),
        Op::Barrier(barrier) => {
            inside("barrier", barrier.index(), program.barriers.len())?;
            let barrier = &program.barriers[barrier.index()];
            if barrier.parties == 0 {
                return Err(format!("barrier {} is for 0 threads: it can never open", barrier.name));
            }
            Ok(())
        }
        Op::Put(queue) => {
            inside("queue", queue.index(), program.queues.len())?;
            let queue = &program.queues[queue.index()];
            if queue.capacity == 0 {
                return Err(format!("puts into queue {}, which has room for 0 items", queue.name));
            }
            Ok(())
        }
        Op::Take(list) => inside("list", list.index(), program.lists.len()),
        Op::Get(queue) | Op::Close(queue) | Op::Drain { queue, .. } => {
            inside("queue", queue.index(), program.queues.len())
        }
        Op::Wait { condition, lock } => {
            inside("condition", condition.index(), program.conditions.len())?;
            inside("lock", lock.index(), program.locks.len())
        }
        Op::Signal(condition) | Op::Broadcast(condition) => {
            inside("condition", condition.index(), program.conditions.len())
        }
        Op::Post(semaphore) | Op::Acquire(semaphore) => {
            inside("semaphore", semaphore.index(), program.semaphores.len())
        }
        Op::Suspend(event) | Op::Resume(event) => inside("event", event.index(), program.events.len()),
        Op::Timer { timer, .. } => inside("timer", timer.index(), program.timers.len()),
        Op::Spawn(thread) => {
            inside("thread", thread.index(), program.threads.len())?;
            let thread = &program.threads[thread.index()];
            if thread.start != Start::Spawned {
                return Err(format!("spawns {}, which starts by itself: give it start = \"spawned\"", thread.name));
            }
            Ok(())
        }
        Op::Join(thread) => {
            inside("thread", thread.index(), program.threads.len())?;
            if thread.index() == me { Err("joins itself: it would wait for ever".into()) } else { Ok(()) }
        }
        Op::Set(params) => sched(params),
        Op::Task(task) => {
            for region in task.reads.iter().chain(&task.writes) {
                inside("region", region.index(), program.regions.len())?;
            }
            body_of(task, &task.body)
        }
        Op::Repeat { times: None, body } if !takes_time(program, body) => {
            Err("repeats for ever something that never takes time: add a compute or a sleep".into())
        }
        Op::Repeat { times: Some(times), body } if *times > 1_000_000 && !takes_time(program, body) => {
            Err(format!("repeats {times} times something that never takes time: add a compute or a sleep"))
        }
        Op::Spin(_) | Op::Yield | Op::Taskwait | Op::Repeat { .. } => Ok(()),
    }
}

/// A task runs on whichever worker takes it and must come to its end there.
fn body_of(task: &Task, body: &[Op]) -> Result<(), String> {
    body.iter().try_for_each(|op| match op {
        Op::Compute { .. } | Op::Spin(_) | Op::Sleep { .. } | Op::Lock(_) | Op::Unlock(_) | Op::Yield => Ok(()),
        Op::Repeat { times: Some(_), body } => body_of(task, body),
        _ => Err(format!("task {} may only compute, spin, sleep, lock, yield and repeat that", task.name)),
    })
}

/// Who creates tasks, and how many.
fn tasks(program: &Program) -> Result<(), Problem> {
    let here = |what: String| Problem { program: program.name.clone(), thread: None, what };
    let mut creators = program.threads.iter().filter(|thread| graph::concerns_tasks(&thread.ops));
    let Some(main) = creators.next() else {
        return match program.tasking {
            Some(_) => Err(here("says how tasks are run, but no thread creates one".into())),
            None => Ok(()),
        };
    };
    let there =
        |what: &str| Err(Problem { program: program.name.clone(), thread: Some(main.name.clone()), what: what.into() });
    if let Some(other) = creators.next() {
        return Err(here(format!("{} and {} both create tasks: only one thread can", main.name, other.name)));
    }
    let Some(tasking) = &program.tasking else {
        return Err(here("has tasks, but nothing says how they are run".into()));
    };
    if main.start == Start::Spawned {
        return there("creates tasks and waits to be spawned: let it start by itself");
    }
    let mut in_drain = false;
    walk(&main.ops, &mut |op| in_drain |= matches!(op, Op::Drain { body, .. } if graph::concerns_tasks(body)));
    if in_drain {
        return there("creates tasks inside a drain or a loop: how many would depend on the run");
    }
    if main.splits() {
        return there(
            "creates tasks and shares a loop that is split, whose threads are bound to cores: use two groups",
        );
    }
    match graph::created(&main.ops) {
        0 => return there("waits for tasks, but creates none"),
        u64::MAX => return there("creates tasks for ever"),
        many if many > MOST_TASKS => {
            return there(&format!("creates {many} tasks, more than {MOST_TASKS}: use fewer and larger ones"));
        }
        _ => {}
    }
    let tied = tasking.tied || tasking.main != MainThread::Default || tasking.ready == ReadyQueue::Heft;
    if tied && main.names_cores() {
        return there("is tied to a core already: leave out its cpus");
    }
    limits(tasking).map_err(here)
}

fn limits(tasking: &Tasking) -> Result<(), String> {
    match tasking {
        Tasking { workers: Some(0), .. } => Err("has 0 workers: who would run its tasks?".into()),
        Tasking { window: 0, .. } => Err("has a window of 0 tasks: the main thread could create none".into()),
        _ => Ok(()),
    }
}

fn share(spread: Spread) -> Result<(), String> {
    match spread {
        Spread::Uniform(share) if !(0.0..=1.0).contains(&share) => {
            Err(format!("a uniform spread of {share}: expected a share of the mean from 0 to 1"))
        }
        _ => Ok(()),
    }
}

/// Whether a body can let time pass, by work or by waiting. A loop of none of these would never come to an end.
fn takes_time(program: &Program, body: &[Op]) -> bool {
    body.iter().any(|op| match op {
        Op::Compute { work: Work::Instructions(amount), .. } => *amount > 0,
        // Of less, some threads have no part.
        Op::Split { split, work: Work::Instructions(amount) | Work::Time(Ns(amount)), .. } => {
            program.splits.get(split.index()).is_some_and(|threads| *amount >= u64::from(*threads))
        }
        Op::Compute { work: Work::Time(span), .. } | Op::Spin(span) | Op::Sleep { span, .. } => span.0 > 0,
        Op::Timer { period, .. } => period.0 > 0,
        Op::Barrier(barrier) => program.barriers.get(barrier.index()).is_some_and(|barrier| barrier.parties > 1),
        Op::Put(_) | Op::Get(_) | Op::Wait { .. } | Op::Acquire(_) | Op::Suspend(_) | Op::Task(_) => true,
        // Of a thread that is not started again it passes at once.
        Op::Join(thread) => body.contains(&Op::Spawn(*thread)),
        Op::Repeat { times, body } => *times != Some(0) && takes_time(program, body),
        Op::Take(list) => {
            program.lists.get(list.index()).is_some_and(|list| list.items.iter().any(|item| takes_time(program, item)))
        }
        _ => false,
    })
}

/// Whether a body takes time, what is done for each iteration of a loop that is shared out included.
fn works(program: &Program, body: &[Op]) -> bool {
    takes_time(program, body)
        || body.iter().any(|op| match op {
            Op::Drain { queue, body } => {
                program.queues.get(queue.index()).is_some_and(|queue| queue.filled > 0) && works(program, body)
            }
            Op::Repeat { times, body } => *times != Some(0) && works(program, body),
            _ => false,
        })
}

/// What the threads of a program expect of each other.
#[derive(Clone, Default)]
struct Use {
    /// Threads that meet here, or that close a queue.
    threads: u32,
    puts: bool,
    takes: bool,
}

fn meeting_points(program: &Program) -> Result<(), String> {
    let mut barriers = vec![Use::default(); program.barriers.len()];
    let mut queues = vec![Use::default(); program.queues.len()];
    let mut spawned = vec![false; program.threads.len()];
    for thread in &program.threads {
        let mut meets = vec![false; barriers.len()];
        walk(&thread.ops, &mut |op| match op {
            Op::Barrier(barrier) => meets[barrier.index()] = true,
            Op::Put(queue) => queues[queue.index()].puts = true,
            Op::Get(queue) | Op::Drain { queue, .. } => queues[queue.index()].takes = true,
            // Every close counts: one thread may stand for several producers.
            Op::Close(queue) => queues[queue.index()].threads = queues[queue.index()].threads.saturating_add(1),
            Op::Spawn(thread) => spawned[thread.index()] = true,
            _ => {}
        });
        for (barrier, _) in barriers.iter_mut().zip(&meets).filter(|(_, meets)| **meets) {
            barrier.threads += 1;
        }
    }
    for (barrier, used) in program.barriers.iter().zip(&barriers) {
        if used.threads > 0 && used.threads < barrier.parties {
            let (name, parties, threads) = (&barrier.name, barrier.parties, used.threads);
            return Err(format!("barrier {name} waits for {parties} threads, but only {threads} ever come"));
        }
    }
    for (queue, used) in program.queues.iter().zip(&queues) {
        let name = &queue.name;
        if queue.filled > queue.capacity {
            let (filled, capacity) = (queue.filled, queue.capacity);
            return Err(format!("queue {name} starts with {filled} items, but has room for {capacity}"));
        }
        if used.takes && queue.filled == 0 && !used.puts {
            return Err(format!("queue {name} is drained, but no thread puts an item into it"));
        }
        if used.takes && used.puts && queue.producers == 0 {
            return Err(format!("queue {name} has no producers: the last thread that puts into it must close it"));
        }
        if used.takes && used.threads < queue.producers {
            let (producers, closes) = (queue.producers, used.threads);
            return Err(format!("queue {name} is finished after {producers} closes, but there are only {closes}"));
        }
    }
    let forgotten =
        program.threads.iter().zip(&spawned).find(|(thread, spawned)| thread.start == Start::Spawned && !**spawned);
    match forgotten {
        Some((thread, _)) => Err(format!("thread {} waits to be spawned, but no thread spawns it", thread.name)),
        None => later_lives(program),
    }
}

/// A thread leaves a loop that is shared out when the last iteration is taken, so that its next life finds none.
fn later_lives(program: &Program) -> Result<(), String> {
    let counts = lives(program);
    let more = |thread: usize| counts.get(&ThreadIndex(thread as u32)).is_some_and(|count| *count > 1);
    let mut again: Vec<bool> = (0..program.threads.len()).map(more).collect();
    let mut spawners: Vec<usize> = (0..again.len()).filter(|thread| again[*thread]).collect();
    while let Some(spawner) = spawners.pop() {
        walk(&program.threads[spawner].ops, &mut |op| {
            if let Op::Spawn(thread) = op
                && !std::mem::replace(&mut again[thread.index()], true)
            {
                spawners.push(thread.index());
            }
        });
    }
    for (thread, _) in program.threads.iter().zip(&again).filter(|(_, again)| **again) {
        let mut shared = None;
        walk(&thread.ops, &mut |op| {
            if let Op::Drain { queue, .. } = op {
                let queue = &program.queues[queue.index()];
                shared = shared.or((queue.filled > 0 && queue.producers == 0).then_some(&queue.name));
            }
        });
        if let Some(name) = shared {
            // Each execution of a loop has a queue of its own: `rows#0`.
            let (thread, name) = (&thread.name, name.rsplit_once('#').map_or(name.as_str(), |(name, _)| name));
            return Err(format!(
                "thread {thread} starts again, but loop {name} has no iterations left by then: \
                 let it stay and repeat the loop"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use evenkeel_model::Behaviour;

    use super::*;
    use crate::program::{
        Barrier, BarrierId, List, ListId, LockId, Phase, PhaseId, Queue, QueueId, SplitId, Thread, ThreadKind,
    };

    fn with(ops: Vec<Op>) -> Program {
        let thread = Thread {
            name: "t".into(),
            process: 0,
            ops,
            start: Start::At(evenkeel_model::Ns::ZERO),
            kind: ThreadKind::Application,
            sched: SchedParams::default(),
        };
        Program { name: "p".into(), threads: vec![thread], ..Program::default() }
    }

    fn complaint(of: &Program) -> String {
        program(of).unwrap_err().to_string()
    }

    #[test]
    fn an_index_out_of_range_is_found_inside_bodies() {
        let inner = Op::Repeat { times: Some(2), body: vec![Op::Lock(LockId(3))] };
        assert_eq!(complaint(&with(vec![inner])), "p, thread t: uses lock number 3, but there are 0");
    }

    #[test]
    fn a_barrier_needs_its_threads() {
        let mut p = with(vec![Op::Barrier(BarrierId(0))]);
        p.barriers = vec![Barrier { name: "b".into(), parties: 2 }];
        assert!(complaint(&p).contains("only 1 ever come"));
        p.barriers[0].parties = 0;
        assert!(complaint(&p).contains("0 threads"));
        p.barriers[0].parties = 1;
        assert_eq!(program(&p), Ok(()));
    }

    #[test]
    fn a_drain_needs_items_and_a_close() {
        let drain = Op::Drain { queue: QueueId(0), body: Vec::new() };
        let mut p = with(vec![drain.clone()]);
        p.queues = vec![Queue { name: "q".into(), capacity: 1, filled: 0, producers: 0 }];
        assert!(complaint(&p).contains("no thread puts"));
        p.queues[0].filled = 2;
        assert!(complaint(&p).contains("room for 1"));
        p.queues[0].capacity = 2;
        assert_eq!(program(&p), Ok(()));
        p.threads[0].ops = vec![Op::Put(QueueId(0)), drain];
        assert!(complaint(&p).contains("must close"));
        p.queues[0].producers = 1;
        assert!(complaint(&p).contains("only 0"));
    }

    #[test]
    fn no_thread_waits_for_itself_or_for_one_that_never_starts() {
        assert!(complaint(&with(vec![Op::Join(ThreadIndex(0))])).contains("joins itself"));
        let mut p = with(vec![]);
        p.threads.push(Thread { name: "late".into(), start: Start::Spawned, ..p.threads[0].clone() });
        assert!(complaint(&p).contains("no thread spawns it"));
        p.threads.remove(0);
        assert!(complaint(&p).contains("all threads wait"));
    }

    #[test]
    fn a_loop_must_let_time_pass() {
        let mut p = with(vec![Op::Repeat { times: None, body: vec![Op::Lock(LockId(0)), Op::Unlock(LockId(0))] }]);
        p.locks.push("l".into());
        assert!(complaint(&p).contains("never takes time"));
        p.threads[0].ops = vec![Op::Repeat { times: None, body: vec![Op::Spin(evenkeel_model::Ns(1))] }];
        assert_eq!(program(&p), Ok(()));
        let child = vec![Op::Spin(evenkeel_model::Ns(1))];
        p.threads.push(Thread { ops: child, start: Start::Spawned, ..p.threads[0].clone() });
        let rounds = vec![Op::Spawn(ThreadIndex(1)), Op::Join(ThreadIndex(1))];
        p.threads[0].ops = vec![Op::Repeat { times: None, body: rounds }];
        assert_eq!(program(&p), Ok(()));
        let joins = vec![Op::Spawn(ThreadIndex(1)), Op::Repeat { times: None, body: vec![Op::Join(ThreadIndex(1))] }];
        p.threads[0].ops = joins;
        assert!(complaint(&p).contains("never takes time"), "{}", complaint(&p));
    }

    #[test]
    fn a_thread_without_a_part_of_a_split_loop_lets_no_time_pass() {
        let rounds = |work| {
            let part = Op::Split { split: SplitId(0), member: 0, phase: PhaseId(0), work };
            let mut p = with(vec![Op::Repeat { times: None, body: vec![part] }]);
            p.phases.push(Phase { name: "x".into(), behaviour: Behaviour::REFERENCE });
            p.splits.push(3);
            p
        };
        let time = |ns| Work::Time(Ns(ns));
        for [less, enough] in [[2, 3].map(Work::Instructions), [2, 3].map(time)] {
            assert!(complaint(&rounds(less)).contains("never takes time"));
            assert_eq!(program(&rounds(enough)), Ok(()));
        }
    }

    #[test]
    fn an_item_of_a_list_has_nothing_that_concerns_a_thread() {
        let mut p = with(vec![Op::Take(ListId(0))]);
        p.lists = vec![List { name: "list 4".into(), items: vec![vec![Op::Yield]] }];
        assert!(complaint(&p).starts_with("p: list 4: an item does something other than"), "{}", complaint(&p));
        p.lists[0].items[0] = vec![Op::Lock(LockId(0)), Op::Unlock(LockId(0))];
        assert_eq!(complaint(&p), "p: list 4: uses lock number 0, but there are 0");
        p.locks.push("l".into());
        assert_eq!(program(&p), Ok(()));
    }

    #[test]
    fn what_begins_again_must_let_time_pass() {
        let again = |ops| Workload { programs: vec![with(ops)], rerun: true, ..Workload::default() };
        let problem = workload(&again(vec![])).unwrap_err().to_string();
        assert!(problem.contains("never takes time"), "{problem}");
        assert_eq!(workload(&again(vec![Op::Spin(evenkeel_model::Ns(1))])), Ok(()));
        // The iterations of a loop that is shared out are there again in each round.
        let rows = |filled: u64| {
            let body = vec![Op::Spin(evenkeel_model::Ns(1))];
            let mut again = again(vec![Op::Drain { queue: QueueId(0), body }]);
            again.programs[0].queues = vec![Queue { name: "rows".into(), capacity: 5, filled, producers: 0 }];
            again
        };
        assert_eq!(workload(&rows(5)), Ok(()));
        assert!(workload(&rows(0)).is_err());
    }

    #[test]
    fn a_workload_needs_a_program() {
        let empty = Workload { name: "w".into(), programs: Vec::new(), ..Workload::default() };
        assert_eq!(workload(&empty).unwrap_err().to_string(), "w: the workload has no programs");
        assert_eq!(complaint(&Program { name: "p".into(), ..Program::default() }), "p: has no threads");
    }
}
