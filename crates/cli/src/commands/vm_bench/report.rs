//! What `vm bench` measured, as a table and as JSON.

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::Result;
use comfy_table::Cell;
use evenkeel_linux::vm::bench::{
    Accuracy, Bench, Errors, Latency, Measured, Member, PROGRAMS, Predicted, Program, Row,
};
use evenkeel_model::Difference;
use evenkeel_report::json::{
    BenchAccuracy, BenchDifference, BenchErrors, BenchLatency, BenchMachine, BenchRow, BenchTotal,
};
use evenkeel_report::table;

use crate::json;

/// A difference and its standard error, where there is one.
fn shown(difference: Option<Difference>) -> String {
    let Some(Difference { value, error, .. }) = difference else { return String::new() };
    let percent = table::percent(value);
    error.map_or(percent.clone(), |error| format!("{percent} ±{:.1}", error * 100.0))
}

/// A comparison with the guest's own scheduler, left empty in that scheduler's row.
fn against(row: &Row, difference: Option<Difference>) -> String {
    if row.scheduler.is_stock() { String::new() } else { shown(difference) }
}

/// The report for programs.
pub fn json(machines: &[Measured]) -> Result<String> {
    let difference = |difference: Option<Difference>| {
        difference.map(|Difference { value, error, interval, .. }| BenchDifference {
            value,
            error,
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
        })
    };
    let latency = |latency: &Latency| BenchLatency {
        p50_s: latency.p50_s,
        p99_s: latency.p99_s,
        p50_against_stock: difference(latency.p50_against_stock),
        p99_against_stock: difference(latency.p99_against_stock),
    };
    let row = |row: &Row| BenchRow {
        bench: row.bench.clone(),
        policy: row.scheduler.policy.clone(),
        host: row.scheduler.host.name(),
        runs: row.runs,
        failed: row.failed,
        makespan_s: row.makespan_s,
        makespan_sd_s: row.makespan_sd_s,
        began_on_big: row.began_on_big,
        ideal_s: row.ideal_s,
        over_ideal: row.ideal_s.map(|ideal| row.makespan_s / ideal),
        against_stock: difference(row.against_stock),
        predicted_s: row.predicted.map(|predicted| predicted.makespan_s),
        predicted_against_stock: difference(row.predicted.map(|predicted| predicted.against_stock)),
        h_antt: row.h_antt,
        h_antt_against_stock: difference(row.h_antt_against_stock),
        h_antt_predicted_against_stock: difference(row.predicted.and_then(|predicted| predicted.h_antt_against_stock)),
        h_stp: row.h_stp,
        h_stp_against_stock: difference(row.h_stp_against_stock),
        h_stp_predicted_against_stock: difference(row.predicted.and_then(|predicted| predicted.h_stp_against_stock)),
        latency: row.latency.as_ref().map(latency),
    };
    let machine = |machine: &Measured| BenchMachine {
        machine: machine.spec.to_string(),
        big_share: machine.shares.map(|shares| shares.big),
        little_share: machine.shares.map(|shares| shares.little),
        repetitions: machine.repetitions,
        repetitions_wanted: machine.wanted,
        rows: machine.rows.iter().map(row).collect(),
        totals: machine
            .totals
            .iter()
            .map(|total| BenchTotal {
                policy: total.scheduler.policy.clone(),
                host: total.scheduler.host.name(),
                programs: difference(total.programs),
                mixes: difference(total.mixes),
                switch_s: total.switch_s,
            })
            .collect(),
        accuracy: machine
            .accuracy
            .iter()
            .map(|of| BenchAccuracy {
                host: of.host.name(),
                rows: of.rows,
                times: errors(&of.times),
                against_stock: of.against_stock.as_ref().map(errors),
                h_antt_mean_absolute_error: of.h_antt_mean_absolute_error,
            })
            .collect(),
    };
    json::print(&json::Bench { machines: &machines.iter().map(machine).collect::<Vec<_>>() })
}

fn errors(of: &Errors) -> BenchErrors {
    BenchErrors {
        mean: of.mean,
        median: of.median,
        largest: of.largest,
        largest_bench: of.of.0.clone(),
        largest_policy: of.of.1.policy.clone(),
    }
}

