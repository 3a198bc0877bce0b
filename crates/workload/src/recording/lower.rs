//! From a recording to a program.

use std::collections::BTreeMap;

use evenkeel_model::Behaviour;

use super::{RecordedThread, Recording, Step};
use crate::program::{
    Calibration, Op, Phase, PhaseId, Program, SchedParams, Semaphore, SemaphoreId, Spread, Thread, ThreadIndex, Work,
    Workload,
};

pub(super) fn lower(recording: &Recording, name: &str) -> Workload {
    let names = names(&recording.threads);
    let semaphore = |name: &String| Semaphore { name: format!("wake-up of {name}"), count: 0 };
    let thread = |(position, (thread, name)): (usize, (&RecordedThread, &String))| Thread {
        name: name.clone(),
        ops: thread.steps.iter().map(|step| op(*step, SemaphoreId(position as u32), recording.counted)).collect(),
        start: thread.start,
        kind: thread.kind,
        sched: SchedParams::default(),
    };
    let program = Program {
        name: name.to_owned(),
        phases: vec![Phase { name: "recorded".into(), behaviour: Behaviour::REFERENCE }],
        threads: recording.threads.iter().zip(&names).enumerate().map(thread).collect(),
        semaphores: names.iter().map(semaphore).collect(),
        calibration: Calibration::Biggest,
        ..Program::default()
    };
    Workload { name: name.to_owned(), programs: vec![program], duration: None }
}

/// The names of the threads; those that several share get the thread's number.
fn names(threads: &[RecordedThread]) -> Vec<String> {
    let mut bearers: BTreeMap<&str, u32> = BTreeMap::new();
    for thread in threads {
        *bearers.entry(&thread.name).or_default() += 1;
    }
    let name = |(position, thread): (usize, &RecordedThread)| match bearers.get(thread.name.as_str()) {
        Some(2..) => format!("{}#{position}", thread.name),
        _ => thread.name.clone(),
    };
    threads.iter().enumerate().map(name).collect()
}

fn op(step: Step, own: SemaphoreId, counted: bool) -> Op {
    match step {
        Step::Run(amount) => {
            let work = if counted { Work::Instructions(amount) } else { Work::Time(evenkeel_model::Ns(amount)) };
            Op::Compute { phase: PhaseId(0), work, spread: Spread::None }
        }
        Step::Wait => Op::Acquire(own),
        Step::Wake(thread) => Op::Post(SemaphoreId(thread)),
        Step::Sleep(span) | Step::Io(span) => Op::Sleep { span, spread: Spread::None },
        Step::Spawn(thread) => Op::Spawn(ThreadIndex(thread)),
    }
}
