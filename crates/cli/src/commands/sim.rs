//! `evenkeel sim`: one workload on one machine under one policy.

use std::io::BufWriter;

use anyhow::{Result, bail};
use evenkeel_experiment::history::Recorder;
use evenkeel_experiment::timeline::SPANS;
use evenkeel_experiment::{Job, Plan, Run, Runner};
use evenkeel_report::{page, text};
use evenkeel_sim::Ended;
use evenkeel_sim::perfetto::Writer;

use crate::args::{Format, Sim, command_line};
use crate::clock::Stopwatch;
use crate::files::{Target, Unwritten};
use crate::interrupted::{Interrupted, stopped};
use crate::progress::Work;
use crate::{catalog, json, messages};

/// Runs the command.
pub fn run(args: &Sim) -> Result<String> {
    let watch = Stopwatch::start();
    let trace = Target::open_some(args.trace.as_ref())?;
    let html = Target::open_some(args.html.as_ref())?;
    Target::distinct(&[&trace, &html])?;
    let (order, seed) = (args.order.into(), args.seed.unwrap_or(1));
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
        seeds: vec![seed],
        conditions: args.conditions.plan()?,
    };
    let work = Work::begin("simulating", args.conditions.limit.max_events);
    let runner = Runner::new(plan, &work.control()).map_err(|error| stopped(error, &work))?;
    let job = Job { workload: 0, machine: 0, policy: 0, order, seed };
    let (run, written) = observed(args, &runner, job, trace, html)?;
    let interrupted = run.ended == Ended::Interrupted;
    let report = match args.output.format {
        Format::Table => text::run(&run, &runner.plan().machines[0]),
        Format::Json => {
            let events = runner.reference_events() + run.events;
            json::print(&json::Runs { interrupted, ..json::Runs::of(&[run], events, watch.seconds()) })?
        }
    };
    if interrupted {
        return Err(Interrupted { report, reached: work.reached() }.into());
    }
    Ok(Unwritten::report(written, report)?)
}

/// A run that the seed that was asked for has made a difference to, or may have.
fn seeded(args: &Sim, run: Run) -> Result<Run> {
    match args.seed {
        Some(seed) if !run.drawn && run.ended != Ended::Interrupted => bail!(
            "--seed {seed}: {} under {} draws nothing from a seed, so that every seed gives the same run: expected none, or \
             --noise for background work that differs",
            args.workload,
            args.policy
        ),
        _ => Ok(run),
    }
}

/// Does a run and writes what it is to leave, its trace and its page, unless it was interrupted: what a run would have come to is not in a part
/// of it, and what was there before may be whole.
fn observed(
    args: &Sim,
    runner: &Runner,
    job: Job,
    mut trace: Option<Target>,
    html: Option<Target>,
) -> Result<(Run, Result<(), Unwritten>)> {
    let machine = runner.machine(job);
    let recorder = html.is_some().then(|| Recorder::new(&machine).at_most(SPANS));
    let (run, recorder, traced) = traced(args, runner, job, trace.as_mut(), recorder)?;
    if run.ended == Ended::Interrupted {
        for (what, _) in [("trace", &trace), ("page", &html)].into_iter().filter(|(_, target)| target.is_some()) {
            messages::note(format_args!("no {what} is written: it would be of a run that was interrupted"));
        }
        return Ok((run, Ok(())));
    }
    let mut written = traced.and_then(|()| trace.map_or(Ok(()), Target::keep));
    if let (Some(recorder), Some(target)) = (recorder, html) {
        let page = page::run(&run, &recorder.finish(run.measurement.makespan), &machine, &command_line());
        written = written.and(target.write(page.as_bytes()));
    }
    Ok((run, written))
}

/// Does a run and writes its trace, packet by packet.
fn traced(
    args: &Sim,
    runner: &Runner,
    job: Job,
    trace: Option<&mut Target>,
    recorder: Option<Recorder>,
) -> Result<(Run, Option<Recorder>, Result<(), Unwritten>)> {
    let unwritten = trace.as_ref().map(|target| target.unwritten());
    let writer = trace.map(|target| Writer::new(&runner.machine(job), BufWriter::new(target.writer())));
    let mut seen = (recorder, writer);
    let run = seeded(args, runner.run_until_stopped(job, &mut seen)?)?;
    let (recorder, writer) = seen;
    let written = match (writer, unwritten) {
        (Some(writer), Some(unwritten)) => writer.finish().map(drop).map_err(unwritten),
        _ => Ok(()),
    };
    Ok((run, recorder, written))
}
