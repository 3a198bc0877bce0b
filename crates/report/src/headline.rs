//! What a comparison amounts to, in sentences that the runs bear out.

use evenkeel_experiment::{Cell, Comparison};
use evenkeel_model::Difference;
use evenkeel_sweep::{PolicySummary, Summary};

use crate::number::{effect, percent};

/// What is shown as 0.0 % is no difference, however certain.
const TRIFLE: f64 = 0.0005;

/// A policy against the baseline by turnaround.
struct Found<'a> {
    policy: &'a str,
    difference: Difference,
    /// In how many combinations they are compared.
    cells: u64,
}

/// Which policy brings programs home sooner than the baseline, if that can be told from chance; else that it cannot.
pub fn of(compared: &Comparison<'_>) -> String {
    let others = compared.others().filter_map(|policy| {
        let difference = compared.difference(policy, |run| run.h_antt)?;
        let cells = compared.compared(policy, |run| run.h_antt) as u64;
        Some(Found { policy: compared.policies[policy], difference, cells })
    });
    let (baseline, cells) = (compared.policies[compared.baseline], compared.cells.len() as u64);
    let all = compared.others().count();
    say(baseline, all, cells, &others.collect::<Vec<_>>(), compared.drawn())
}

/// The same of a sweep.
pub fn of_sweep(summary: &Summary) -> String {
    let others = summary
        .policies
        .iter()
        .filter_map(|of| Some(Found { policy: &of.policy, difference: of.effects.h_antt?, cells: of.cells }));
    let all = summary.policies.len();
    say(&summary.baseline, all, summary.cells, &others.collect::<Vec<_>>(), summary.drawn)
}

/// In how many cells a policy of a sweep is better, worse, and neither by 95 % intervals; nothing where there are no intervals.
pub fn verdicts(summary: &Summary, of: &PolicySummary) -> [String; 3] {
    if one_seed(summary) {
        return Default::default();
    }
    [of.better, of.worse, of.cells.saturating_sub(of.better + of.worse)].map(|cells| cells.to_string())
}

/// What a reader has to know of the verdicts of a sweep.
pub fn of_verdicts(summary: &Summary) -> &'static str {
    match one_seed(summary) {
        true if summary.drawn => "One seed cannot tell better and worse from chance: more seeds tell.",
        true => "Nothing is drawn from the seed, so that there are no intervals to tell better and worse by.",
        false => {
            "Better and worse: of these, those whose own H_ANTT differs by its 95 % interval; of equal ones one in twenty does by \
             chance."
        }
    }
}

/// An interval needs two seeds.
fn one_seed(summary: &Summary) -> bool {
    summary.policies.iter().filter_map(|of| of.effects.h_antt).all(|difference| difference.interval.is_none())
}

/// Turnarounds on a workload and machine in each core order, where there are several. Which one a machine has is not a matter of
/// chance.
pub fn by_order(compared: &Comparison<'_>, cell: &Cell<'_>) -> Option<String> {
    if compared.orders.len() < 2 {
        return None;
    }
    let of = |policy: usize| {
        let orders = compared.orders.iter().enumerate().map(|(position, order)| {
            let difference = cell.difference_in(position, policy, compared.baseline, |run| run.h_antt);
            format!("{} {}", effect(difference), order.name())
        });
        format!("{} {}", compared.policies[policy], orders.collect::<Vec<_>>().join(", "))
    };
    let policies: Vec<String> = compared.others().map(of).collect();
    (!policies.is_empty()).then(|| format!("H_ANTT by core order: {}", policies.join("; ")))
}

