//! `evenkeel compare`: workloads on machines under several policies, against a baseline.

use std::fmt::Write;

use anyhow::{Result, bail};
use comfy_table::Cell;
use evenkeel_sched::Setup;

use crate::args::{Compare, Format};
use crate::clock::Stopwatch;
use crate::files::Target;
use crate::json::{Metrics, Run};
use crate::lab::{Lab, Plan, Results};
use crate::{catalog, json, table};

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
        workloads: catalog::workloads(args.workloads.iter().map(String::as_str))?,
        machines: catalog::machines(&args.machine)?,
        policies,
        orders: orders.into_iter().map(Into::into).collect(),
        seeds: (1..=args.seeds).collect(),
        conditions: args.conditions.clone(),
    };
    let lab = Lab::new(&plan)?;
    let results = lab.run_all("comparing")?;
    if let Some(target) = html {
        target.write(crate::page::compare(&lab, &plan, &results, baseline.name())?.as_bytes())?;
    }
    match args.output.format {
        Format::Table => Ok(report(&plan, &results, &baseline)),
        Format::Json => {
            json::print(&json::Runs { runs: &results.runs, events: results.events, seconds: watch.seconds() })
        }
    }
}

/// Mean and sample standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The sample standard deviation; 0 for a single value.
    pub deviation: f64,
}

impl Spread {
    /// Of some values.
    pub fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let deviation = if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        Self { mean, deviation }
    }
}

/// A metric that a table shows.
struct Column {
    name: &'static str,
    value: fn(&Metrics) -> f64,
    better: Better,
    /// Whether its effect against the baseline stands beside it.
    effect: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Better {
    Lower,
    Higher,
}

const COLUMNS: [Column; 6] = [
    Column { name: "H_ANTT", value: |m| m.h_antt, better: Better::Lower, effect: true },
    Column { name: "H_STP", value: |m| m.h_stp, better: Better::Higher, effect: true },
    Column { name: "makespan s", value: |m| m.makespan_s, better: Better::Lower, effect: false },
    Column { name: "energy J", value: |m| m.energy_j, better: Better::Lower, effect: true },
    Column { name: "EDP Js", value: |m| m.edp, better: Better::Lower, effect: false },
    Column { name: "migrations", value: |m| m.migrations as f64, better: Better::Lower, effect: false },
];

/// The comparison for people.
fn report(plan: &Plan, results: &Results, baseline: &Setup) -> String {
    // A cell (workload and machine) is a row of chunks, one for each policy.
    let repetitions = plan.orders.len() * plan.seeds.len();
    let cells: Vec<Vec<&[Run]>> =
        results.runs.chunks(repetitions * plan.policies.len()).map(|cell| cell.chunks(repetitions).collect()).collect();
    let base = plan.policies.iter().position(|policy| policy.name() == baseline.name()).unwrap_or(0);
    let mut text = String::new();
    for cell in &cells {
        let Some(first) = cell.first().and_then(|runs| runs.first()) else { continue };
        text += &table::heading(&format!("{} on {}", first.workload, first.machine));
        text += &cell_table(plan, cell, base);
        text.push('\n');
    }
    if cells.len() > 1 {
        text += &table::heading(&format!("Mean effect against {} over {} combinations", baseline.name(), cells.len()));
        text += &effects(plan, &cells, base);
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "Mean ± standard deviation over {} core orders x {} seeds; percentages against {}; best in bold.\n\
         Lower is better, except for H_STP.",
        plan.orders.len(),
        plan.seeds.len(),
        baseline.name()
    );
    text
}

fn cell_table(plan: &Plan, cell: &[&[Run]], base: usize) -> String {
    let mut columns = vec!["policy".to_string()];
    for column in &COLUMNS {
        columns.push(format!(">{}", column.name));
        if column.effect {
            columns.push(">".into());
        }
    }
    let mut rows = table::new(&columns.iter().map(String::as_str).collect::<Vec<_>>());
    let values =
        |runs: &[Run], column: &Column| -> Vec<f64> { runs.iter().map(|run| (column.value)(&run.metrics)).collect() };
    let spreads: Vec<Vec<Spread>> =
        cell.iter().map(|runs| COLUMNS.iter().map(|column| Spread::of(&values(runs, column))).collect()).collect();
    for (policy, mine) in plan.policies.iter().zip(&spreads) {
        let mut row = vec![Cell::new(policy.name())];
        for (position, column) in COLUMNS.iter().enumerate() {
            let all = spreads.iter().map(|spreads| spreads[position].mean);
            let best = match column.better {
                Better::Lower => all.fold(f64::INFINITY, f64::min),
                Better::Higher => all.fold(f64::NEG_INFINITY, f64::max),
            };
            let Spread { mean, deviation } = mine[position];
            let shown = table::spread(mean, deviation);
            row.push(if mean == best { table::bold(shown) } else { Cell::new(shown) });
            if column.effect {
                row.push(Cell::new(table::percent(mean / spreads[base][position].mean - 1.0)));
            }
        }
        rows.add_row(row);
    }
    table::text(&rows)
}

/// The mean over cells of each policy's effect in the cell.
fn effects(plan: &Plan, cells: &[Vec<&[Run]>], base: usize) -> String {
    let shown: Vec<&Column> = COLUMNS.iter().filter(|column| column.effect).collect();
    let mut columns = vec!["policy".to_string()];
    columns.extend(shown.iter().map(|column| format!(">{}", column.name.split(' ').next().unwrap_or(column.name))));
    let mut rows = table::new(&columns.iter().map(String::as_str).collect::<Vec<_>>());
    for (position, policy) in plan.policies.iter().enumerate() {
        let mut row = vec![policy.name().to_string()];
        for column in &shown {
            let mean = |runs: &[Run]| {
                Spread::of(&runs.iter().map(|run| (column.value)(&run.metrics)).collect::<Vec<_>>()).mean
            };
            let ratios: Vec<f64> = cells.iter().map(|cell| mean(cell[position]) / mean(cell[base]) - 1.0).collect();
            row.push(table::percent(Spread::of(&ratios).mean));
        }
        rows.add_row(row);
    }
    table::text(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_is_that_of_a_sample() {
        let spread = Spread::of(&[1.0, 2.0, 3.0]);
        assert_eq!(spread, Spread { mean: 2.0, deviation: 1.0 });
        assert_eq!(Spread::of(&[5.0]).deviation, 0.0);
    }
}
