//! Judges simulated numbers by published ones, and counts how many came out.

use statrs::statistics::{Data, OrderStatistics, RankTieBreaker, Statistics};

use super::evaluate::Evaluated;
use super::experiment::{Bound, Compare, Published};
use crate::json::{Kind, Summary};

/// How a row came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The right sign and within a third of the published number; or within the published bound; or no effect where the paper
    /// saw none.
    Close,
    /// The right sign.
    Sign,
    /// Another sign, or nothing.
    Miss,
}

/// Judges a row. A published "no effect" is met by what prints as 0 %, or by what the paper could not tell from it. What
/// prints as 0 % is also below any limit, and any gain is "no loss", no effect or above.
pub fn verdict(published: &Published, simulated: f64) -> Verdict {
    let of = |value: f64| if is_ratio(published) { value - 1.0 } else { value };
    let (expected, simulated) = (of(published.published), of(simulated));
    if expected == 0.0 {
        let nothing = simulated.abs() < published.within.unwrap_or(0.005);
        let gain = published.bound == Some(Bound::Above) && (simulated > 0.0) == published.metric.more_is_better();
        return if nothing || gain { Verdict::Close } else { Verdict::Miss };
    }
    if simulated.abs() < 0.005 && published.bound == Some(Bound::Below) {
        return Verdict::Close;
    }
    if simulated * expected <= 0.0 {
        return Verdict::Miss;
    }
    let near = (simulated - expected).abs() <= expected.abs() / 3.0;
    let close = match published.bound {
        None => near,
        Some(Bound::Below) => simulated.abs() <= expected.abs(),
        Some(Bound::Above) => simulated.abs() >= expected.abs(),
    };
    if close { Verdict::Close } else { Verdict::Sign }
}

/// Whether the paper saw no effect.
fn expects_nothing(published: &Published) -> bool {
    published.published == if is_ratio(published) { 1.0 } else { 0.0 }
}

fn is_ratio(published: &Published) -> bool {
    published.baseline.is_some() && published.compare == Compare::Ratio
}

/// What the result rows of an experiment come to.
pub fn tally(rows: &[Evaluated<'_>]) -> Summary {
    let results: Vec<&Evaluated<'_>> = rows.iter().filter(|row| row.row.kind == Kind::Result).collect();
    let count = |fits: &dyn Fn(&Evaluated<'_>) -> bool| results.iter().filter(|row| fits(row)).count();
    // As ratios, in which an effect of -10 % and one of -11 % are near each other.
    let ratio = |row: &Evaluated<'_>, value: f64| {
        let effect = row.published.baseline.is_some() && row.published.compare == Compare::Effect;
        if effect { 1.0 + value } else { value }
    };
    let within_ten = |row: &Evaluated<'_>| {
        let simulated = row.row.simulated.map(|simulated| ratio(row, simulated) / ratio(row, row.row.published) - 1.0);
        simulated.is_some_and(|off| off.abs() <= 0.1)
    };
    // An amount, such as a power, has no sign that could be wrong.
    let is_compared = |row: &Evaluated<'_>| row.published.baseline.is_some();
    // What can be within a third: a number, and not the one that says that there is no effect.
    let is_effect = |row: &Evaluated<'_>| row.published.bound.is_none() && !expects_nothing(row.published);
    let compared = results.iter().filter(|row| is_compared(row));
    let pairs: Vec<(f64, f64)> =
        compared.filter_map(|row| Some((ratio(row, row.row.published), ratio(row, row.row.simulated?)))).collect();
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
    use crate::json::Row;
    use crate::reproduce::experiment::Experiment;

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
        let rows: Vec<Evaluated<'_>> =
            experiment.rows.iter().zip(simulated).map(|(row, value)| judged(row, value)).collect();
        let summary = tally(&rows);
        assert_eq!(
            (summary.results, summary.compared, summary.sign),
            (6, 5, 4),
            "one has the wrong sign, one is an amount"
        );
        assert_eq!((summary.effects, summary.within_a_third), (4, 2), "-0.2 and 3.5 W; not the limit, not 0");
        assert_eq!(summary.close, 3, "and 0; a limit of 10 % is not kept by 9 %");
    }

    fn judged(published: &Published, simulated: f64) -> Evaluated<'_> {
        let row = Row {
            id: published.id.clone(),
            what: String::new(),
            published: published.published,
            simulated: Some(simulated),
            difference: Some(simulated - published.published),
            source: String::new(),
            kind: published.kind,
        };
        Evaluated { row, published, verdict: verdict(published, simulated) }
    }
}
