//! `evenkeel reproduce`: a paper's evaluation, and what it published beside what comes out here.

pub mod evaluate;
pub mod experiment;
pub mod report;

use anyhow::{Context, Result};
use evaluate::Ran;
use experiment::{Experiment, Set};

use crate::args::{Conditions, Format, Reproduce};
use crate::catalog;
use crate::clock::Stopwatch;
use crate::files::Target;
use crate::json::{self, Row};
use crate::lab::{Lab, Plan, Results};

/// Runs the command.
pub fn run(args: &Reproduce) -> Result<String> {
    let watch = Stopwatch::start();
    let html = Target::open_some(args.html.as_ref())?;
    let mut experiment = Experiment::by_name(&args.experiment)?;
    if args.oracle {
        experiment.title += ", with perfect knowledge of every speedup";
    }
    let conditions = Conditions { oracle: args.oracle, ..Conditions::default() };
    let mut plans = Vec::new();
    for set in &experiment.sets {
        plans.push(
            plan(&experiment, set, &conditions).with_context(|| format!("set {} of {}", set.name, experiment.name))?,
        );
    }
    let results: Vec<Results> =
        plans.iter().map(|plan| Lab::new(plan)?.run_all("reproducing")).collect::<Result<_>>()?;
    let ran: Vec<Ran<'_>> = experiment
        .sets
        .iter()
        .zip(&plans)
        .zip(&results)
        .map(|((set, plan), results)| Ran {
            set,
            runs: &results.runs,
            cores: plan.machines.iter().map(|machine| machine.cores.len() as u32).collect(),
        })
        .collect();
    let rows = evaluate::rows(&experiment, &ran);
    if let Some(target) = html {
        target.write(crate::page::reproduce(&experiment, &ran, &rows).as_bytes())?;
    }
    let events = results.iter().map(|results| results.events).sum();
    match args.output.format {
        Format::Table => Ok(report::text(&experiment, &ran, &rows)),
        Format::Json => {
            let rows: Vec<Row> = rows.into_iter().map(|evaluated| evaluated.row).collect();
            json::print(&json::Reproduction {
                experiment: &experiment.name,
                events,
                seconds: watch.seconds(),
                rows: &rows,
            })
        }
    }
}

/// What a set asks to be run.
fn plan(experiment: &Experiment, set: &Set, conditions: &Conditions) -> Result<Plan> {
    Ok(Plan {
        workloads: catalog::workloads(set.workloads.iter().map(|member| member.name.as_str()))?,
        machines: catalog::machines(&set.machines)?,
        policies: catalog::policies(&experiment.policies)?,
        orders: experiment.orders.iter().map(|&order| order.into()).collect(),
        seeds: vec![experiment.seed],
        conditions: conditions.clone(),
    })
}
