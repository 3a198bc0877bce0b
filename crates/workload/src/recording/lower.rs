//! From a recording to a program.

use std::collections::BTreeMap;

use evenkeel_model::{Behaviour, CoreTypeId, Machine, Ns};

use super::{RecordedThread, Recording, Step, barriers};
use crate::program::{
    Barrier, BarrierId, Calibration, Op, Phase, PhaseId, Program, SchedParams, Semaphore, SemaphoreId, Spread, Thread,
    ThreadIndex, Work, Workload,
};

pub(super) fn lower(recording: &Recording, name: &str, ran_on: Option<&Machine>) -> Workload {
    let unit = unit(recording.counted, ran_on);
    let names = names(&recording.threads);
    let semaphore = |name: &String| Semaphore { name: format!("wake-up of {name}"), count: 0 };
    let barriers = barriers(&recording.threads);
    let places: BTreeMap<u32, BarrierId> = barriers.keys().copied().zip((0..).map(BarrierId)).collect();
    let barrier = |(number, parties): (&u32, &Vec<usize>)| Barrier {
        name: format!("barrier {number}"),
        parties: parties.len() as u32,
    };
    let thread = |(position, (thread, name)): (usize, (&RecordedThread, &String))| Thread {
        name: name.clone(),
        ops: thread.steps.iter().map(|step| op(*step, SemaphoreId(position as u32), unit, &places)).collect(),
        start: thread.start,
        kind: thread.kind,
        sched: SchedParams::default(),
    };
    let program = Program {
        name: name.to_owned(),
        phases: vec![Phase { name: "recorded".into(), behaviour: Behaviour::REFERENCE }],
        threads: recording.threads.iter().zip(&names).enumerate().map(thread).collect(),
        semaphores: names.iter().map(semaphore).collect(),
        barriers: barriers.iter().map(barrier).collect(),
        calibration: Calibration::Biggest,
        ..Program::default()
    };
    Workload { name: name.to_owned(), programs: vec![program], ..Workload::default() }
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

/// What a unit of [`Step::Run`] is.
#[derive(Clone, Copy)]
enum Unit {
    /// So many instructions.
    Instructions(f64),
    /// A nanosecond of the biggest core, whichever that is.
    Time,
}

fn unit(counted: bool, ran_on: Option<&Machine>) -> Unit {
    let biggest = CoreTypeId(0);
    match ran_on {
        _ if counted => Unit::Instructions(1.0),
        Some(machine) => {
            let frequency = machine.core_types[biggest.index()].max_frequency();
            Unit::Instructions(machine.rate(biggest, frequency, &Behaviour::REFERENCE))
        }
        None => Unit::Time,
    }
}

fn op(step: Step, own: SemaphoreId, unit: Unit, barriers: &BTreeMap<u32, BarrierId>) -> Op {
    match step {
        Step::Run(amount) => {
            let work = match unit {
                Unit::Instructions(each) => Work::Instructions((amount as f64 * each).round() as u64),
                Unit::Time => Work::Time(Ns(amount)),
            };
            Op::Compute { phase: PhaseId(0), work, spread: Spread::None }
        }
        Step::Wait => Op::Acquire(own),
        Step::Wake(thread) => Op::Post(SemaphoreId(thread)),
        Step::Sleep(span) | Step::Io(span) => Op::Sleep { span, spread: Spread::None },
        Step::Spawn(thread) => Op::Spawn(ThreadIndex(thread)),
        Step::Barrier(barrier) => Op::Barrier(barriers[&barrier]),
    }
}