/// One machine's tables.
pub fn table(machine: &Measured) -> String {
    let mut text = table::heading(&match machine.repetitions {
        all if all == machine.wanted => machine.spec.to_string(),
        some => format!("{}, ended after {some} of {} repetitions", machine.spec, machine.wanted),
    });
    let _ = writeln!(text, "{}", makespans(machine));
    for part in [latencies(machine), totals(machine)].into_iter().flatten() {
        let _ = writeln!(text, "{part}");
    }
    for of in &machine.accuracy {
        let _ = writeln!(text, "{}", accuracy(of));
    }
    if !machine.accuracy.is_empty() {
        text.push('\n');
    }
    text
}

/// How far predictions were off under a host, in a line.
fn accuracy(of: &Accuracy) -> String {
    let off = |errors: &Errors, unit: &str| {
        let [mean, median, most] =
            [errors.mean, errors.median, errors.largest].map(|off| format!("{:.1}{unit}", off * 100.0));
        let (bench, scheduler) = &errors.of;
        format!("{mean} in the mean, {median} in the median, {most} at most ({bench} under {})", scheduler.policy)
    };
    let h_antt = of.h_antt_mean_absolute_error.map(|off| format!("; H_ANTT {:.1} points in the mean", off * 100.0));
    let to_stock = of.against_stock.as_ref().map(|errors| format!("; to stock {}", off(errors, " points")));
    let more = to_stock.into_iter().chain(h_antt).collect::<String>();
    format!("{}: predictions of {} rows were off by {}{more}", of.host.name(), of.rows, off(&of.times, " %"))
}

/// Names a row's bench, unless the row above has it, and its scheduler.
fn names<'a>(row: &'a Row, previous: &mut &'a str) -> [Cell; 3] {
    let bench = if row.bench == *previous { "" } else { row.bench.as_str() };
    *previous = &row.bench;
    let host = if row.scheduler.is_stock() { "" } else { row.scheduler.host.name() };
    [Cell::new(bench), Cell::new(&row.scheduler.policy), Cell::new(host)]
}

fn makespans(machine: &Measured) -> String {
    let columns = [
        "program",
        "policy",
        "host",
        ">makespan s",
        ">ideal s",
        ">over ideal",
        ">time to stock",
        ">predicted s",
        ">predicted time to stock",
        ">H_ANTT",
        ">H_ANTT to stock",
        ">predicted H_ANTT to stock",
        ">H_STP",
        ">H_STP to stock",
        ">predicted H_STP to stock",
    ];
    let mut rows = table::new(&columns);
    let mut previous = "";
    let optional = |value: Option<f64>| value.map(table::number).unwrap_or_default();
    for row in &machine.rows {
        let best = machine.rows.iter().filter(|other| other.bench == row.bench);
        let best = best.map(|other| other.makespan_s).fold(f64::INFINITY, f64::min);
        let spread = table::spread(row.makespan_s, row.makespan_sd_s);
        let predicted = |value: fn(&Predicted) -> Option<Difference>| {
            Cell::new(against(row, row.predicted.as_ref().and_then(value)))
        };
        rows.add_row(names(row, &mut previous).into_iter().chain([
            if row.makespan_s <= best { table::bold(spread) } else { Cell::new(spread) },
            Cell::new(optional(row.ideal_s)),
            Cell::new(optional(row.ideal_s.map(|ideal| row.makespan_s / ideal))),
            Cell::new(against(row, row.against_stock)),
            Cell::new(optional(row.predicted.map(|predicted| predicted.makespan_s))),
            predicted(|of| Some(of.against_stock)),
            Cell::new(table::number(row.h_antt)),
            Cell::new(against(row, row.h_antt_against_stock)),
            predicted(|of| of.h_antt_against_stock),
            Cell::new(table::number(row.h_stp)),
            Cell::new(against(row, row.h_stp_against_stock)),
            predicted(|of| of.h_stp_against_stock),
        ]));
    }
    table::text(&rows)
}

