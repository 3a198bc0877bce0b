//! Sets that simulated workers play (`evenkeel_sim::workers`).

use anyhow::{Context, Result, anyhow};
use evenkeel_model::stealing::Techniques;
use evenkeel_model::{CoreOrder, Machine, Ns};
use evenkeel_sim::workers::{self, Options, Outcome};
use evenkeel_workload::kernels::{Kernel, Table};
use rayon::prelude::*;

use super::experiment::{Experiment, Host, Metric, Profile, Set, Workers};
use crate::json::{Metrics, Run, order_name};
use crate::lab::{Plan, Results};
use crate::{catalog, progress};

/// A profile with what it is of.
pub struct Profiled {
    /// A sentence.
    pub what: String,
    /// Section and figure.
    pub source: String,
    /// The machine, its cores from the biggest type on.
    pub machine: Machine,
    /// For each of the techniques their name, the time, and the profile.
    pub arms: Vec<(String, Ns, workers::Profile)>,
}

/// Runs a set, spread over all cores.
pub fn run(experiment: &Experiment, set: &Set, conditions: Workers, plan: &Plan) -> Result<Results> {
    let mut jobs = Vec::new();
    for member in &set.workloads {
        let kernel = kernel(&member.name)?;
        for machine in &plan.machines {
            for policy in experiment.policies_of(set) {
                jobs.extend(plan.seeds.iter().map(|seed| (kernel, machine, policy, *seed)));
            }
        }
    }
    let bar = progress::bar("reproducing", jobs.len());
    let run = |(kernel, machine, policy, seed): &(&Kernel, &Machine, &String, u64)| {
        let options = options(conditions, policy, *seed)?;
        let outcome = workers::run(machine, Table::iii(), kernel, &options, &mut ());
        bar.inc(1);
        Ok((measured(kernel, machine, policy, &options, &outcome), outcome.events))
    };
    let done = jobs.par_iter().map(run).collect::<Result<Vec<_>>>()?;
    bar.finish_and_clear();
    let events = done.iter().map(|(_, events)| events).sum();
    Ok(Results { runs: done.into_iter().map(|(run, _)| run).collect(), events })
}

/// Runs what a profile shows.
pub fn profile(profile: &Profile, experiment: &Experiment) -> Result<Profiled> {
    let set = experiment.sets.iter().find(|set| set.name == profile.set);
    let Some(Host::Workers(conditions)) = set.map(|set| set.host) else {
        return Err(anyhow!("{}: no set {} of workers", profile.what, profile.set));
    };
    let machine = catalog::machine(&profile.machine)?;
    let kernel = kernel(&profile.workload)?;
    let arm = |policy: &String| {
        let mut watched = workers::Profile::default();
        let options = options(conditions, policy, experiment.seed)?;
        let outcome = workers::run(&machine, Table::iii(), kernel, &options, &mut watched);
        Ok((policy.clone(), outcome.time, watched))
    };
    Ok(Profiled {
        what: profile.what.clone(),
        source: profile.source.clone(),
        arms: profile.policies.iter().map(arm).collect::<Result<_>>()?,
        machine: machine.ordered(CoreOrder::BigFirst),
    })
}

fn kernel(name: &str) -> Result<&'static Kernel> {
    let table = Table::iii();
    let names = table.kernels.iter().map(|kernel| kernel.name.as_str());
    table.kernel(name).ok_or_else(|| catalog::unknown("kernel", name, names, None))
}

fn options(conditions: Workers, techniques: &str, seed: u64) -> Result<Options> {
    let techniques: Techniques = techniques.parse().with_context(|| "a set of workers")?;
    let Workers { interrupt_cycles, step_ns } = conditions;
    Ok(Options { techniques, seed, interrupt_cycles, step: Ns(step_ns), ..Options::default() })
}

fn measured(kernel: &Kernel, machine: &Machine, policy: &str, options: &Options, outcome: &Outcome) -> Run {
    let seconds = outcome.time.as_secs_f64();
    let (little, big) = workers::serial(machine, kernel, options);
    let share = |part: Ns| part.as_secs_f64() / seconds;
    let parts = &outcome.parts;
    Run {
        workload: kernel.name.clone(),
        machine: machine.name.clone(),
        policy: policy.to_owned(),
        order: order_name(CoreOrder::Declared),
        seed: options.seed,
        metrics: Metrics {
            makespan_s: seconds,
            energy_j: outcome.energy.0,
            edp: outcome.energy.0 * seconds,
            ..Metrics::zero()
        },
        programs: Vec::new(),
        clusters: Vec::new(),
        measures: vec![
            (Metric::OverLittle, little.as_secs_f64() / seconds),
            (Metric::OverBig, big.as_secs_f64() / seconds),
            (Metric::Mugs, outcome.mugs_per_million()),
            (Metric::Transitions, outcome.transitions_per_10_us()),
            (Metric::Serial, share(parts.serial)),
            (Metric::HighParallel, share(parts.high)),
            (Metric::Scarce, share(parts.scarce)),
            (Metric::Ample, share(parts.ample)),
            (Metric::OtherLow, share(parts.other)),
        ],
    }
}
