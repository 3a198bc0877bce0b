//! Counts how many published numbers came out.

use std::iter;

use serde::Serialize;
use statrs::statistics::{Data, OrderStatistics, RankTieBreaker, Statistics};

use super::evaluate::Row;
use super::judge::{Verdict, expects_nothing};
use super::metric::Metric;
use super::null::Null;
use super::published::RowKind;

/// The order of two says nothing.
const LEAST_RANKED: usize = 3;

/// What the rows of kind `result` come to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// How many there are.
    pub results: usize,
    /// Of those, how many compare two things; the others are amounts, which have no sign that could be wrong.
    pub compared: usize,
    /// How many are numbers other than zero, not limits.
    pub effects: usize,
    /// How many are zero, and met by what is within a tolerance of their own (`within` in the experiment's file), not only by half a
    /// per cent.
    pub tolerant: usize,
    /// Of those, how many are close.
    pub tolerant_close: usize,
    /// How many of them came out.
    #[serde(flatten)]
    pub score: Score,
    /// Spearman's rank correlation of the published and the simulated ratios within a metric, the mean over metrics by their numbers
    /// of rows; `null` if there is no order.
    pub rank_correlation: Option<f64>,
    /// What null models come to.
    pub null: NullSummary,
}

/// How many rows came out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Score {
    /// Of those that compare, how many have the right sign, or no effect where the paper saw none.
    pub sign: usize,
    /// Of the numbers other than zero, how many are within a third of the published number; of a ratio, of what it differs from 1.
    pub within_a_third: usize,
    /// Of all, how many are close: within a third of the published number (of a ratio, of what it differs from 1), within a published
    /// limit, or no effect where the paper saw none.
    pub close: usize,
    /// How many are within 10 % of the published ratio (1 + effect) or amount.
    pub within_ten_percent: usize,
}

/// What models without any mechanism come to. Rows that one of them meets say nothing about a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NullSummary {
    /// Of each metric the published number in the middle, in every row.
    pub constant: Score,
    /// Cores are shared out by a rule, and nothing else happens (`arithmetic` in the experiment's file).
    pub arithmetic: Score,
    /// To how many results neither comes close.
    pub left: usize,
    /// Of those, how many are close when simulated.
    pub left_close: usize,
}

/// Counts the result rows of an experiment, and of null models of it.
pub fn tally(rows: &[Row], null: &Null) -> Summary {
    let results = of_results(rows);
    let (constant, arithmetic) = (of_results(&null.constant), of_results(&null.arithmetic));
    let close = |row: &Row| row.verdict == Verdict::Close;
    let met = constant.iter().zip(&arithmetic).map(|(constant, arithmetic)| close(constant) || close(arithmetic));
    // Without null models there is nothing to take off.
    let left: Vec<&&Row> =
        results.iter().zip(met.chain(iter::repeat(false))).filter(|(_, met)| !met).map(|(row, _)| row).collect();
    Summary {
        results: results.len(),
        compared: results.iter().filter(|row| is_compared(row)).count(),
        effects: results.iter().filter(|row| is_effect(row)).count(),
        tolerant: results.iter().filter(|row| is_tolerant(row)).count(),
        tolerant_close: results.iter().filter(|row| is_tolerant(row) && close(row)).count(),
        score: score(&results),
        rank_correlation: within_metrics(&results),
        null: NullSummary {
            constant: score(&constant),
            arithmetic: score(&arithmetic),
            left: left.len(),
            left_close: left.iter().filter(|row| close(row)).count(),
        },
    }
}

fn of_results(rows: &[Row]) -> Vec<&Row> {
    rows.iter().filter(|row| row.published.kind == RowKind::Result).collect()
}

fn score(results: &[&Row]) -> Score {
    let count = |fits: &dyn Fn(&Row) -> bool| results.iter().filter(|row| fits(row)).count();
    let within_ten = |row: &Row| {
        let off = row.simulated.map(|simulated| ratio(row, simulated) / ratio(row, row.published.published) - 1.0);
        off.is_some_and(|off| off.abs() <= 0.1)
    };
    Score {
        sign: count(&|row| is_compared(row) && row.verdict != Verdict::Miss),
        within_a_third: count(&|row| is_effect(row) && row.verdict == Verdict::Close),
        close: count(&|row| row.verdict == Verdict::Close),
        within_ten_percent: count(&within_ten),
    }
}

/// As a ratio, in which an effect of -10 % and one of -11 % are near each other.
fn ratio(row: &Row, value: f64) -> f64 {
    if row.published.is_effect() { 1.0 + value } else { value }
}

/// An amount, such as a power, has no sign that could be wrong.
fn is_compared(row: &Row) -> bool {
    row.published.is_compared()
}

/// What can be within a third: a number, and not the one that says that there is no effect.
fn is_effect(row: &Row) -> bool {
    row.published.bound.is_none() && !expects_nothing(&row.published)
}

fn is_tolerant(row: &Row) -> bool {
    row.published.within.is_some()
}