/// How long woken threads waited to run, where that was measured.
fn latencies(machine: &Measured) -> Option<String> {
    let columns = ["wake-up to run", "policy", "host", ">p50 ms", ">p50 to stock", ">p99 ms", ">p99 to stock"];
    let mut rows = table::new(&columns);
    let mut previous = "";
    for row in &machine.rows {
        let Some(latency) = row.latency else { continue };
        let ms = |seconds: f64| Cell::new(table::number(seconds * 1e3));
        rows.add_row(names(row, &mut previous).into_iter().chain([
            ms(latency.p50_s),
            Cell::new(against(row, latency.p50_against_stock)),
            ms(latency.p99_s),
            Cell::new(against(row, latency.p99_against_stock)),
        ]));
    }
    (!previous.is_empty()).then(|| table::text(&rows))
}

/// The table of totals.
fn totals(machine: &Measured) -> Option<String> {
    let mut rows = table::new(&["all to stock", "host", ">programs, time", ">mixes, H_ANTT", ">a switch us"]);
    for total in &machine.totals {
        let cells = [
            total.scheduler.policy.clone(),
            total.scheduler.host.name().into(),
            shown(total.programs),
            shown(total.mixes),
            total.switch_s.map(|seconds| table::number(seconds * 1e6)).unwrap_or_default(),
        ];
        rows.add_row(cells);
    }
    let benches: BTreeSet<&str> = machine.rows.iter().map(|row| row.bench.as_str()).collect();
    (benches.len() > 1).then(|| table::text(&rows))
}

/// What is in the tables.
pub fn legend(benches: &[Bench]) -> String {
    let mut text = String::new();
    let measured: BTreeSet<&Program> =
        benches.iter().flat_map(|bench| &bench.members).map(|member| &member.program).collect();
    let own: Vec<&Program> = measured.iter().copied().filter(|program| program.is_own()).collect();
    for program in PROGRAMS.iter().filter(|program| measured.contains(program)).chain(own.iter().copied()) {
        let _ = writeln!(text, "{:9} {}", program.name, program.about);
    }
    for bench in benches.iter().filter(|bench| bench.members.len() > 1 && !bench.name.contains('+')) {
        let members: Vec<String> = bench.members.iter().map(Member::to_string).collect();
        let _ = writeln!(text, "{:9} {}", bench.name, members.join(" + "));
    }
    text += "\nTo stock: against the guest's own scheduler in the same repetition, the geometric mean and its standard error.\n\
             Ideal: all work, measured on one big core, divided by what all cores that its threads can use achieve together.\n\
             Predicted: the same programs, recorded in the guest under its own scheduler, once a repetition, played by the\n\
             simulator in both core orders. A switch between two threads takes what was measured under each scheduler.\n\
             H_ANTT, H_STP: against each program alone on as many big cores.\n\
             OpenMP threads wait passively: under an emulator, spinning stops the others.\n";
    if !own.is_empty() {
        text += "Programs of --own have no ideal: how many threads they have is not known. They always do all of their work, from\n\
                 start to end, which is what is predicted, too.\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_column_has_the_name_of_another() {
        let nothing = Measured {
            spec: "2B2S:3".parse().unwrap(),
            shares: None,
            rows: Vec::new(),
            repetitions: 1,
            wanted: 1,
            totals: Vec::new(),
            accuracy: Vec::new(),
        };
        let heading = makespans(&nothing);
        let mut names: Vec<&str> = heading.trim().split("  ").map(str::trim).filter(|name| !name.is_empty()).collect();
        names.sort_unstable();
        assert!(names.len() == 15 && names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }

    #[test]
    fn the_legend_says_what_was_run_and_which_programs_have_no_ideal() {
        let own = [Program::own("app=./app -j{threads}").unwrap()];
        let of = |name: &str| legend(&[Bench::named(name, &own).unwrap()]);
        let text = of("app:2+lu");
        assert!(
            text.starts_with("lu        a shrinking matrix and barriers (as lu)\napp       ./app -j{threads}\n"),
            "{text}"
        );
        assert!(text.contains("--own have no ideal") && !of("lu").contains("--own"));
    }
}
