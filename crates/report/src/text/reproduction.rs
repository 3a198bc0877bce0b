//! A reproduction for people: the overview of the mixes, then every published number, then what they add up to.

use std::fmt::Write;

use comfy_table::Cell;
use evenkeel_experiment::paper::{
    Carrier, Metric, Null, Published, Ran, Ranking, Reproduction, Row, RowKind, Score, Separated, Summary, Verdict,
};

use super::breakdown;
use crate::{headline, table};

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
    text.extend(headline::of_reproduction(reproduction).map(|headline| headline + ".\n"));
    for ran in &reproduction.sets {
        text.push('\n');
        text += &overview(ran);
        text += &breakdown::text(ran);
    }
    text.push('\n');
    text += &published(&reproduction.rows, &reproduction.null);
    text.push('\n');
    text += &summary(&reproduction.summary());
    text += &reproduction.ranking().as_ref().map(order).unwrap_or_default();
    reproduction.separated.iter().for_each(|one| text += &separation(one));
    text
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
        ">left by null models",
        ">close of these",
        ">rank correlation",
        "paper",
    ]);
    for reproduction in all {
        let summary = reproduction.summary();
        let share = |count: usize, of: usize| format!("{:.0} %", 100.0 * count as f64 / of.max(1) as f64);
        grid.add_row([
            reproduction.experiment.name.clone(),
            summary.results.to_string(),
            share(summary.score.sign, summary.compared),
            share(summary.score.within_a_third, summary.effects),
            share(summary.score.close, summary.results),
            share(summary.score.within_ten_percent, summary.results),
            summary.null.left.to_string(),
            share(summary.null.left_close, summary.null.left),
            summary.rank_correlation.map_or("-".into(), |rank| format!("{rank:.2}")),
            reproduction.experiment.title.clone(),
        ]);
    }
    format!("{}{}", table::heading("All experiments"), table::text(&grid))
}

/// The effect of every policy on every workload and machine. With their intervals as many columns would be too wide: brackets say which
/// of them are on both sides of zero.
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
            row.extend(others.iter().zip(&effects).map(|(policy, &effect)| {
                let shown = table::percent(effect);
                let interval = ran.interval(&[member.name.as_str()], machine, metric, policy, baseline);
                let told = interval.is_none_or(|(low, high)| low > 0.0 || high < 0.0);
                let shown = if told { shown } else { format!("({shown})") };
                if effect == best { table::bold(shown) } else { Cell::new(shown) }
            }));
        }
        grid.add_row(row);
    }
    let intervals = no_intervals(ran).map_or_else(
        || {
            let seeds = ran.seeds().len();
            format!("In brackets: not told from 0 by the 95 % interval from {seeds} seeds, which --format json has.")
        },
        str::to_owned,
    );
    format!("{}{}{intervals}\n", table::heading(&title), table::text(&grid))
}

/// Why a set has no intervals, if it has none.
pub fn no_intervals(ran: &Ran) -> Option<&'static str> {
    match ran.set.carrier {
        Carrier::Equations => Some("Nothing is drawn from a seed: there are no intervals."),
        _ => (ran.seeds().len() < 2).then_some("One seed: there are no intervals."),
    }
}

/// A policy against the others of a set.
fn separation(separated: &Separated) -> String {
    let Separated { set, policy, metric, others } = separated;
    let mut grid = table::new(&["against", ">effect", ">95 %, from", ">to", ""]);
    for gap in others {
        let end = |end: fn((f64, f64)) -> f64| {
            gap.difference.interval.map_or("-".into(), |interval| table::percent(end(interval)))
        };
        grid.add_row([
            gap.policy.clone(),
            table::percent(gap.difference.value),
            end(|(low, _)| low),
            end(|(_, high)| high),
            if gap.difference.is_clear() { String::new() } else { "not told apart".into() },
        ]);
    }
    let title = format!("What separates {policy}: {} ({set})", metric.title());
    format!("\n{}{}", table::heading(&title), table::text(&grid))
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
        (RowKind::Again, _) => "again",
        (RowKind::Calibration, _) => "calibration",
        (RowKind::Result, Verdict::Close) => "close",
        (RowKind::Result, Verdict::Sign) => "sign",
        (RowKind::Result, Verdict::Miss) => "miss",
    }
}

/// Every published number, and which null models come close to it.
fn published(rows: &[Row], null: &Null) -> String {
    let mut grid = table::new(&[">published", ">simulated", ">difference", "", "also close", "what", "source"]);
    let mut notes: Vec<&str> = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        let Row { published, simulated, verdict, .. } = row;
        let close = |model: &[Row]| model.get(place).is_some_and(|row| row.verdict == Verdict::Close);
        let also = match (close(&null.constant), close(&null.arithmetic)) {
            _ if published.kind != RowKind::Result => "",
            (true, true) => "both",
            (true, false) => "one effect",
            (false, true) => "arithmetic",
            (false, false) => "",
        };
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
            Cell::new(also),
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

/// How many rows came out, and of how many of them that says something.
fn summary(summary: &Summary) -> String {
    let columns = ["", ">right sign", ">within a third", ">close", ">within 10 %"];
    let mut grid = table::new(&columns);
    scores(summary).into_iter().for_each(|(name, shares)| {
        grid.add_row(std::iter::once(name.to_owned()).chain(shares));
    });
    format!("{}\n{}\n", table::text(&grid), counted(summary))
}

/// What came out, simulated and by null models: the right sign, within a third, close, within 10 %.
pub fn scores(summary: &Summary) -> [(&'static str, [String; 4]); 3] {
    let Summary { results, compared, effects, score, null, .. } = *summary;
    let of = |score: Score| {
        [
            share(score.sign, compared),
            share(score.within_a_third, effects),
            share(score.close, results),
            share(score.within_ten_percent, results),
        ]
    };
    [("simulated", of(score)), ("one effect for all", of(null.constant)), ("arithmetic", of(null.arithmetic))]
}

/// A number with its share of all.
fn share(count: usize, of: usize) -> String {
    format!("{count} ({:.0} %)", 100.0 * count as f64 / of.max(1) as f64)
}

/// What the scores are of, and how many rows say something.
pub fn counted(summary: &Summary) -> String {
    let Summary { results, compared, effects, tolerant, tolerant_close, rank_correlation, null, .. } = *summary;
    let mut text = format!(
        "Of {results} published results {compared} compare two things, and can have the right sign; {effects} are numbers other than 0, and can be\n\
         within a third. Close are also limits that are kept, and 0 where the paper saw nothing: to half a per cent, or to a tolerance\n\
         of its own that the experiment's file states (`within`; results: {tolerant}, close: {tolerant_close}). Two null models have no scheduler: one\n\
         puts the middle one of the published numbers of a metric in every row, the other shares out cores by a rule, and nothing else\n\
         happens. To {} results neither comes close; of these {} are close when simulated.",
        null.left,
        share(null.left_close, null.left),
    );
    if let Some(rank) = rank_correlation {
        let _ = write!(text, " Rank correlation of\npublished and simulated ratios within a metric: {rank:.2}.");
    }
    text
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
