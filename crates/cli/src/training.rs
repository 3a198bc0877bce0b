//! What the speedup predictor learns from: every program of COLAB's Table 3, alone, on a machine of big cores only and on
//! one of little cores only (COLAB 4.1), and on one of any core type between, whose counters look different again.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use evenkeel_model::predict::{Predictor, Quality, Sample, Validation, leave_one_out};
use evenkeel_model::{CoreTypeId, Counters, Instructions, Machine, Ns};
use evenkeel_sim::{Options, Outcome};
use evenkeel_workload::{Workload, suite};
use rayon::prelude::*;

use crate::{catalog, progress};

/// The seed of the counters' noise in training. A constant, so that a machine has one predictor.
const SEED: u64 = 1;

/// A thread whose counters say too little: less than this does not outweigh its start.
const FEW_INSTRUCTIONS: Instructions = Instructions(1_000_000);

/// How many counters a model reads (COLAB 4.1).
const COUNTERS: usize = 6;

/// What the programs showed on one core type.
pub struct Observed {
    /// Where the counters were read.
    pub core_type: CoreTypeId,
    /// One sample a thread.
    pub samples: Vec<Sample>,
}

/// What there is to learn about a machine, for each of its core types.
pub fn observe(machine: &Machine) -> Result<Vec<Observed>> {
    let core_types: Vec<CoreTypeId> = (0..machine.core_types.len()).map(|id| CoreTypeId(id as u8)).collect();
    let programs: Vec<&str> = suite::table_3().map(|program| program.name).collect();
    let bar = progress::bar("training", programs.len());
    let outcomes: Vec<Result<Vec<Outcome>>> = programs
        .par_iter()
        .map(|name| {
            let workload = catalog::workload(name)?.workload;
            let outcomes = core_types.iter().map(|&core_type| count(&machine.symmetric(core_type), &workload));
            let outcomes = outcomes.collect();
            bar.inc(1);
            outcomes
        })
        .collect();
    bar.finish_and_clear();
    let mut observed: Vec<Observed> =
        core_types.iter().map(|&core_type| Observed { core_type, samples: Vec::new() }).collect();
    for (program, outcomes) in programs.iter().zip(outcomes) {
        let on_types: Vec<BTreeMap<String, Thread>> = outcomes?.iter().map(threads).collect();
        let (Some(fastest), Some(slowest)) = (on_types.first(), on_types.last()) else { continue };
        for (name, fast) in fastest {
            let Some(slow) = slowest.get(name) else { continue };
            if fast.instructions < FEW_INSTRUCTIONS || slow.instructions < FEW_INSTRUCTIONS {
                continue;
            }
            let speedup = fast.rate() / slow.rate();
            for (observed, threads) in observed.iter_mut().zip(&on_types) {
                let Some(thread) = threads.get(name) else { continue };
                let group = (*program).to_string();
                observed.samples.push(Sample { group, counters: thread.counters, speedup });
            }
        }
    }
    Ok(observed)
}

/// The predictor of a machine.
pub fn learn(machine: &Machine, observed: &[Observed], quality: Quality) -> Result<Predictor> {
    let mut predictor = Predictor::default();
    for observed in observed {
        predictor
            .learn(machine, observed.core_type, &observed.samples, COUNTERS, quality)
            .with_context(|| format!("no predictor for {}", machine.name))?;
    }
    // As a file keeps it, so that a run with a predictor that was just trained and one that was read agree.
    Ok(Predictor::from_toml(&predictor.to_toml(), "trained predictor")?)
}

/// What the model of the other programs predicts for each sample of a core type.
pub fn validate(observed: &Observed) -> Result<Vec<Validation>> {
    Ok(leave_one_out(&observed.samples, COUNTERS)?)
}

fn count(machine: &Machine, workload: &Workload) -> Result<Outcome> {
    let options = Options { seed: SEED, counters: true, ..Options::default() };
    let policy = catalog::policy("cfs")?;
    evenkeel_sim::run(machine, workload, policy.make(), None, &options, &mut ())
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
fn threads(outcome: &Outcome) -> BTreeMap<String, Thread> {
    let mut threads: BTreeMap<String, Thread> = BTreeMap::new();
    for thread in &outcome.threads {
        let Some(counters) = &thread.counters else { continue };
        let sum = threads.entry(thread.name.clone()).or_default();
        sum.counters += counters;
        sum.instructions += thread.instructions;
        sum.ran += thread.on_type.iter().copied().sum();
    }
    threads
}
