//! Policies beside each other, for people: what it amounts to, then the numbers.

use comfy_table::Cell;
use evenkeel_experiment::{Cell as Results, Comparison, Spread, Value};

use crate::{headline, number, table};

/// A metric that a table shows.
struct Column {
    name: &'static str,
    value: Value,
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
    Column { name: "makespan s", value: |m| m.makespan.as_secs_f64(), better: Better::Lower, effect: false },
    Column { name: "energy J", value: |m| m.energy.0, better: Better::Lower, effect: true },
    Column { name: "EDP Js", value: |m| m.edp(), better: Better::Lower, effect: false },
    Column { name: "migrations", value: |m| m.migrations as f64, better: Better::Lower, effect: false },
];

/// A sentence, a table for each workload and machine, then the mean effect of each policy.
pub fn comparison(compared: &Comparison<'_>) -> String {
    let baseline = compared.policies[compared.baseline];
    let mut text = table::heading(&headline::of(compared)) + "\n";
    for cell in &compared.cells {
        text += &table::heading(&format!("{} on {}", cell.workload, cell.machine));
        text += &cell_table(compared, cell);
        text.extend(headline::by_order(compared, Some(cell)).map(|line| line + "\n"));
        text.push('\n');
    }
    if compared.cells.len() > 1 {
        let least = compared.others().map(|policy| compared.compared(policy, |run| run.h_antt)).min();
        let of = match least {
            Some(least) if least < compared.cells.len() => format!(", of which {least} or more count"),
            _ => String::new(),
        };
        let title = format!("Mean effect against {baseline} over {} combinations{of}", compared.cells.len());
        text += &table::heading(&title);
        text += &effects(compared);
        text.extend(headline::by_order(compared, None).map(|line| line + "\n"));
        text.push('\n');
    }
    text += &legend(compared, baseline);
    text
}

/// What the numbers are.
fn legend(compared: &Comparison<'_>, baseline: &str) -> String {
    let (orders, seeds) = (some(compared.counts.orders, "core order"), some(compared.counts.seeds, "seed"));
    let spread = match compared.counts.seeds {
        1 => format!("Means over {orders}, of one seed; percentages against {baseline}"),
        _ if !compared.drawn() => {
            format!(
                "Means over {orders}; percentages against {baseline}; nothing was drawn from the {seeds}, which are all alike"
            )
        }
        _ => format!(
            "Mean over {orders} ± standard deviation over {seeds}; percentages against {baseline}, from pairs with the same seed, \
             ± half of their 95 % interval"
        ),
    };
    format!("{spread}; the best are bold on a terminal.\nLower is better, except for H_STP.\n")
}

fn some(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn cell_table(compared: &Comparison<'_>, cell: &Results<'_>) -> String {
    let mut columns = vec!["policy".to_string()];
    for column in &COLUMNS {
        columns.push(format!(">{}", column.name));
        if column.effect {
            columns.push(">".into());
        }
    }
    let mut rows = table::new(&columns.iter().map(String::as_str).collect::<Vec<_>>());
    let policies = || 0..compared.policies.len();
    for policy in policies() {
        let mut row = vec![Cell::new(compared.policies[policy])];
        for column in &COLUMNS {
            let all = policies().map(|policy| cell.spread(policy, column.value).mean);
            let best = match column.better {
                Better::Lower => all.fold(f64::INFINITY, f64::min),
                Better::Higher => all.fold(f64::NEG_INFINITY, f64::max),
            };
            let Spread { mean, deviation } = cell.spread(policy, column.value);
            let shown = table::spread(mean, deviation);
            row.push(if mean == best { table::bold(shown) } else { Cell::new(shown) });
            if column.effect {
                let effect = cell.difference(policy, compared.baseline, column.value);
                row.push(Cell::new(if policy == compared.baseline { String::new() } else { number::effect(effect) }));
            }
        }
        rows.add_row(row);
    }
    table::text(&rows)
}

/// The mean over cells of each policy's effect in the cell.
fn effects(compared: &Comparison<'_>) -> String {
    let shown: Vec<&Column> = COLUMNS.iter().filter(|column| column.effect).collect();
    let mut columns = vec!["policy".to_string()];
    columns.extend(shown.iter().map(|column| format!(">{}", column.name.split(' ').next().unwrap_or(column.name))));
    let mut rows = table::new(&columns.iter().map(String::as_str).collect::<Vec<_>>());
    for policy in compared.others() {
        let effects = shown.iter().map(|column| number::effect(compared.difference(policy, column.value)));
        rows.add_row(std::iter::once(compared.policies[policy].to_string()).chain(effects));
    }
    table::text(&rows)
}
