//! A reproduction for people: the overview of the mixes, then every published number, then what they add up to.

use std::fmt::Write;

use comfy_table::Cell;
use evenkeel_experiment::paper::{Metric, Published, Ran, Ranking, Reproduction, Row, RowKind, Summary, Verdict};

use super::breakdown;
use crate::table;

/// Every experiment, and what they add up to if there are several.
pub fn reproductions(all: &[Reproduction]) -> String {
    let mut text: String = all.iter().map(|reproduction| one(reproduction) + "\n").collect();
    if all.len() > 1 {
        text += &together(all);
    }
    text.trim_end().to_owned() + "\n"
}

fn one(reproduction: &Reproduction) -> String {
    let mut text = table::heading(&reproduction.experiment.title);
    for ran in &reproduction.sets {
        text.push('\n');
        text += &overview(ran);
        text += &breakdown::text(ran);
    }
    text.push('\n');
    text += &published(&reproduction.rows);
    text.push('\n');
    text += &summary(&reproduction.summary());
    text + &reproduction.ranking().as_ref().map(order).unwrap_or_default()
}

/// What each experiment came to.
fn together(all: &[Reproduction]) -> String {
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
    for reproduction in all {
        let summary = reproduction.summary();
        let share = |count: usize, of: usize| format!("{:.0} %", 100.0 * count as f64 / of.max(1) as f64);
        grid.add_row([
            reproduction.experiment.name.clone(),
            summary.results.to_string(),
            share(summary.sign, summary.compared),
            share(summary.within_a_third, summary.effects),
            share(summary.close, summary.results),
            share(summary.within_ten_percent, summary.results),
            summary.rank_correlation.map_or("-".into(), |rank| format!("{rank:.2}")),
            reproduction.experiment.title.clone(),
        ]);
    }
    format!("{}{}", table::heading("All experiments"), table::text(&grid))
}

/// The effect of every policy on every workload and machine.
fn overview(ran: &Ran) -> String {
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
                |policy: &String| ran.effect(&member.name, machine, metric, policy, baseline).unwrap_or(f64::NAN);
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
pub fn published_value(published: &Published, value: f64) -> String {
    if published.is_effect() || matches!(published.metric, Metric::Spread | Metric::Gap) {
        table::percent(value)
    } else {
        table::number(value)
    }
}

/// What a row is, in a word.
pub fn remark(row: &Row) -> &'static str {
    match (row.published.kind, row.verdict) {
        (RowKind::Input, _) => "input",
        (RowKind::Calibration, _) => "calibration",
        (RowKind::Result, Verdict::Close) => "close",
        (RowKind::Result, Verdict::Sign) => "sign",
        (RowKind::Result, Verdict::Miss) => "miss",
    }
}

/// Every published number.
fn published(rows: &[Row]) -> String {
    let mut grid = table::new(&[">published", ">simulated", ">difference", "", "what", "source"]);
    let mut notes: Vec<&str> = Vec::new();
    for row in rows {
        let Row { published, simulated, verdict } = row;
        let show = |value: f64| published_value(published, value);
        let remark = match remark(row) {
            "miss" => "MISS",
            other => other,
        };
        let note = published.note.as_deref().filter(|_| *verdict != Verdict::Close);
        let reference = note.map_or_else(String::new, |note| {
            let known = notes.iter().position(|other| *other == note);
            let at = known.unwrap_or_else(|| {
                notes.push(note);
                notes.len() - 1
            });
            format!(" [{}]", at + 1)
        });
        let difference = simulated.map(|simulated| simulated - published.published);
        let simulated = simulated.map_or("-".into(), show);
        let bold = *verdict == Verdict::Close;
        grid.add_row([
            Cell::new(show(published.published)),
            if bold { table::bold(simulated) } else { Cell::new(simulated) },
            Cell::new(difference.map_or("-".into(), show)),
            Cell::new(format!("{remark}{reference}")),
            Cell::new(&published.what),
            Cell::new(&published.source),
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

/// The policies by mean H_ANTT, and whether they come in the published order.
pub fn order(ranking: &Ranking) -> String {
    let mut text = format!("Mean H_ANTT over the {}:", ranking.set);
    for (policy, mean) in &ranking.means {
        let _ = write!(text, " {policy} {}", table::number(*mean));
    }
    let order = ranking.means.iter().map(|(policy, _)| policy.as_str()).collect::<Vec<_>>().join(" > ");
    let verdict = if ranking.holds() { "holds" } else { "does NOT hold" };
    let _ = writeln!(text, "; the published order {order} {verdict}.");
    text
}