/// `others` are those of `all` other policies that are compared with the baseline in any of the cells. `drawn` is whether seeds can
/// make a difference.
fn say(baseline: &str, all: usize, cells: u64, others: &[Found<'_>], drawn: bool) -> String {
    let sooner = |a: &&Found<'_>, b: &&Found<'_>| a.difference.value.total_cmp(&b.difference.value);
    let Some(best) = others.iter().min_by(sooner) else {
        return match all {
            0 => format!("{baseline} alone"),
            _ => format!("Nothing is compared with {baseline}: no combination has a turnaround in all of its runs"),
        };
    };
    let nearest = best.policy;
    if !drawn {
        let remark = "nothing is drawn from the seed, so this is no chance";
        let text = match best.difference.value {
            value if value < -TRIFLE => format!("{nearest} brings programs home {} than {baseline}", than(value)),
            value if value > TRIFLE => format!("{baseline} is ahead: {nearest} is {} and comes nearest", than(value)),
            _ => format!("{nearest} brings programs home just when {baseline} does"),
        };
        return format!("{text}{}; {remark}", partly(best, cells));
    }
    let Some((low, high)) = best.difference.interval else {
        let (than, partly) = (than(best.difference.value), partly(best, cells));
        return format!(
            "With one seed {nearest} brings programs home {than} than {baseline}{partly}: more seeds tell whether that is chance"
        );
    };
    if low > -TRIFLE && high < TRIFLE {
        let partly = partly(best, cells);
        return format!(
            "Nothing brings programs home sooner than {baseline}; {nearest} does so just when {baseline} does{partly}"
        );
    }
    // The best of many is good by chance, too: what is said of it must hold for one picked out of them.
    let clear = |found: &Found<'_>| found.difference.is_clear_among(others.len());
    let winner = others.iter().filter(|found| found.difference.value < -TRIFLE && clear(found)).min_by(sooner);
    let (found, text) = match winner {
        Some(found) => (found, format!("{} brings programs home {}", found.policy, than(found.difference.value))),
        None if others.iter().all(|found| found.difference.value > TRIFLE && clear(found)) => {
            (best, format!("{baseline} is ahead of all others; {nearest} is {}", than(best.difference.value)))
        }
        None => {
            let (than, seeds) = (than(best.difference.value), best.difference.pairs());
            let none = format!("No policy is told to be sooner than {baseline} by {seeds} seeds");
            (best, format!("{none}; {nearest} comes out {than}"))
        }
    };
    let against = if winner.is_some() { format!(" than {baseline}") } else { String::new() };
    format!("{text}{against}{} ({})", partly(found, cells), range(&found.difference))
}

/// Where not all combinations count, in how many of them.
fn partly(found: &Found<'_>, cells: u64) -> String {
    if found.cells < cells { format!(", in {} of {cells} combinations", found.cells) } else { String::new() }
}

/// `5.0 % sooner`.
fn than(value: f64) -> String {
    let share = percent(value.abs());
    format!("{} {}", share.trim_start_matches('+'), if value <= 0.0 { "sooner" } else { "later" })
}

/// The interval in words.
fn range(difference: &Difference) -> String {
    let Some((low, high)) = difference.interval else { return String::new() };
    format!("95 % interval: {} to {}", percent(low), percent(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(logs: &[f64]) -> Difference {
        Difference::of_logarithms(logs.iter().copied()).unwrap()
    }

    fn said(others: &[(&'static str, &[f64])]) -> String {
        let found = |(policy, logs): &(&'static str, &[f64])| Found { policy, difference: difference(logs), cells: 3 };
        let others: Vec<Found<'_>> = others.iter().map(found).collect();
        say("cfs", others.len(), 3, &others, true)
    }

    #[test]
    fn a_winner_is_one_that_chance_does_not_explain() {
        let text = said(&[("gts", &[-0.2, 0.1, 0.0]), ("colab", &[-0.10, -0.11, -0.10])]);
        assert_eq!(text, "colab brings programs home 9.8 % sooner than cfs (95 % interval: -11.1 % to -8.5 %)");
        let text = said(&[("gts", &[-0.2, 0.1, 0.0])]);
        assert!(
            text.starts_with("No policy is told to be sooner than cfs by 3 seeds; gts comes out 3.3 % sooner"),
            "{text}"
        );
        let text = said(&[("gts", &[0.10, 0.11, 0.10])]);
        assert!(text.starts_with("cfs is ahead of all others; gts is 10.9 % later (95 %"), "{text}");
    }

    #[test]
    fn what_is_shown_as_nothing_is_nothing() {
        let text = said(&[("eevdf", &[-0.0001, -0.0001]), ("gts", &[0.1, 0.1])]);
        assert_eq!(text, "Nothing brings programs home sooner than cfs; eevdf does so just when cfs does");
    }

    #[test]
    fn the_best_of_many_must_be_clearer_than_one() {
        // t is 6.9: by itself clear (4.3), as one of three not (7.6).
        let near: &[f64] = &[-0.03, -0.04, -0.05];
        assert!(said(&[("a", near)]).starts_with("a brings programs home 3.9 % sooner"));
        let chance: &[f64] = &[-0.01, 0.01, 0.0];
        let text = said(&[("a", near), ("b", chance), ("c", chance)]);
        assert!(
            text.starts_with("No policy is told to be sooner than cfs by 3 seeds; a comes out 3.9 % sooner"),
            "{text}"
        );
    }

    #[test]
    fn one_seed_says_nothing_about_chance_unless_nothing_is_drawn() {
        let text = said(&[("gts", &[-0.02])]);
        assert_eq!(
            text,
            "With one seed gts brings programs home 2.0 % sooner than cfs: more seeds tell whether that is chance"
        );
        let gts = |cells| [Found { policy: "gts", difference: difference(&[-0.02]), cells }];
        let exact = say("cfs", 1, 3, &gts(3), false);
        assert_eq!(
            exact,
            "gts brings programs home 2.0 % sooner than cfs; nothing is drawn from the seed, so this is no chance"
        );
        let partly = say("cfs", 1, 3, &gts(2), true);
        assert!(
            partly.starts_with("With one seed gts brings programs home 2.0 % sooner than cfs, in 2 of 3 comb"),
            "{partly}"
        );
        assert_eq!(say("cfs", 0, 3, &[], true), "cfs alone");
        assert!(say("cfs", 1, 3, &[], true).starts_with("Nothing is compared with cfs"));
    }
}
