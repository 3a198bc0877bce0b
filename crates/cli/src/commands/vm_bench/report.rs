//! What `vm bench` measured, as a table and as JSON.

use std::fmt::Write;

use anyhow::Result;
use evenkeel_linux::vm::bench::{Measured, PROGRAMS, Row, STOCK};
use evenkeel_report::json::{BenchMachine, BenchRow};
use evenkeel_report::table;

use crate::json;

/// The difference to stock and its standard error, where there is one.
fn measured(row: &Row) -> String {
    let difference = table::percent(row.against_stock);
    if row.runs > 1 { format!("{difference} ±{:.1}", row.against_stock_error * 100.0) } else { difference }
}

fn against(row: &Row, text: String) -> String {
    if row.scheduler == STOCK { String::new() } else { text }
}

/// The report for programs.
pub fn json(machines: &[Measured]) -> Result<String> {
    let row = |row: &Row| BenchRow {
        bench: row.bench,
        policy: row.scheduler.clone(),
        runs: row.runs,
        makespan_s: row.makespan_s,
        makespan_sd_s: row.makespan_sd_s,
        ideal_s: row.ideal_s,
        over_ideal: row.makespan_s / row.ideal_s,
        against_stock: row.against_stock,
        against_stock_error: row.against_stock_error,
        predicted_s: row.predicted_s,
        predicted_against_stock: row.predicted_against_stock,
        h_antt: row.h_antt,
        h_stp: row.h_stp,
    };
    let machine = |machine: &Measured| BenchMachine {
        machine: machine.spec.to_string(),
        big_share: machine.shares.map(|shares| shares.big),
        little_share: machine.shares.map(|shares| shares.little),
        rows: machine.rows.iter().map(row).collect(),
    };
    json::print(&json::Bench { machines: &machines.iter().map(machine).collect::<Vec<_>>() })
}

/// One machine's table.
pub fn table(machine: &Measured) -> String {
    let mut text = table::heading(&machine.spec.to_string());
    let columns = [
        "program",
        "policy",
        ">makespan s",
        ">ideal s",
        ">over ideal",
        ">to stock",
        ">predicted s",
        ">to stock",
        ">H_ANTT",
        ">H_STP",
    ];
    let mut rows = table::new(&columns);
    let mut previous = "";
    for row in &machine.rows {
        let best = machine.rows.iter().filter(|other| other.bench == row.bench);
        let best = best.map(|other| other.makespan_s).fold(f64::INFINITY, f64::min);
        let spread = table::spread(row.makespan_s, row.makespan_sd_s);
        rows.add_row([
            comfy_table::Cell::new(if row.bench == previous { "" } else { row.bench }),
            comfy_table::Cell::new(&row.scheduler),
            if row.makespan_s <= best { table::bold(spread) } else { comfy_table::Cell::new(spread) },
            comfy_table::Cell::new(table::number(row.ideal_s)),
            comfy_table::Cell::new(table::number(row.makespan_s / row.ideal_s)),
            comfy_table::Cell::new(against(row, measured(row))),
            comfy_table::Cell::new(table::number(row.predicted_s)),
            comfy_table::Cell::new(against(row, table::percent(row.predicted_against_stock))),
            comfy_table::Cell::new(table::number(row.h_antt)),
            comfy_table::Cell::new(table::number(row.h_stp)),
        ]);
        previous = row.bench;
    }
    let _ = writeln!(text, "{}", table::text(&rows));
    text
}

/// What is in the tables.
pub fn legend() -> String {
    let mut text = String::new();
    for program in PROGRAMS {
        let _ = writeln!(text, "{:9} {}", program.name, program.about);
    }
    text += "\nTo stock: time against the guest's own scheduler, with the standard error of the runs.\n\
             Ideal: all work, measured on one big core, divided by what all cores achieve together.\n\
             Predicted: the same programs, recorded in the guest under its own scheduler, played by the simulator.\n\
             OpenMP threads wait passively: under an emulator, spinning stops the others.\n";
    text
}
