//! Sets that simulated workers play (`evenkeel_sim::workers`).

use evenkeel_model::stealing::{NoTechniques, Techniques};
use evenkeel_model::{CoreOrder, Machine, Ns};
use evenkeel_sim::workers::{self, Options, Outcome, Watch};
use evenkeel_workload::kernels::{Kernel, Table};

use super::file::{Carrier, Experiment, Profile, Set, Workers};
use super::metric::Metric;
use super::sample::{Measured, Sample};
use crate::catalog;
use crate::control::{Control, Stage};
use crate::error::{Error, Result};
use crate::plan::Plan;

/// Activity and voltage over time, with what they are of.
#[derive(Clone, Debug)]
pub struct Profiled {
    /// A sentence.
    pub what: String,
    /// Section and figure.
    pub source: String,
    /// The machine, its cores from the biggest type on.
    pub machine: Machine,
    /// One entry for each of the techniques.
    pub arms: Vec<ProfiledArm>,
}

/// What one of the techniques did.
#[derive(Clone, Debug)]
pub struct ProfiledArm {
    /// The techniques.
    pub policy: String,
    /// How long the kernel took.
    pub time: Ns,
    /// Every core over time.
    pub profile: workers::Profile,
}

/// A run of a set: kernel, machine, techniques and seed.
type Job<'a> = (&'static Kernel, &'a Machine, &'a str, u64);

/// The runs of a set.
pub fn jobs<'a>(experiment: &'a Experiment, set: &'a Set, plan: &'a Plan) -> Result<Vec<Job<'a>>> {
    let mut jobs = Vec::new();
    for member in &set.workloads {
        let kernel = kernel(&member.name)?;
        for machine in &plan.machines {
            for policy in experiment.policies_of(set) {
                jobs.extend(plan.seeds.iter().map(|seed| (kernel, machine, policy.as_str(), *seed)));
            }
        }
    }
    Ok(jobs)
}

/// Runs a set, spread over all cores. Also returns how many events the simulator processed.
pub fn run(
    experiment: &Experiment,
    set: &Set,
    conditions: Workers,
    plan: &Plan,
    control: &Control<'_>,
) -> Result<(Vec<Sample>, u64)> {
    let jobs = jobs(experiment, set, plan)?;
    let done = control.each(Stage::Runs, &jobs, |(kernel, machine, policy, seed)| {
        let options = options(conditions, policy, *seed, control)?;
        let outcome = play(machine, kernel, &options, control, &mut ())?;
        Ok((measured(kernel, machine, policy, &options, &outcome), outcome.events))
    })?;
    let events = done.iter().map(|(_, events)| events).sum();
    Ok((done.into_iter().map(|(sample, _)| sample).collect(), events))
}

/// Runs what a profile shows.
pub fn profile(profile: &Profile, experiment: &Experiment, control: &Control<'_>) -> Result<Profiled> {
    let set = experiment.sets.iter().find(|set| set.name == profile.set);
    let Some(Carrier::Workers(conditions)) = set.map(|set| set.carrier) else {
        return Err(Error::ExperimentFile(format!("{}: no set {} of workers", profile.what, profile.set)));
    };
    let machine = catalog::machine(&profile.machine)?.machine;
    let kernel = kernel(&profile.workload)?;
    let arm = |policy: &String| {
        let mut watched = workers::Profile::default();
        let options = options(conditions, policy, experiment.seed, control)?;
        let outcome = play(&machine, kernel, &options, control, &mut watched)?;
        Ok(ProfiledArm { policy: policy.clone(), time: outcome.time, profile: watched })
    };
    Ok(Profiled {
        what: profile.what.clone(),
        source: profile.source.clone(),
        arms: profile.policies.iter().map(arm).collect::<Result<_>>()?,
        machine: machine.ordered(CoreOrder::BigFirst),
    })
}

/// Runs a kernel.
fn play<W: Watch>(
    machine: &Machine,
    kernel: &Kernel,
    options: &Options,
    control: &Control<'_>,
    watch: &mut W,
) -> Result<Outcome> {
    let outcome = workers::run(machine, Table::iii(), kernel, options, watch)
        .map_err(|source| Error::Workers { what: format!("{} on {}", kernel.name, machine.name), source })?;
    control.ran(outcome.events, outcome.time);
    Ok(outcome)
}

/// A kernel of Table III.
pub fn kernel(name: &str) -> Result<&'static Kernel> {
    let table = Table::iii();
    let names = table.kernels.iter().map(|kernel| kernel.name.as_str());
    table.kernel(name).ok_or_else(|| catalog::unknown("kernel", name, names))
}

/// Techniques by the name that sets use.
pub fn techniques(name: &str) -> Result<Techniques> {
    name.parse().map_err(|unknown: NoTechniques| Error::ExperimentFile(unknown.to_string()))
}

fn options(conditions: Workers, techniques: &str, seed: u64, control: &Control<'_>) -> Result<Options> {
    let Workers { interrupt_cycles, step_ns } = conditions;
    Ok(Options {
        techniques: self::techniques(techniques)?,
        seed,
        interrupt_cycles,
        step: Ns(step_ns),
        max_events: control.max_events,
        ..Options::default()
    })
}

fn measured(kernel: &Kernel, machine: &Machine, policy: &str, options: &Options, outcome: &Outcome) -> Sample {
    let seconds = outcome.time.as_secs_f64();
    let (little, big) = workers::serial(machine, kernel, options);
    let share = |part: Ns| part.as_secs_f64() / seconds;
    let parts = &outcome.parts;
    Sample {
        workload: kernel.name.clone(),
        machine: machine.name.clone(),
        policy: policy.to_owned(),
        seed: options.seed,
        measured: Measured::Values(vec![
            (Metric::Time, seconds),
            (Metric::Energy, outcome.energy.0),
            (Metric::Edp, outcome.energy.0 * seconds),
            (Metric::OverLittle, little.as_secs_f64() / seconds),
            (Metric::OverBig, big.as_secs_f64() / seconds),
            (Metric::Mugs, outcome.mugs_per_million()),
            (Metric::Transitions, outcome.transitions_per_10_us()),
            (Metric::Serial, share(parts.serial)),
            (Metric::HighParallel, share(parts.high)),
            (Metric::Scarce, share(parts.scarce)),
            (Metric::Ample, share(parts.ample)),
            (Metric::OtherLow, share(parts.other)),
        ]),
    }
}
