//! Counts how many published numbers came out.

use serde::Serialize;
use statrs::statistics::{Data, OrderStatistics, RankTieBreaker, Statistics};

use super::evaluate::Row;
use super::judge::{Verdict, expects_nothing};
use super::published::RowKind;

/// What the rows of kind `result` come to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// How many there are.
    pub results: usize,
    /// Of those, how many compare two things; the others are amounts, which have no sign that could be wrong.
    pub compared: usize,
    /// Of those that compare, how many have the right sign, or no effect where the paper saw none.
    pub sign: usize,
    /// How many are numbers other than zero, not limits.
    pub effects: usize,
    /// Of those, how many are within a third of the published number.
    pub within_a_third: usize,
    /// Of all, how many are close: within a third of the published number, within a published limit, or no effect where the
    /// paper saw none.
    pub close: usize,
    /// How many are within 10 % of the published ratio (1 + effect) or amount.
    pub within_ten_percent: usize,
    /// Spearman's rank correlation of the published and the simulated ratios; `null` if there is no order.
    pub rank_correlation: Option<f64>,
}

/// Counts the result rows of an experiment.
pub fn tally(rows: &[Row]) -> Summary {
    let results: Vec<&Row> = rows.iter().filter(|row| row.published.kind == RowKind::Result).collect();
    let count = |fits: &dyn Fn(&Row) -> bool| results.iter().filter(|row| fits(row)).count();
    // As ratios, in which an effect of -10 % and one of -11 % are near each other.
    let ratio = |row: &Row, value: f64| if row.published.is_effect() { 1.0 + value } else { value };
    let within_ten = |row: &Row| {
        let simulated =
            row.simulated.map(|simulated| ratio(row, simulated) / ratio(row, row.published.published) - 1.0);
        simulated.is_some_and(|off| off.abs() <= 0.1)
    };
    // An amount, such as a power, has no sign that could be wrong.
    let is_compared = |row: &Row| row.published.baseline.is_some();
    // What can be within a third: a number, and not the one that says that there is no effect.
    let is_effect = |row: &Row| row.published.bound.is_none() && !expects_nothing(&row.published);
    let compared = results.iter().filter(|row| is_compared(row));
    let pairs: Vec<(f64, f64)> =
        compared.filter_map(|row| Some((ratio(row, row.published.published), ratio(row, row.simulated?)))).collect();
    Summary {
        results: results.len(),
        compared: count(&is_compared),
        sign: count(&|row| is_compared(row) && row.verdict != Verdict::Miss),
        effects: count(&is_effect),
        within_a_third: count(&|row| is_effect(row) && row.verdict == Verdict::Close),
        close: count(&|row| row.verdict == Verdict::Close),
        within_ten_percent: count(&within_ten),
        rank_correlation: rank_correlation(&pairs),
    }
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
            file(-0.3, "result", compared),
            file(0.1, "result", compared),
            file(0.0, "result", compared),
            file(-0.1, "result", &format!("{compared}\nbound = \"above\"")),
            file(3.0, "result", ""),
            file(-0.2, "calibration", compared),
        ];
        let experiment = Experiment::parse(&text.concat()).unwrap();
        let simulated = [-0.2, -0.1, -0.1, 0.0, -0.09, 3.5, -0.2];
        let rows: Vec<Row> =
            experiment.rows.iter().zip(simulated).map(|(row, value)| Row::of(row, Some(value))).collect();
        let summary = tally(&rows);
        assert_eq!(
            (summary.results, summary.compared, summary.sign),
            (6, 5, 4),
            "one has the wrong sign, one is an amount"
        );
        assert_eq!((summary.effects, summary.within_a_third), (4, 2), "-0.2 and 3.5 W; not the limit, not 0");
        assert_eq!(summary.close, 3, "and 0; a limit of 10 % is not kept by 9 %");
    }
}
