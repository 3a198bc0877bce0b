//! `evenkeel compare`: workloads on machines under several policies, against a baseline.

use anyhow::{Result, bail};
use evenkeel_experiment::timeline::{PANELS, Timelines};
use evenkeel_experiment::{Comparison, Error, Plan, Runner};
use evenkeel_model::CoreOrder;
use evenkeel_report::{page, text};

use crate::args::{Compare, Format, command_line};
use crate::clock::Stopwatch;
use crate::files::{Target, Unwritten};
use crate::interrupted::{Interrupted, stopped};
use crate::progress::Work;
use crate::{catalog, json};

/// Runs the command.
pub fn run(args: &Compare) -> Result<String> {
    let watch = Stopwatch::start();
    if args.workloads.is_empty() {
        // --machine may have swallowed them.
        bail!("no workload given: name it first, as in `evenkeel compare Sync-2 --machine 2B2S --policy cfs,colab`");
    }
    let html = Target::open_some(args.html.as_ref())?;
    let baseline = catalog::policy(&args.baseline)?;
    let policies = Plan::with_baseline(catalog::policies(&args.policy)?, &baseline);
    let workloads = catalog::workloads(&args.workloads)?;
    let names: Vec<&str> = args.orders.iter().map(|order| CoreOrder::from(*order).name()).collect();
    catalog::each_once("--orders has", &names)?;
    let orders: Vec<CoreOrder> = args.orders.iter().map(|order| (*order).into()).collect();
    let plan = Plan {
        orders: Plan::orders_for(&orders, workloads.iter().any(|workload| workload.names_cores())),
        workloads,
        machines: catalog::machines(&args.machine)?,
        policies,
        seeds: (1..=args.seeds).collect(),
        conditions: args.conditions.plan()?,
    };
    let work = Work::begin("comparing", args.conditions.limit.max_events);
    let control = work.control();
    let runner = Runner::new(plan, &control).map_err(|error| stopped(error, &work))?;
    let (results, mut cut_short) = runner.run_all_until_stopped(&control)?;
    let compared = Comparison::of(runner.plan(), &results, baseline.name());
    let mut written = Ok(());
    if let Some(target) = html.filter(|_| cut_short.is_none()) {
        match Timelines::record(&runner, PANELS) {
            Ok(timelines) => {
                written = target.write(page::comparison(&compared, &timelines, &command_line()).as_bytes());
            }
            Err(stop @ Error::Stopped { .. }) => cut_short = Some(stop),
            Err(error) => return Err(error.into()),
        }
    }
    let report = match args.output.format {
        Format::Table if compared.cells.is_empty() => String::new(),
        Format::Table => text::comparison(&compared),
        Format::Json => {
            let runs = json::Runs::of(&results.runs, results.events, watch.seconds()).compared(&compared);
            json::print(&json::Runs { interrupted: cut_short.is_some(), ..runs })?
        }
    };
    if cut_short.is_none() {
        return Ok(Unwritten::report(written, report)?);
    }
    let (shown, of) = (results.runs.len(), runner.plan().jobs().len());
    let page = if args.html.is_some() { ", and no page is written" } else { "" };
    let reached = format!("{}: {shown} of {of} runs are shown{page}", work.reached());
    Err(Interrupted { report, reached }.into())
}
