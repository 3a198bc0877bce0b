//! `evenkeel sim`: one workload on one machine under one policy.

use std::fmt::Write;

use anyhow::{Result, bail};
use evenkeel_model::Machine;
use evenkeel_sim::{Ended, Outcome};

use crate::args::{Format, Sim};
use crate::clock::Stopwatch;
use crate::files::Target;
use crate::lab::{Job, Lab, Plan};
use crate::{catalog, json, messages, table};

/// Runs the command.
pub fn run(args: &Sim) -> Result<String> {
    let watch = Stopwatch::start();
    let trace = Target::open_some(args.trace.as_ref())?;
    let order = args.order.into();
    let imported = catalog::workload(&args.workload)?;
    let machine = match (&args.machine, imported.recorded_on) {
        (Some(name), _) => catalog::machine(name)?,
        (None, Some(machine)) => machine,
        (None, None) => bail!(
            "--machine is missing, and {} does not come from one as a recording does; `evenkeel machines` lists all",
            args.workload
        ),
    };
    imported.warnings.iter().for_each(messages::warning);
    let plan = Plan {
        workloads: vec![imported.workload],
        machines: vec![machine],
        policies: vec![catalog::policy(&args.policy)?],
        orders: vec![order],
        seeds: vec![args.seed],
        conditions: args.conditions.clone(),
    };
    let lab = Lab::new(&plan)?;
    let job = Job { workload: 0, machine: 0, policy: 0, order, seed: args.seed };
    let (run, outcome) = match trace {
        None => lab.run(job, &mut ())?,
        Some(target) => crate::trace::record(&lab, job, target)?,
    };
    match args.output.format {
        Format::Table => Ok(report(&run, &outcome, &plan.machines[0])),
        Format::Json => {
            let events = lab.reference_events() + outcome.events;
            json::print(&json::Runs { runs: &[run], events, seconds: watch.seconds() })
        }
    }
}

/// The run for people.
fn report(run: &json::Run, outcome: &Outcome, machine: &Machine) -> String {
    let metrics = &run.metrics;
    let mut text = table::heading(&format!(
        "{} on {} under {} ({} order, seed {})",
        run.workload, run.machine, run.policy, run.order, run.seed
    ));
    let ended = match outcome.ended {
        Ended::Finished => "all threads exited",
        Ended::Duration => "the workload's duration was over",
    };
    let mut facts = table::new(&["", ">", ""]);
    let mut fact = |name: &str, value: String, remark: String| {
        facts.add_row([name, value.as_str(), remark.as_str()]);
    };
    fact("makespan", table::seconds(metrics.makespan_s), ended.into());
    fact("H_ANTT", table::number(metrics.h_antt), "turnaround against big cores only; lower is better".into());
    fact("H_STP", table::number(metrics.h_stp), "throughput against big cores only; higher is better".into());
    fact("energy", format!("{} J", table::number(metrics.energy_j)), "all cores".into());
    fact("EDP", format!("{} Js", table::number(metrics.edp)), "energy x makespan".into());
    fact("migrations", metrics.migrations.to_string(), "moves of a thread to another core".into());
    fact("switches", metrics.context_switches.to_string(), format!("{} by preemption", metrics.preemptions));
    if let Some(mean) = metrics.wakeup_mean_s {
        let longest = format!("from wake-up to running; {} at most", table::seconds(metrics.wakeup_max_s));
        fact("wake-up", table::seconds(mean), longest);
    }
    if metrics.missed_timers > 0 {
        fact("late timers", metrics.missed_timers.to_string(), "expired before the thread asked".into());
    }
    if metrics.stale_answers > 0 {
        fact("stale answers", metrics.stale_answers.to_string(), "of the scheduler, dropped".into());
    }
    text += &table::text(&facts);
    text += &programs(run);
    text += &cores(outcome, machine);
    let _ = writeln!(text, "\n{} simulator events", outcome.events);
    text
}

fn programs(run: &json::Run) -> String {
    let mut programs = table::new(&["program", ">turnaround"]);
    for program in &run.programs {
        let turnaround = program.turnaround_s.map_or("cut off".into(), table::seconds);
        programs.add_row([program.name.as_str(), turnaround.as_str()]);
    }
    format!("\n{}", table::text(&programs))
}

fn cores(outcome: &Outcome, machine: &Machine) -> String {
    let mut cores = table::new(&["core", "type", ">busy", ">overhead", ">energy"]);
    for core in &outcome.cores {
        let whole = core.busy + core.idle;
        let share = |part: evenkeel_model::Ns| match whole.0 {
            0 => "-".to_string(),
            _ => format!("{:.1} %", 100.0 * part.0 as f64 / whole.0 as f64),
        };
        cores.add_row([
            core.id.0.to_string(),
            machine.core_types[core.core_type.index()].name.clone(),
            share(core.busy),
            share(core.overhead),
            format!("{} J", table::number(core.energy.0)),
        ]);
    }
    format!("\n{}", table::text(&cores))
}
