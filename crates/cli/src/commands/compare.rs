//! `evenkeel compare`: workloads on machines under several policies, against a baseline.

use anyhow::{Result, bail};
use evenkeel_experiment::timeline::Timelines;
use evenkeel_experiment::{Comparison, Control, Plan, Runner};
use evenkeel_report::{page, text};

use crate::args::{Compare, Format, command_line};
use crate::clock::Stopwatch;
use crate::files::Target;
use crate::progress::Bars;
use crate::{catalog, json};

/// So many workloads on machines have timelines on a page that still opens at once.
const TIMELINES: usize = 6;

/// Runs the command.
pub fn run(args: &Compare) -> Result<String> {
    let watch = Stopwatch::start();
    if args.workloads.is_empty() {
        // --machine may have swallowed them.
        bail!("no workload given: name it first, as in `evenkeel compare Sync-2 --machine 2B2S --policy cfs,colab`");
    }
    let html = Target::open_some(args.html.as_ref())?;
    let baseline = catalog::policy(&args.baseline)?;
    let mut policies = catalog::policies(&args.policy)?;
    if !policies.iter().any(|policy| policy.name() == baseline.name()) {
        policies.insert(0, baseline.clone());
    }
    let mut orders = args.orders.clone();
    orders.dedup();
    let plan = Plan {
        workloads: catalog::workloads(&args.workloads)?,
        machines: catalog::machines(&args.machine)?,
        policies,
        orders: orders.into_iter().map(Into::into).collect(),
        seeds: (1..=args.seeds).collect(),
        conditions: args.conditions.plan()?,
    };
    let bars = Bars::new("comparing");
    let control = Control::with_progress(&bars);
    let runner = Runner::new(plan, &control)?;
    let results = runner.run_all(&control)?;
    let compared = Comparison::of(runner.plan(), &results, baseline.name());
    if let Some(target) = html {
        let timelines = Timelines::record(&runner, &results, TIMELINES)?;
        target.write(page::comparison(&compared, &timelines, &command_line()).as_bytes())?;
    }
    match args.output.format {
        Format::Table => Ok(text::comparison(&compared)),
        Format::Json => json::print(&json::Runs::of(&results.runs, results.events, watch.seconds())),
    }
}
