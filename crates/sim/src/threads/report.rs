//! The end of a run: its outcome, or the error that explains why there is none.

use std::fmt::Write;

use evenkeel_model::{CoreId, Ns, ProgramId, ThreadId};
use evenkeel_workload::program::Start;

use crate::threads::engine::Engine;
use crate::threads::error::Error;
use crate::threads::outcome::{CoreOutcome, Ended, Outcome, ProgramOutcome, QueueOutcome, ThreadOutcome};
use crate::threads::step::ENDLESS;
use crate::threads::thread::{On, RunState, Thread};

/// How many threads an error lists.
const LISTED: usize = 8;

fn name(engine: &Engine<'_>, thread: ThreadId) -> String {
    let code = &engine.code.threads[thread.index()];
    format!("{}/{}", engine.workload.programs[code.program].name, code.name)
}

/// What a blocked thread waits for, in words.
pub(crate) fn waits_for(engine: &Engine<'_>, on: On) -> String {
    match on {
        On::Sleep => "sleep".into(),
        On::Lock(lock) => format!("lock {:?}", engine.code.locks[lock as usize]),
        On::Barrier(barrier) => {
            let (name, parties) = &engine.code.barriers[barrier as usize];
            let there = engine.objects.barriers[barrier as usize].waiters.len();
            format!("barrier {name:?} ({there} of {parties} there)")
        }
        On::Put(queue) => format!("room in queue {:?}", engine.code.queues[queue as usize].name),
        On::Get(queue) => format!("an item in queue {:?}", engine.code.queues[queue as usize].name),
        On::Condition(condition) => format!("condition {:?}", engine.code.conditions[condition as usize]),
        On::Semaphore(semaphore) => format!("semaphore {:?}", engine.code.semaphores[semaphore as usize].0),
        On::Event(event) => format!("resume of {:?}", engine.code.events[event as usize]),
        On::Join(thread) => format!("the exit of {}", name(engine, thread)),
        On::Task => "a task".into(),
    }
}

/// Whom a blocked thread waits for, where that is one thread.
fn waits_on(engine: &Engine<'_>, thread: ThreadId) -> Option<ThreadId> {
    match engine.threads[thread.index()].state {
        RunState::Blocked(On::Lock(lock)) => engine.objects.locks[lock as usize].holder,
        RunState::Blocked(On::Join(other)) => Some(other),
        _ => None,
    }
}

fn blocked(engine: &Engine<'_>) -> Vec<(ThreadId, On)> {
    let ids = (0..engine.threads.len() as u32).map(ThreadId);
    let waiting = ids.filter_map(|id| match engine.threads[id.index()].state {
        RunState::Blocked(on) => Some((id, on)),
        _ => None,
    });
    waiting.collect()
}

/// Nothing can happen any more. Names the cycle if there is one, else who waits for what.
pub(crate) fn deadlock(engine: &Engine<'_>) -> Error {
    let ids = (0..engine.threads.len() as u32).map(ThreadId);
    let ready = ids.filter(|id| engine.threads[id.index()].state == RunState::Ready);
    let ready: Vec<String> = ready.map(|id| name(engine, id)).collect();
    if !ready.is_empty() {
        let count = ready.len();
        return Error::Starved { at: engine.now, threads: listed(ready.into_iter(), count) };
    }
    let waiting = blocked(engine);
    let cycle = waiting.iter().find_map(|(start, _)| {
        let mut path = vec![*start];
        while let Some(next) = waits_on(engine, path[path.len() - 1]) {
            if next == *start {
                return Some(path);
            }
            if path.contains(&next) {
                return None;
            }
            path.push(next);
        }
        None
    });
    let describe = |id: ThreadId| {
        let RunState::Blocked(on) = engine.threads[id.index()].state else { return name(engine, id) };
        let held = match (on, waits_on(engine, id)) {
            (On::Lock(_), Some(holder)) => {
                let gone = if engine.threads[holder.index()].exited.is_some() { ", which has exited" } else { "" };
                format!(", held by {}{gone}", name(engine, holder))
            }
            _ => String::new(),
        };
        format!("{} waits for {}{held}", name(engine, id), waits_for(engine, on))
    };
    let cycle = match cycle {
        Some(path) => path.into_iter().map(describe).collect::<Vec<_>>().join("; "),
        None => {
            let mut text = listed(waiting.iter().map(|(id, _)| describe(*id)), waiting.len());
            if waiting.is_empty() {
                text.push_str("no thread is left to spawn the others");
            }
            text
        }
    };
    Error::Deadlock { at: engine.now, cycle }
}

fn listed(items: impl Iterator<Item = String>, count: usize) -> String {
    let mut text = items.take(LISTED).collect::<Vec<_>>().join("; ");
    if count > LISTED {
        let _ = write!(text, "; and {} more", count - LISTED);
    }
    text
}

