//! `evenkeel reproduce`: a paper's evaluation, and what it published beside what comes out here.

pub mod breakdown;
pub mod equations;
pub mod evaluate;
pub mod experiment;
pub mod judge;
pub mod power;
pub mod report;
pub mod workers;

use anyhow::{Context, Result, bail};
use evaluate::{Evaluation, Ran};
use evenkeel_model::Behaviour;
use experiment::{Experiment, Host, Set};
use judge::tally;

use crate::args::{Conditions, Format, Reproduce, Tasks};
use crate::catalog;
use crate::clock::Stopwatch;
use crate::files::Target;
use crate::json::{self, Chart, Reproduction};
use crate::lab::{Lab, Plan, Results};

/// An experiment with all of its runs.
struct Reproduced {
    experiment: Experiment,
    plans: Vec<Plan>,
    results: Vec<Results>,
    power: Vec<Chart>,
    profiles: Vec<workers::Profiled>,
    seconds: f64,
}

/// Runs the command.
pub fn run(args: &Reproduce) -> Result<String> {
    let html = Target::open_some(args.html.as_ref())?;
    let experiments = Experiment::by_name(&args.experiment)?;
    if args.oracle && !experiments.iter().any(Experiment::knows_speedups) {
        bail!("--oracle: policies are shown speedups, but {} has workers, which ask for none", args.experiment);
    }
    let reproduced: Vec<Reproduced> =
        experiments.into_iter().map(|experiment| Reproduced::run(experiment, args.oracle)).collect::<Result<_>>()?;
    let evaluated: Vec<Evaluation<'_>> = reproduced.iter().map(Reproduced::evaluate).collect();
    if let Some(target) = html {
        target.write(crate::page::reproduce(&args.experiment, &evaluated).as_bytes())?;
    }
    match args.output.format {
        Format::Table => Ok(report::text(&evaluated)),
        Format::Json => {
            let reproductions: Vec<Reproduction<'_>> = evaluated
                .iter()
                .zip(&reproduced)
                .map(|(evaluated, reproduced)| Reproduction {
                    experiment: &evaluated.experiment.name,
                    events: reproduced.results.iter().map(|results| results.events).sum(),
                    seconds: reproduced.seconds,
                    summary: tally(&evaluated.rows),
                    rows: evaluated.rows.iter().map(|evaluated| &evaluated.row).collect(),
                    power: evaluated.power,
                    breakdown: evaluated.ran.iter().flat_map(breakdown::of).collect(),
                })
                .collect();
            match &reproductions[..] {
                [only] => json::print(only),
                all => json::print(&json::Reproductions { experiments: all }),
            }
        }
    }
}

impl Reproduced {
    fn run(mut experiment: Experiment, oracle: bool) -> Result<Self> {
        if oracle && experiment.knows_speedups() {
            experiment.title += ", with perfect knowledge of every speedup";
        }
        let watch = Stopwatch::start();
        let mut plans = Vec::new();
        for set in &experiment.sets {
            let tasks = Tasks { ready: set.tasks, main: set.main };
            let conditions = Conditions { oracle, noise: set.noise, tasks, ..Conditions::default() };
            plans.push(
                plan(&experiment, set, conditions)
                    .with_context(|| format!("set {} of {}", set.name, experiment.name))?,
            );
        }
        let labs = plans.iter().map(Lab::new).collect::<Result<Vec<_>>>()?;
        let results = experiment.sets.iter().zip(&plans).zip(&labs).map(|((set, plan), lab)| match set.host {
            Host::Threads => lab.run_all("reproducing"),
            Host::Workers(conditions) => workers::run(&experiment, set, conditions, plan),
            Host::Equations => equations::run(experiment.policies_of(set), set),
        });
        let results = results.collect::<Result<_>>()?;
        let charts = experiment.power.iter().map(|chart| power::measure(chart, &experiment, &plans, &labs));
        let power = charts.collect::<Result<_>>()?;
        let profiles = experiment.profiles.iter().map(|profile| workers::profile(profile, &experiment));
        let profiles = profiles.collect::<Result<_>>()?;
        Ok(Self { experiment, plans, results, power, profiles, seconds: watch.seconds() })
    }

    fn evaluate(&self) -> Evaluation<'_> {
        let sets = self.experiment.sets.iter().zip(&self.plans).zip(&self.results);
        let ran: Vec<Ran<'_>> = sets
            .map(|((set, plan), results)| Ran {
                set,
                policies: self.experiment.policies_of(set),
                runs: &results.runs,
                cores: match set.host {
                    Host::Equations => set.machines.iter().map(|_| equations::CORES).collect(),
                    _ => plan.machines.iter().map(|machine| machine.cores.len() as u32).collect(),
                },
                capacity: plan.machines.iter().map(|machine| machine.throughput(&Behaviour::REFERENCE)).collect(),
            })
            .collect();
        let rows = evaluate::rows(&self.experiment, &ran);
        Evaluation { experiment: &self.experiment, ran, rows, power: &self.power, profiles: &self.profiles }
    }
}

/// What a set asks to be run by threads: of other hosts' sets the machines only.
fn plan(experiment: &Experiment, set: &Set, conditions: Conditions) -> Result<Plan> {
    let threads = matches!(set.host, Host::Threads);
    let workloads = set.workloads.iter().map(|member| member.name.as_str()).filter(|_| threads);
    Ok(Plan {
        workloads: catalog::workloads(workloads)?,
        machines: if matches!(set.host, Host::Equations) { Vec::new() } else { catalog::machines(&set.machines)? },
        policies: if threads { experiment.setups_of(set)? } else { Vec::new() },
        orders: experiment.orders.iter().map(|&order| order.into()).collect(),
        seeds: (experiment.seed..experiment.seed + set.seeds).collect(),
        conditions,
    })
}
