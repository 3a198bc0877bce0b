//! What the speedup predictor learns from: every bundled program, alone, on a machine of big cores only and on one of
//! little cores only (COLAB 4.1).

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use evenkeel_model::{CoreTypeId, Counters, Instructions, Machine, Ns};
use evenkeel_sim::{Options, Outcome};
use evenkeel_workload::{Workload, suite};
use rayon::prelude::*;

use crate::{catalog, progress};

/// The seed of the counters' noise in training. A constant, so that a machine has one predictor.
const SEED: u64 = 1;

/// A thread whose counters say too little: less than this does not outweigh its start.
const FEW_INSTRUCTIONS: Instructions = Instructions(1_000_000);

/// What a thread's counters showed on one core type, and the speedup that they have to predict.
pub struct Observation {
    /// The program, which leave-one-out leaves out as a whole.
    pub program: String,
    /// Where the counters were read.
    pub core_type: CoreTypeId,
    /// The counters.
    pub counters: Counters,
    /// Instructions per second on the biggest core type divided by those on the smallest.
    pub speedup: f64,
}

/// Every observation of a machine, in the order of programs, threads and core types, and the simulator events it took.
pub fn observe(machine: &Machine) -> Result<(Vec<Observation>, u64)> {
    let ends = [CoreTypeId(0), smallest(machine)];
    let programs: Vec<&str> = suite::programs().map(|program| program.name).collect();
    let bar = progress::bar("training", programs.len() * ends.len());
    let pairs: Vec<Result<[Outcome; 2]>> = programs
        .par_iter()
        .map(|name| {
            let workload = catalog::workload(name)?.workload;
            let alone = |core_type| {
                let outcome = count(&machine.symmetric(core_type), &workload);
                bar.inc(1);
                outcome
            };
            Ok([alone(ends[0])?, alone(ends[1])?])
        })
        .collect();
    bar.finish_and_clear();
    let mut observations = Vec::new();
    let mut events = 0;
    for (program, pair) in programs.iter().zip(pairs) {
        let [big, little] = pair?;
        events += big.events + little.events;
        let (big, little) = (threads(&big), threads(&little));
        for (name, on_big) in &big {
            let Some(on_little) = little.get(name) else { continue };
            if on_big.instructions < FEW_INSTRUCTIONS || on_little.instructions < FEW_INSTRUCTIONS {
                continue;
            }
            let speedup = on_big.rate() / on_little.rate();
            for (core_type, thread) in ends.into_iter().zip([on_big, on_little]) {
                let program = (*program).to_string();
                observations.push(Observation { program, core_type, counters: thread.counters, speedup });
            }
        }
    }
    Ok((observations, events))
}

/// The smallest core type: the last of the list.
fn smallest(machine: &Machine) -> CoreTypeId {
    CoreTypeId((machine.core_types.len() - 1) as u8)
}

fn count(machine: &Machine, workload: &Workload) -> Result<Outcome> {
    let options = Options { seed: SEED, counters: true, ..Options::default() };
    let policy = catalog::policy("cfs")?;
    evenkeel_sim::run(machine, workload, (policy.make)(), None, &options, &mut ())
        .with_context(|| format!("{} alone on {}", workload.name, machine.name))
}

/// What the threads of one name did together.
#[derive(Default)]
struct Thread {
    counters: Counters,
    instructions: Instructions,
    ran: Ns,
}

impl Thread {
    /// Instructions per nanosecond while it had a core.
    fn rate(&self) -> f64 {
        self.instructions.0 as f64 / self.ran.0 as f64
    }
}

/// Threads by name: their numbers follow the order of creation, which the machine may change.
fn threads(outcome: &Outcome) -> BTreeMap<&str, Thread> {
    let mut threads: BTreeMap<&str, Thread> = BTreeMap::new();
    for thread in &outcome.threads {
        let Some(counters) = &thread.counters else { continue };
        let sum = threads.entry(&thread.name).or_default();
        sum.counters += counters;
        sum.instructions += thread.instructions;
        sum.ran += thread.on_type.iter().copied().sum();
    }
    threads
}