/// Between metrics the order is no merit: that energies fall less than times rise is known beforehand.
fn within_metrics(results: &[&Row]) -> Option<f64> {
    let mut metrics: Vec<(Metric, Vec<(f64, f64)>)> = Vec::new();
    for row in results.iter().filter(|row| is_compared(row)) {
        let Some(simulated) = row.simulated else { continue };
        let pair = (ratio(row, row.published.published), ratio(row, simulated));
        match metrics.iter_mut().find(|(metric, _)| *metric == row.published.metric) {
            Some((_, pairs)) => pairs.push(pair),
            None => metrics.push((row.published.metric, vec![pair])),
        }
    }
    let of_metric = |(_, pairs): &(Metric, Vec<(f64, f64)>)| {
        rank_correlation(pairs).filter(|_| pairs.len() >= LEAST_RANKED).map(|rank| (rank, pairs.len() as f64))
    };
    let ranks: Vec<(f64, f64)> = metrics.iter().filter_map(of_metric).collect();
    let rows: f64 = ranks.iter().map(|(_, rows)| rows).sum();
    (rows > 0.0).then(|| ranks.iter().map(|(rank, rows)| rank * rows).sum::<f64>() / rows)
}

/// Spearman's coefficient: Pearson's of the ranks, equal values sharing theirs.
fn rank_correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let ranks = |values: Vec<f64>| Data::new(values).ranks(RankTieBreaker::Average);
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (a, b) = (ranks(a), ranks(b));
    let correlation = a.iter().covariance(b.iter()) / (a.iter().std_dev() * b.iter().std_dev());
    correlation.is_finite().then_some(correlation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::file::Experiment;

    #[test]
    fn ranks_correlate_by_order_alone() {
        assert_eq!(rank_correlation(&[(1.0, 10.0), (2.0, 1000.0), (3.0, 1001.0)]), Some(1.0));
        assert_eq!(rank_correlation(&[(1.0, 3.0), (2.0, 2.0), (3.0, -5.0)]), Some(-1.0));
        assert_eq!(rank_correlation(&[(1.0, 3.0), (1.0, 2.0)]), None, "equal values have no order");
    }

    /// Amounts have no sign, limits and zeros cannot be within a third, and calibration is no result.
    #[test]
    fn each_share_is_of_those_that_could_have_missed() {
        let file = |published: f64, kind: &str, rest: &str| {
            format!(
                "[[row]]\nid = \"r\"\nwhat = \"\"\npublished = {published:?}\nsource = \"\"\nkind = \"{kind}\"\nmetric = \"time\"\n\
                 policy = \"new\"\nselect = {{ set = \"s\" }}\n{rest}\n"
            )
        };
        let compared = "baseline = \"old\"";
        let text = [
            "name = \"x\"\ntitle = \"x\"\npolicies = [\"old\", \"new\"]\nseed = 1\nset = []\n".to_owned(),
            file(-0.2, "result", compared),
            file(-0.4, "result", compared),
            file(0.1, "result", compared),
            file(0.0, "result", compared),
            file(-0.1, "result", &format!("{compared}\nbound = \"above\"")),
            file(3.0, "result", ""),
            file(-0.2, "calibration", compared),
            file(0.0, "result", &format!("{compared}\nwithin = 0.05")),
            file(0.0, "result", &format!("{compared}\nwithin = 0.05")),
        ];
        let experiment = Experiment::parse(&text.concat()).unwrap();
        let simulated = [-0.2, -0.1, -0.1, 0.0, -0.09, 3.5, -0.2, -0.04, 0.06];
        let rows: Vec<Row> =
            experiment.rows.iter().zip(simulated).map(|(row, value)| Row::of(row, Some(value))).collect();
        let summary = tally(&rows, &Null::default());
        assert_eq!(
            (summary.results, summary.compared, summary.score.sign),
            (8, 7, 5),
            "two have the wrong sign, one is an amount"
        );
        assert_eq!((summary.tolerant, summary.tolerant_close), (2, 1));
        assert_eq!((summary.effects, summary.score.within_a_third), (4, 2), "-0.2 and 3.5 W; not the limit, not 0");
        assert_eq!(summary.score.close, 4, "and 0, and 4 % within 5 %; a limit of 10 % is not kept by 9 %");
        assert_eq!((summary.null.left, summary.null.left_close), (8, 4), "no null model meets any");
        let null = |values: [f64; 9]| -> Vec<Row> {
            experiment.rows.iter().zip(values).map(|(row, value)| Row::of(row, Some(value))).collect()
        };
        let guesses =
            Null { constant: null([-0.2; 9]), arithmetic: null([0.0, 0.0, 0.1, 0.0, 0.0, 0.0, -0.2, 0.0, 0.0]) };
        let summary = tally(&rows, &guesses);
        assert_eq!(summary.null.constant.close, 2, "-0.2 itself, and it is above a limit of 10 %");
        assert_eq!(summary.null.arithmetic.close, 4);
        assert_eq!((summary.null.left, summary.null.left_close), (2, 1), "-0.4 and 3 W");
    }
}