/// What is still there when a run exceeds a limit.
fn unfinished(engine: &Engine<'_>) -> String {
    let ids = (0..engine.threads.len() as u32).map(ThreadId);
    let (there, absent): (Vec<ThreadId>, Vec<ThreadId>) =
        ids.partition(|id| engine.threads[id.index()].state != RunState::Absent);
    let describe = |id: &ThreadId| match engine.threads[id.index()].state {
        RunState::On(core) => format!("{} runs on core {}", name(engine, *id), core.0),
        RunState::Blocked(on) => format!("{} waits for {}", name(engine, *id), waits_for(engine, on)),
        RunState::Ready | RunState::Absent => format!("{} is ready", name(engine, *id)),
    };
    let mut threads = listed(there.iter().map(describe), there.len());
    if there.is_empty() {
        let start = |id: &ThreadId| match engine.code.threads[id.index()].start {
            Start::At(after) | Start::About(after, _) => Some((after, *id)),
            Start::Spawned => None,
        };
        let to_come = absent.iter().filter(|id| engine.threads[id.index()].exited.is_none());
        let next = to_come.filter_map(start).min();
        threads = next.map_or_else(String::new, |(_, id)| format!("{} starts later", name(engine, id)));
    }
    threads
}

/// The run outlasted its limit.
pub(crate) fn max_time(engine: &Engine<'_>) -> Error {
    Error::MaxTime { limit: engine.options.max_time, threads: unfinished(engine) }
}

/// The run had too many events.
pub(crate) fn max_events(engine: &Engine<'_>) -> Error {
    Error::MaxEvents { limit: engine.options.max_events, at: engine.now, threads: unfinished(engine) }
}

/// Time stands still.
pub(crate) fn stuck(engine: &Engine<'_>) -> Error {
    Error::Invalid(format!(
        "time stands still at {}: threads switch or start again for ever without computing or sleeping",
        engine.now
    ))
}

/// A thread does too much without computing, waiting or sleeping.
pub(crate) fn endless(engine: &Engine<'_>, thread: ThreadId) -> Error {
    let name = name(engine, thread);
    Error::Invalid(format!(
        "{name} does more than {ENDLESS} operations in a row without computing, waiting or sleeping: give its loop some \
         work"
    ))
}

/// A lock was released by a thread that does not hold it.
pub(crate) fn stranger(engine: &Engine<'_>, thread: ThreadId, lock: u32) -> Error {
    let held = match engine.objects.locks[lock as usize].holder {
        Some(holder) => format!("{} holds", name(engine, holder)),
        None => "no thread holds".into(),
    };
    let lock = &engine.code.locks[lock as usize];
    let thread = name(engine, thread);
    Error::Invalid(format!("{thread} releases lock {lock:?} at {}, which {held}: lock it first", engine.now))
}

/// The outcome of a run that came to its end.
pub(crate) fn outcome(engine: Engine<'_>) -> Outcome {
    let thread = |(index, t): (usize, &Thread)| ThreadOutcome {
        id: ThreadId(index as u32),
        program: ProgramId(t.program as u32),
        name: engine.code.threads[index].name.clone(),
        kind: engine.code.threads[index].kind,
        exited: t.exited,
        on_type: t.ran().collect(),
        waited: t.waited_before + t.waited_until(engine.now),
        waited_for_locks: t.waited_for_locks,
        blame: t.blamed_before + engine.sched.state().threads[index].blame,
        instructions: t.instructions,
        counters: engine.read.get(index).copied(),
        migrations: t.migrations,
    };
    let threads: Vec<ThreadOutcome> = engine.threads.iter().enumerate().map(thread).collect();
    let seed = engine.options.seed;
    let has_drawn = |(index, t): (usize, &Thread)| t.has_drawn(&engine.code, index, seed);
    let drawn = engine.options.noise || engine.threads.iter().enumerate().any(has_drawn);
    let program = |(index, program): (usize, &evenkeel_workload::Program)| ProgramOutcome {
        id: ProgramId(index as u32),
        name: program.name.clone(),
        turnaround: engine.turnaround[index],
        instructions: threads.iter().filter(|t| t.program.index() == index).map(|t| t.instructions).sum(),
    };
    let core = |(index, core): (usize, &crate::threads::core::Core)| CoreOutcome {
        id: CoreId(index as u16),
        core_type: engine.machine.cores[index].core_type,
        busy: core.busy,
        overhead: core.overhead,
        idle: core.idle,
        energy: core.energy,
    };
    let cores: Vec<CoreOutcome> = engine.cores.iter().enumerate().map(core).collect();
    let queues = engine.workload.programs.iter().flat_map(|p| p.queues.iter().map(move |q| (&p.name, &q.name)));
    let queue = |((program, name), queue): ((&String, &String), &crate::threads::objects::Queue)| QueueOutcome {
        name: format!("{program}/{name}"),
        taken: queue.taken,
        waited: Ns(queue.waited),
    };
    Outcome {
        makespan: engine.now,
        ended: engine.ended.unwrap_or(Ended::Finished),
        programs: engine.workload.programs.iter().enumerate().map(program).collect(),
        energy: cores.iter().map(|core| core.energy).sum(),
        cores,
        queues: queues.zip(&engine.objects.queues).map(queue).collect(),
        threads,
        migrations: engine.migrations,
        context_switches: engine.context_switches,
        preemptions: engine.requests.preemptions(),
        wakeup_latency: engine.wakeup_latency,
        missed_timers: engine.missed_timers,
        stale_answers: engine.requests.stale(),
        drawn,
        events: engine.events,
    }
}
