//! A reproduction for people: the overview of the mixes, then every published number, then what they add up to.

use std::fmt::Write;

use comfy_table::Cell;

use super::evaluate::{self, Evaluated, Ran, Verdict, effect, mean};
use super::experiment::{Experiment, Metric};
use crate::json::Kind;
use crate::table;

/// The report.
pub fn text(experiment: &Experiment, ran: &[Ran<'_>], rows: &[Evaluated<'_>]) -> String {
    let mut text = table::heading(&experiment.title);
    for ran in ran {
        text.push('\n');
        text += &overview(experiment, ran);
    }
    text.push('\n');
    text += &published(rows);
    text.push('\n');
    text += &summary(rows);
    for ran in ran.iter().take(1) {
        text += &ordering(experiment, ran);
    }
    text
}

/// The effect of every policy on H_ANTT for every workload and machine.
fn overview(experiment: &Experiment, ran: &Ran<'_>) -> String {
    let Some((baseline, others)) = experiment.policies.split_first() else { return String::new() };
    let title = format!("H_ANTT against {baseline}: {} (lower is better, mean over core orders)", ran.set.name);
    let mut columns = vec!["workload".to_string()];
    for machine in &ran.set.machines {
        columns.extend(others.iter().map(|policy| format!(">{machine} {policy}")));
    }
    let mut grid = table::new(&columns.iter().map(String::as_str).collect::<Vec<_>>());
    for member in &ran.set.workloads {
        let mut row = vec![Cell::new(&member.name)];
        for machine in &ran.set.machines {
            let effect = |policy: &String| {
                effect(ran.runs, &member.name, machine, Metric::HAntt, policy, Some(baseline)).unwrap_or(f64::NAN)
            };
            let effects: Vec<f64> = others.iter().map(effect).collect();
            let best = effects.iter().copied().fold(0.0, f64::min);
            row.extend(effects.iter().map(|&effect| {
                let shown = table::percent(effect);
                if effect == best { table::bold(shown) } else { Cell::new(shown) }
            }));
        }
        grid.add_row(row);
    }
    format!("{}{}", table::heading(&title), table::text(&grid))
}

/// Every published number.
fn published(rows: &[Evaluated<'_>]) -> String {
    let mut grid = table::new(&[">published", ">simulated", ">difference", "", "what", "source"]);
    let mut notes: Vec<&str> = Vec::new();
    for evaluated in rows {
        let row = &evaluated.row;
        let show = |value: f64| match evaluated.published.metric {
            Metric::Runs => table::number(value),
            _ if evaluated.published.baseline.is_none() => table::number(value),
            _ => table::percent(value),
        };
        let remark = match (row.kind, evaluated.verdict) {
            (Kind::Input, _) => "input",
            (Kind::Calibration, _) => "calibration",
            (Kind::Result, Verdict::Close) => "close",
            (Kind::Result, Verdict::Sign) => "sign",
            (Kind::Result, Verdict::Miss) => "MISS",
        };
        let note = evaluated.published.note.as_deref().filter(|_| evaluated.verdict != Verdict::Close);
        let reference = note.map_or_else(String::new, |note| {
            let known = notes.iter().position(|other| *other == note);
            let at = known.unwrap_or_else(|| {
                notes.push(note);
                notes.len() - 1
            });
            format!(" [{}]", at + 1)
        });
        let simulated = row.simulated.map_or("-".into(), show);
        let bold = evaluated.verdict == Verdict::Close;
        grid.add_row([
            Cell::new(show(row.published)),
            if bold { table::bold(simulated) } else { Cell::new(simulated) },
            Cell::new(row.difference.map_or("-".into(), show)),
            Cell::new(format!("{remark}{reference}")),
            Cell::new(&row.what),
            Cell::new(&row.source),
        ]);
    }
    let mut text = format!("{}{}", table::heading("Published and simulated"), table::text(&grid));
    if !notes.is_empty() {
        text += "\nWhy, as far as it is known\n";
        for (at, note) in notes.iter().enumerate() {
            let _ = writeln!(text, "[{}] {note}", at + 1);
        }
    }
    text
}

/// How many rows came out.
fn summary(rows: &[Evaluated<'_>]) -> String {
    let (results, sign, close) = evaluate::tally(rows);
    let share = |count: usize| 100.0 * count as f64 / results.max(1) as f64;
    format!(
        "Of {results} published results, {sign} ({:.0} %) have the right sign and {close} ({:.0} %) are close: within a \
         third\nof the published number, within a published bound, or 0 % where the paper saw no effect.\n",
        share(sign),
        share(close)
    )
}

/// The order of the policies by mean H_ANTT over everything that a set ran.
pub fn ordering(experiment: &Experiment, ran: &Ran<'_>) -> String {
    let value = |policy: &String| {
        let runs = ran.runs.iter().filter(|run| run.policy == *policy);
        mean(runs.map(|run| run.metrics.h_antt)).unwrap_or(f64::NAN)
    };
    let means: Vec<f64> = experiment.policies.iter().map(value).collect();
    let as_published = means.windows(2).all(|pair| pair[0] > pair[1]);
    let mut text = format!("Mean H_ANTT over the {}:", ran.set.name);
    for (policy, mean) in experiment.policies.iter().zip(&means) {
        let _ = write!(text, " {policy} {}", table::number(*mean));
    }
    let order = experiment.policies.join(" > ");
    let verdict = if as_published { "holds" } else { "does NOT hold" };
    let _ = writeln!(text, "; the published order {order} {verdict}.");
    text
}
