//! `evenkeel sim`: one workload on one machine under one policy.

use std::io::BufWriter;

use anyhow::{Result, bail};
use evenkeel_experiment::{Control, Job, Plan, Run, Runner};
use evenkeel_report::text;
use evenkeel_sim::perfetto::Writer;

use crate::args::{Format, Sim};
use crate::clock::Stopwatch;
use crate::files::Target;
use crate::progress::Bars;
use crate::{catalog, json};

/// Runs the command.
pub fn run(args: &Sim) -> Result<String> {
    let watch = Stopwatch::start();
    let trace = Target::open_some(args.trace.as_ref())?;
    let order = args.order.into();
    let found = catalog::workload(&args.workload)?;
    let machine = match (&args.machine, found.recorded_on) {
        (Some(name), _) => catalog::machine(name)?,
        (None, Some(machine)) => machine,
        (None, None) => bail!(
            "--machine is missing, and {} does not come from one as a recording does; `evenkeel machines` lists all",
            args.workload
        ),
    };
    let plan = Plan {
        workloads: vec![found.workload],
        machines: vec![machine],
        policies: vec![catalog::policy(&args.policy)?],
        orders: vec![order],
        seeds: vec![args.seed],
        conditions: args.conditions.plan()?,
    };
    let runner = Runner::new(plan, &Control::with_progress(&Bars::new("simulating")))?;
    let job = Job { workload: 0, machine: 0, policy: 0, order, seed: args.seed };
    let run = match trace {
        None => runner.run(job, &mut ())?,
        Some(target) => traced(&runner, job, target)?,
    };
    match args.output.format {
        Format::Table => Ok(text::run(&run, &runner.plan().machines[0])),
        Format::Json => {
            let events = runner.reference_events() + run.events;
            json::print(&json::Runs::of(&[run], events, watch.seconds()))
        }
    }
}

/// Does a run and writes its trace, packet by packet.
fn traced(runner: &Runner, job: Job, mut target: Target) -> Result<Run> {
    let machine = runner.machine(job);
    let unwritten = target.unwritten();
    let mut writer = Writer::new(&machine, BufWriter::new(target.writer()));
    let run = runner.run(job, &mut writer)?;
    writer.finish().map_err(unwritten)?;
    target.keep()?;
    Ok(run)
}
