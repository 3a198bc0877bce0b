//! One run for people.

use std::fmt::Write;

use evenkeel_experiment::Run;
use evenkeel_model::{Machine, Ns};
use evenkeel_sim::Ended;

use crate::table;

/// The run for people.
pub fn run(run: &Run, machine: &Machine) -> String {
    let mut text =
        table::heading(&format!("{} on {} under {} ({})", run.workload, run.machine, run.policy, conditions(run)));
    let mut rows = table::new(&["", ">", ""]);
    for (name, value, remark) in facts(run) {
        rows.add_row([name, value.as_str(), remark.as_str()]);
    }
    text += &table::text(&rows);
    text += &programs(run);
    text += &cores(run, machine);
    let _ = writeln!(text, "\n{} simulator events", run.events);
    text
}

/// Which of its runs it is.
pub fn conditions(run: &Run) -> String {
    format!("{} order, seed {}", run.order.name(), run.seed)
}

/// What was measured: names, values, remarks.
pub fn facts(run: &Run) -> Vec<(&'static str, String, String)> {
    let measured = &run.measurement;
    let ended = match run.ended {
        Ended::Finished => "all threads exited",
        Ended::Duration => "the workload's duration was over",
        Ended::Interrupted => "interrupted: what follows is of the time until then",
    };
    let mut facts = vec![("makespan", measured.makespan.to_string(), ended.into())];
    let mut fact = |name, value, remark| facts.push((name, value, remark));
    if run.ended != Ended::Interrupted {
        fact("H_ANTT", table::number(measured.h_antt), "turnaround against big cores only; lower is better".into());
        fact("H_STP", table::number(measured.h_stp), "throughput against big cores only; higher is better".into());
    }
    fact("energy", format!("{} J", table::number(measured.energy.0)), "all cores".into());
    fact("EDP", format!("{} Js", table::number(measured.edp())), "energy x makespan".into());
    fact("migrations", measured.migrations.to_string(), "moves of a thread to another core".into());
    fact("switches", measured.context_switches.to_string(), format!("{} by preemption", measured.preemptions));
    if let Some(mean) = measured.mean_wakeup_s() {
        let longest = format!("from wake-up to running; {} at most", measured.wakeups.max);
        fact("wake-up", table::seconds(mean), longest);
    }
    if measured.missed_timers > 0 {
        fact("late timers", measured.missed_timers.to_string(), "expired before the thread waited for them".into());
    }
    if measured.stale_answers > 0 {
        fact("stale actions", measured.stale_answers.to_string(), "of the scheduler, dropped".into());
    }
    facts
}

fn programs(run: &Run) -> String {
    let mut programs = table::new(&["program", ">turnaround"]);
    for program in &run.programs {
        let turnaround = program.turnaround.map_or("cut off".into(), |turnaround| turnaround.to_string());
        programs.add_row([program.name.as_str(), turnaround.as_str()]);
    }
    format!("\n{}", table::text(&programs))
}

fn cores(run: &Run, machine: &Machine) -> String {
    let mut cores = table::new(&["core", "type", ">busy", ">overhead", ">energy"]);
    for core in &run.cores {
        let whole = core.busy + core.idle;
        let share = |part: Ns| match whole.0 {
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
