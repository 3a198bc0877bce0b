//! Runs a paper's evaluation and computes what it published.

use evenkeel_model::Behaviour;

use super::equations;
use super::evaluate::{self, Row};
use super::file::{Carrier, Experiment, Set};
use super::metric::Metric;
use super::null::{Null, arithmetic};
use super::power::{self, Power};
use super::ran::Ran;
use super::sample::{Part, Sample};
use super::separation::{Separated, separated};
use super::tally::{Summary, tally};
use super::workers::{self, Profiled};
use crate::catalog;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::plan::{Conditions, Plan, Tasks};
use crate::runner::Runner;
use crate::spread::mean;

/// An experiment with all of its runs, and every published number beside the simulated one.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// What its file says.
    pub experiment: Experiment,
    /// Its sets, in the order of the file.
    pub sets: Vec<Ran>,
    /// Its published numbers, in the order of the file.
    pub rows: Vec<Row>,
    /// The same rows by null models.
    pub null: Null,
    /// Its policies beside others.
    pub separated: Vec<Separated>,
    /// Its charts of power over time.
    pub power: Vec<Power>,
    /// Its activity profiles.
    pub profiles: Vec<Profiled>,
    /// Simulator events of all runs, reference runs included.
    pub events: u64,
}

/// The mean H_ANTT of each policy, if the paper says in which order they come.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// The set that it is of.
    pub set: String,
    /// The policies and their means, from the worst to the best as published.
    pub means: Vec<(String, f64)>,
}

impl Ranking {
    /// Whether the order is the published one.
    pub fn holds(&self) -> bool {
        self.means.windows(2).all(|pair| pair[0].1 > pair[1].1)
    }
}

impl Reproduction {
    /// Runs an experiment. With `oracle` policies see the true speedup of every thread: what perfect knowledge would give, not
    /// what was published.
    ///
    /// # Errors
    /// The experiment's file names something that does not exist or cannot be run.
    pub fn run(mut experiment: Experiment, oracle: bool, control: &Control<'_>) -> Result<Self> {
        if oracle && experiment.knows_speedups() {
            experiment.title += ", with perfect knowledge of every speedup";
        }
        let runner = |set: &Set| Runner::new(plan(&experiment, set, oracle)?, control);
        let runners = experiment.sets.iter().map(runner).collect::<Result<Vec<_>>>()?;
        let mut events = 0;
        let (mut sets, mut reckoned) = (Vec::new(), Vec::new());
        for (set, runner) in experiment.sets.iter().zip(&runners) {
            let policies = experiment.policies_of(set);
            let (samples, processed) = match set.carrier {
                Carrier::Threads => {
                    let results = runner.run_all(control)?;
                    (results.runs.into_iter().map(Sample::from).collect(), results.events)
                }
                Carrier::Workers(conditions) => workers::run(&experiment, set, conditions, runner.plan(), control)?,
                Carrier::Equations => (equations::run(policies, set)?, 0),
            };
            events += processed;
            sets.push(ran(set, policies, samples, runner.plan()));
            reckoned.push(ran(set, policies, arithmetic::samples(&experiment, set, runner.plan())?, runner.plan()));
        }
        let charts = experiment.power.iter().map(|chart| power::measure(chart, &experiment, &runners));
        let power = charts.collect::<Result<_>>()?;
        let profiles = experiment.profiles.iter().map(|profile| workers::profile(profile, &experiment, control));
        let profiles = profiles.collect::<Result<_>>()?;
        let rows = evaluate::rows(&experiment, &sets);
        let (null, separated) = (Null::of(&experiment, &reckoned), separated(&experiment, &sets));
        Ok(Self { experiment, sets, rows, null, separated, power, profiles, events })
    }

    /// How many runs [`Self::run`] does of an experiment in [`Stage::Runs`](crate::Stage::Runs), all sets together.
    ///
    /// # Errors
    /// The experiment's file names something that does not exist.
    pub fn runs_of(experiment: &Experiment) -> Result<usize> {
        let of_set = |set: &Set| {
            let plan = plan(experiment, set, false)?;
            Ok(match set.carrier {
                Carrier::Threads => plan.jobs().len(),
                Carrier::Workers(_) => workers::jobs(experiment, set, &plan)?.len(),
                Carrier::Equations => 0,
            })
        };
        experiment.sets.iter().map(of_set).sum()
    }

    /// The counts of the rows.
    pub fn summary(&self) -> Summary {
        tally(&self.rows, &self.null)
    }

    /// The policies by mean H_ANTT over everything that the first set ran, if the paper says in which order they come.
    pub fn ranking(&self) -> Option<Ranking> {
        let ran = self.sets.first().filter(|_| self.experiment.ranked)?;
        let of = |policy: &String| {
            let samples = ran.samples.iter().filter(|sample| sample.policy == *policy);
            let mean = mean(samples.map(|sample| sample.value(Metric::HAntt, Part::default())));
            (policy.clone(), mean.unwrap_or(f64::NAN))
        };
        Some(Ranking { set: ran.set.name.clone(), means: self.experiment.policies.iter().map(of).collect() })
    }
}

/// The plan of a set that threads run; of sets with another carrier the machines only.
fn plan(experiment: &Experiment, set: &Set, oracle: bool) -> Result<Plan> {
    let place = || format!("set {} of {}", set.name, experiment.name);
    named_in(experiment, set, oracle).map_err(|error| error.within(place()))
}

fn named_in(experiment: &Experiment, set: &Set, oracle: bool) -> Result<Plan> {
    let threads = matches!(set.carrier, Carrier::Threads);
    let names: Vec<&str> = set.workloads.iter().map(|member| member.name.as_str()).filter(|_| threads).collect();
    let tasks = Tasks { ready: set.tasks, main: set.main };
    Ok(Plan {
        workloads: catalog::once(&names).map(|name| Ok(catalog::workload(name)?.workload)).collect::<Result<_>>()?,
        machines: match set.carrier {
            Carrier::Equations => Vec::new(),
            _ => {
                let machine = |name| Ok(catalog::machine(name)?.machine);
                catalog::once(&set.machines).map(machine).collect::<Result<_>>()?
            }
        },
        policies: if threads { experiment.setups_of(set)? } else { Vec::new() },
        orders: experiment.orders.clone(),
        seeds: (experiment.seed..experiment.seed + set.seeds).collect(),
        conditions: Conditions {
            oracle,
            noise: set.noise,
            tasks,
            training: experiment.training.clone(),
            ..Conditions::default()
        },
    })
}

fn ran(set: &Set, policies: &[String], samples: Vec<Sample>, plan: &Plan) -> Ran {
    Ran {
        set: set.clone(),
        policies: policies.to_vec(),
        samples,
        cores: match set.carrier {
            Carrier::Equations => set.machines.iter().map(|_| equations::CORES).collect(),
            _ => plan.machines.iter().map(|machine| machine.cores.len() as u32).collect(),
        },
        capacity: plan.machines.iter().map(|machine| machine.throughput(&Behaviour::REFERENCE)).collect(),
    }
}

/// Makes sure that perfect knowledge of speedups changes one of the experiments.
///
/// # Errors
/// No policy of any of them sees speedups.
pub fn check_oracle(experiments: &[Experiment], name: &str) -> Result<()> {
    let any = experiments.iter().any(Experiment::knows_speedups);
    any.then_some(()).ok_or_else(|| Error::NoSpeedups { experiment: name.to_owned() })
}
