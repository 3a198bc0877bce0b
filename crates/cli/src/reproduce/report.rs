//! A reproduction for people: the overview of the mixes, then every published number, then what they add up to.

use std::fmt::Write;

use comfy_table::Cell;

use super::breakdown;
use super::evaluate::{Evaluated, Evaluation, Ran, effect, mean};
use super::experiment::{Compare, Metric, Published};
use super::judge::{Verdict, tally};
use crate::json::{Kind, Summary};
use crate::table;

/// The report: every experiment, and what they add up to if there are several.
pub fn text(evaluations: &[Evaluation<'_>]) -> String {
    let mut text: String = evaluations.iter().map(|evaluation| one(evaluation) + "\n").collect();
    if evaluations.len() > 1 {
        text += &together(evaluations);
    }
    text.trim_end().to_owned() + "\n"
}

fn one(evaluation: &Evaluation<'_>) -> String {
    let Evaluation { experiment, ran, rows, .. } = evaluation;
    let mut text = table::heading(&experiment.title);
    for ran in ran {
        text.push('\n');
        text += &overview(ran);
        text += &breakdown::text(ran);
    }
    text.push('\n');
    text += &published(rows);
    text.push('\n');
    text += &summary(&tally(rows));
    text + &ordering(evaluation).unwrap_or_default()
}

/// What each experiment came to.
fn together(evaluations: &[Evaluation<'_>]) -> String {
    let mut grid = table::new(&[
        "experiment",
        ">results",
        ">right sign",
        ">within a third",
        ">close",
        ">within 10 %",
        ">rank correlation",
        "paper",
    ]);
    for evaluation in evaluations {
        let summary = tally(&evaluation.rows);
        let share = |count: usize, of: usize| format!("{:.0} %", 100.0 * count as f64 / of.max(1) as f64);
        grid.add_row([
            evaluation.experiment.name.clone(),
            summary.results.to_string(),
            share(summary.sign, summary.compared),
            share(summary.within_a_third, summary.effects),
            share(summary.close, summary.results),
            share(summary.within_ten_percent, summary.results),
            summary.rank_correlation.map_or("-".into(), |rank| format!("{rank:.2}")),
            evaluation.experiment.title.clone(),
        ]);
    }
    format!("{}{}", table::heading("All experiments"), table::text(&grid))
}

/// The effect of every policy on every workload and machine.
fn overview(ran: &Ran<'_>) -> String {
    let Some((baseline, others)) = ran.policies.split_first().filter(|(_, others)| !others.is_empty()) else {
        return String::new();
    };
    let metric = ran.set.overview;
    let better = if metric.more_is_better() { "higher" } else { "lower" };
    let title =
        format!("{} against {baseline}: {} ({better} is better, mean of all runs)", metric.title(), ran.set.name);
    let mut columns = vec!["workload".to_string()];
    for machine in &ran.set.machines {
        columns.extend(others.iter().map(|policy| format!(">{machine} {policy}")));
    }
    let mut grid = table::new(&columns.iter().map(String::as_str).collect::<Vec<_>>());
    for member in &ran.set.workloads {
        let mut row = vec![Cell::new(&member.name)];
        for machine in &ran.set.machines {
            let effect =
                |policy: &String| effect(ran, &member.name, machine, metric, policy, baseline).unwrap_or(f64::NAN);
            let effects: Vec<f64> = others.iter().map(effect).collect();
            let best = effects.iter().copied().fold(0.0, if metric.more_is_better() { f64::max } else { f64::min });
            row.extend(effects.iter().map(|&effect| {
                let shown = table::percent(effect);
                if effect == best { table::bold(shown) } else { Cell::new(shown) }
            }));
        }
        grid.add_row(row);
    }
    format!("{}{}", table::heading(&title), table::text(&grid))
}

/// A value as a row's numbers are written.
pub fn show(published: &Published, value: f64) -> String {
    let effect = published.baseline.is_some() && published.compare == Compare::Effect;
    if effect || matches!(published.metric, Metric::Spread | Metric::Gap) {
        table::percent(value)
    } else {
        table::number(value)
    }
}

/// Every published number.
fn published(rows: &[Evaluated<'_>]) -> String {
    let mut grid = table::new(&[">published", ">simulated", ">difference", "", "what", "source"]);
    let mut notes: Vec<&str> = Vec::new();
    for evaluated in rows {
        let row = &evaluated.row;
        let show = |value: f64| show(evaluated.published, value);
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
pub fn summary(summary: &Summary) -> String {
    let Summary { results, compared, sign, effects, within_a_third, close, within_ten_percent, rank_correlation } =
        *summary;
    let share = |count: usize, of: usize| format!("{count} ({:.0} %)", 100.0 * count as f64 / of.max(1) as f64);
    let mut text = format!(
        "Of {results} published results {compared} compare two things, of which {} have the right sign; {effects} are numbers other than \
         0, of\nwhich {} are within a third of the published number. With limits that are kept and 0 where the paper saw nothing, {} are\n\
         close. {} are within 10 % of the published ratio or amount.",
        share(sign, compared),
        share(within_a_third, effects),
        share(close, results),
        share(within_ten_percent, results)
    );
    if let Some(rank) = rank_correlation {
        let _ = write!(text, " Rank correlation of published and simulated ratios: {rank:.2}.");
    }
    text + "\n"
}

/// The order of the policies by mean H_ANTT over everything that the first set ran, if the paper has one.
pub fn ordering(evaluation: &Evaluation<'_>) -> Option<String> {
    let (experiment, ran) = (evaluation.experiment, evaluation.ran.first()?);
    if !experiment.ranked {
        return None;
    }
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
    Some(text)
}
