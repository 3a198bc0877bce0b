//! What `vm bench` measured, beside what would be ideal.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result};
use evenkeel_linux::spec::Spec;
use evenkeel_linux::vm::Shares;
use evenkeel_report::json::{BenchMachine, BenchRow};

use super::STOCK;
use super::programs::{Bench, PROGRAMS};
use evenkeel_report::table;

use crate::json;

/// One run of a bench.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    makespan: f64,
    ideal: f64,
    h_antt: f64,
    h_stp: f64,
}

impl Cell {
    /// `alone` tells how long a program takes on a single big core. The ideal is all work divided by what all cores
    /// achieve together. For H_ANTT and H_STP a program on as many big cores as the machine has cores takes its work
    /// divided by their number.
    pub fn of(spec: &Spec, bench: &Bench, times: &BTreeMap<String, f64>, alone: impl Fn(&str) -> f64) -> Result<Self> {
        let mut cell = Self { makespan: 0.0, ideal: 0.0, h_antt: 0.0, h_stp: 0.0 };
        for program in bench.programs {
            let time = *times.get(*program).with_context(|| format!("{program} did not write its time"))?;
            let slowdown = time / (alone(program) / f64::from(spec.cores()));
            cell.makespan = cell.makespan.max(time);
            cell.ideal += alone(program) / spec.capacity();
            cell.h_antt += slowdown / bench.programs.len() as f64;
            cell.h_stp += 1.0 / slowdown;
        }
        Ok(cell)
    }
}

/// The runs on one machine. `cells` holds the runs by bench and policy; the first policy is the one to compare with. `predicted` is what the
/// simulator says, in seconds.
pub fn machine(
    spec: &Spec,
    shares: Option<Shares>,
    benches: &[&'static Bench],
    policies: &[&str],
    cells: &BTreeMap<(usize, usize), Vec<Cell>>,
    predicted: &BTreeMap<(usize, usize), f64>,
) -> BenchMachine {
    let mut rows = Vec::new();
    for (row, bench) in benches.iter().enumerate() {
        let stock = cells.get(&(row, 0)).map(|cells| Mean::of(cells));
        for (column, policy) in policies.iter().enumerate() {
            let Some(cells) = cells.get(&(row, column)) else { continue };
            let makespan = Mean::of(cells);
            let to_stock = makespan.value / stock.unwrap_or(makespan).value;
            let ideal = mean(cells, |cell| cell.ideal);
            let simulated = |column| predicted.get(&(row, column)).copied().unwrap_or(f64::NAN);
            rows.push(BenchRow {
                bench: bench.name,
                policy: (*policy).to_owned(),
                runs: cells.len(),
                makespan_s: makespan.value,
                makespan_sd_s: makespan.deviation,
                ideal_s: ideal,
                over_ideal: makespan.value / ideal,
                against_stock: to_stock - 1.0,
                against_stock_error: to_stock * makespan.error().hypot(stock.unwrap_or(makespan).error()),
                predicted_s: simulated(column),
                predicted_against_stock: simulated(column) / simulated(0) - 1.0,
                h_antt: mean(cells, |cell| cell.h_antt),
                h_stp: mean(cells, |cell| cell.h_stp),
            });
        }
    }
    BenchMachine {
        machine: spec.to_string(),
        big_share: shares.map(|shares| shares.big),
        little_share: shares.map(|shares| shares.little),
        rows,
    }
}

fn mean(cells: &[Cell], value: impl Fn(&Cell) -> f64) -> f64 {
    cells.iter().map(value).sum::<f64>() / cells.len() as f64
}

/// The makespans of some runs.
#[derive(Clone, Copy)]
struct Mean {
    value: f64,
    /// Of the sample; 0 for a single run.
    deviation: f64,
    runs: usize,
}

impl Mean {
    fn of(cells: &[Cell]) -> Self {
        let value = mean(cells, |cell| cell.makespan);
        let squares: f64 = cells.iter().map(|cell| (cell.makespan - value).powi(2)).sum();
        Self { value, deviation: (squares / (cells.len().max(2) - 1) as f64).sqrt(), runs: cells.len() }
    }

    /// The standard error, as a share of the mean.
    fn error(self) -> f64 {
        self.deviation / (self.runs as f64).sqrt() / self.value
    }
}

/// The difference to stock and its standard error, where there is one.
fn measured(row: &BenchRow) -> String {
    let difference = table::percent(row.against_stock);
    if row.runs > 1 { format!("{difference} ±{:.1}", row.against_stock_error * 100.0) } else { difference }
}

fn against(row: &BenchRow, text: String) -> String {
    if row.policy == STOCK { String::new() } else { text }
}

/// The report for programs.
pub fn json(machines: &[BenchMachine]) -> Result<String> {
    json::print(&json::Bench { machines })
}

/// One machine's table.
pub fn table(machine: &BenchMachine) -> String {
    let mut text = table::heading(&machine.machine);
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
            comfy_table::Cell::new(&row.policy),
            if row.makespan_s <= best { table::bold(spread) } else { comfy_table::Cell::new(spread) },
            comfy_table::Cell::new(table::number(row.ideal_s)),
            comfy_table::Cell::new(table::number(row.over_ideal)),
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
