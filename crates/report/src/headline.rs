//! What a comparison amounts to, in sentences that the runs bear out.

use evenkeel_experiment::{Cell, Comparison};
use evenkeel_model::Difference;
use evenkeel_sweep::Summary;

use crate::number::{effect, percent};

/// What is shown as 0.0 % is no difference, however certain.
const TRIFLE: f64 = 0.0005;

/// Which policy brings programs home sooner than the baseline, if that can be told from chance; else that it cannot.
pub fn of(compared: &Comparison<'_>) -> String {
    let baseline = compared.policies[compared.baseline];
    let others = compared.others().filter_map(|policy| {
        let difference = compared.difference(policy, |run| run.h_antt)?;
        Some((compared.policies[policy], difference))
    });
    say(baseline, &others.collect::<Vec<_>>(), compared.drawn())
}

/// The same of a sweep.
pub fn of_sweep(summary: &Summary) -> String {
    let others = summary.policies.iter().filter_map(|policy| Some((policy.policy.as_str(), policy.h_antt?)));
    let others: Vec<_> = others.collect();
    if others.is_empty() && !summary.policies.is_empty() {
        return format!("Nothing is compared with {}: no combination has all of its runs", summary.baseline);
    }
    say(&summary.baseline, &others, summary.drawn)
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

/// `others` are turnarounds against the baseline's. `drawn` is whether seeds can make a difference.
fn say(baseline: &str, others: &[(&str, Difference)], drawn: bool) -> String {
    let Some((nearest, best)) = others.iter().min_by(|a, b| a.1.value.total_cmp(&b.1.value)) else {
        return format!("{baseline} alone");
    };
    if !drawn {
        let remark = "nothing is drawn from the seed, so this is no chance";
        return match best.value {
            value if value < -TRIFLE => {
                format!("{nearest} brings programs home {} than {baseline}; {remark}", than(value))
            }
            value if value > TRIFLE => {
                format!("{baseline} is ahead: {nearest} is {} and comes nearest; {remark}", than(value))
            }
            _ => format!("{nearest} brings programs home just when {baseline} does; {remark}"),
        };
    }
    if best.interval.is_none() {
        let than = than(best.value);
        return format!(
            "With one seed {nearest} brings programs home {than} than {baseline}: more seeds tell whether that is chance"
        );
    }
    if best.interval.is_some_and(|(low, high)| low > -TRIFLE && high < TRIFLE) {
        return format!(
            "Nothing brings programs home sooner than {baseline}; {nearest} does so just when {baseline} does"
        );
    }
    // The best of many is good by chance, too: what is said of it must hold for one picked out of them.
    let clear = |difference: &Difference| difference.is_clear_among(others.len());
    let winner = others.iter().filter(|(_, difference)| difference.value < -TRIFLE && clear(difference));
    if let Some((name, difference)) = winner.min_by(|a, b| a.1.value.total_cmp(&b.1.value)) {
        return format!(
            "{name} brings programs home {} than {baseline} ({})",
            than(difference.value),
            range(difference)
        );
    }
    let seeds = best.pairs();
    if others.iter().all(|(_, difference)| difference.value > TRIFLE && clear(difference)) {
        return format!("{baseline} is ahead of all others; {nearest} is {} ({})", than(best.value), range(best));
    }
    format!(
        "Nothing is told apart from {baseline} by {seeds} seeds; {nearest} comes out {} ({})",
        than(best.value),
        range(best)
    )
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

    fn said(others: &[(&str, &[f64])]) -> String {
        let others: Vec<_> = others.iter().map(|(name, logs)| (*name, difference(logs))).collect();
        say("cfs", &others, true)
    }

    #[test]
    fn a_winner_is_one_that_chance_does_not_explain() {
        let text = said(&[("gts", &[-0.2, 0.1, 0.0]), ("colab", &[-0.10, -0.11, -0.10])]);
        assert_eq!(text, "colab brings programs home 9.8 % sooner than cfs (95 % interval: -11.1 % to -8.5 %)");
        let text = said(&[("gts", &[-0.2, 0.1, 0.0])]);
        assert!(text.starts_with("Nothing is told apart from cfs by 3 seeds; gts comes out 3.3 % sooner"), "{text}");
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
        assert!(text.starts_with("Nothing is told apart from cfs by 3 seeds; a comes out 3.9 % sooner"), "{text}");
    }

    #[test]
    fn one_seed_says_nothing_about_chance_unless_nothing_is_drawn() {
        let text = said(&[("gts", &[-0.02])]);
        assert_eq!(
            text,
            "With one seed gts brings programs home 2.0 % sooner than cfs: more seeds tell whether that is chance"
        );
        let exact = say("cfs", &[("gts", difference(&[-0.02]))], false);
        assert_eq!(
            exact,
            "gts brings programs home 2.0 % sooner than cfs; nothing is drawn from the seed, so this is no chance"
        );
        assert_eq!(say("cfs", &[], true), "cfs alone");
    }
}
