//! What a comparison amounts to, in sentences that the runs bear out.

use evenkeel_experiment::paper::{Reproduction, Separated};
use evenkeel_experiment::{Cell, Comparison, catalog};
use evenkeel_model::Difference;
use evenkeel_sweep::{PolicySummary, Summary};

use crate::number::{effect, percent};

/// What is shown as 0.0 % is no difference, however certain.
const TRIFLE: f64 = 0.0005;

/// The mean of equal numbers differs from them by less.
const EQUAL: f64 = 1e-12;

/// What less and more of a turnaround are called, and of any metric.
const TURNAROUND: [&str; 2] = ["sooner", "later"];
const ANY: [&str; 2] = ["lower", "higher"];

/// A policy against the baseline by turnaround.
struct Found<'a> {
    policy: &'a str,
    difference: Difference,
    /// How many seeds that is from.
    seeds: usize,
    /// In how many combinations they are compared.
    cells: u64,
}

/// Which policy brings programs home sooner than the baseline, if that can be told from chance; else that it cannot.
pub fn of(compared: &Comparison<'_>) -> String {
    let others = compared.others().filter_map(|policy| {
        let difference = compared.difference(policy, |run| run.h_antt)?;
        let cells = compared.compared(policy, |run| run.h_antt) as u64;
        Some(Found { policy: compared.policies[policy], difference, seeds: difference.pairs(), cells })
    });
    let (baseline, cells) = (compared.policies[compared.baseline], compared.cells.len() as u64);
    let all = compared.others().count();
    say(baseline, all, cells, &others.collect::<Vec<_>>(), compared.drawn())
}

/// The same of a sweep.
pub fn of_sweep(summary: &Summary) -> String {
    let others = summary.policies.iter().filter_map(|of| {
        Some(Found { policy: &of.policy, difference: of.effects.h_antt?, seeds: summary.seeds, cells: of.cells })
    });
    let all = summary.policies.len();
    say(&summary.baseline, all, summary.cells, &others.collect::<Vec<_>>(), summary.drawn)
}

/// What the policy of a paper does against the first one of the set in which it is told apart from others; `None` where it is told
/// apart from none, or not from that one.
pub fn of_reproduction(reproduction: &Reproduction) -> Option<String> {
    let separated = reproduction.separated.first()?;
    let ran = reproduction.sets.iter().find(|ran| ran.set.name == separated.set)?;
    say_separated(separated, ran.policies.first()?)
}

fn say_separated(separated: &Separated, baseline: &str) -> Option<String> {
    let Separated { set, policy, metric, others } = separated;
    let difference = others.iter().find(|gap| gap.policy == baseline)?.difference;
    let (of, seeds) = (format!("{} of {policy}", metric.title()), difference.pairs());
    let by = directed(difference.value, ANY);
    let range = range("95 % interval", difference.interval, ANY);
    Some(match difference.interval {
        None => format!(
            "With one seed {of} is {by} than that of {baseline} ({set}): more seeds tell whether that is chance"
        ),
        Some((low, high)) if low > -TRIFLE && high < TRIFLE => {
            format!("{of} is just that of {baseline} ({set}, {seeds} seeds)")
        }
        Some(_) if difference.is_clear() => {
            format!("{of} is {by} than that of {baseline} ({range}; {set}, {seeds} seeds)")
        }
        Some(_) => {
            format!("{of} is not told from that of {baseline} by {seeds} seeds; it comes out {by} ({range}; {set})")
        }
    })
}

/// In how many cells a policy of a sweep is better, worse, and neither by 95 % intervals; nothing where there are no intervals.
pub fn verdicts(summary: &Summary, of: &PolicySummary) -> [String; 3] {
    if one_seed(summary) {
        return Default::default();
    }
    [of.better, of.worse, of.cells.saturating_sub(of.better + of.worse)].map(|cells| cells.to_string())
}

/// What a reader has to know of the verdicts of a sweep, if there are any.
pub fn of_verdicts(summary: &Summary) -> Option<&'static str> {
    summary.policies.iter().any(|of| of.effects.h_antt.is_some()).then(|| match one_seed(summary) {
        true if summary.drawn => "One seed cannot tell better and worse from chance: more seeds tell.",
        true => "Nothing is drawn from the seed, so that there are no intervals to tell better and worse by.",
        false => {
            "Better and worse: of these, those whose own H_ANTT differs by its 95 % interval; of equal ones one in twenty does by \
             chance."
        }
    })
}

/// An interval needs two seeds.
fn one_seed(summary: &Summary) -> bool {
    summary.seeds < 2
}

/// Turnarounds in each core order, where there are several: on a workload and machine, or the means over all. Which one a machine
/// has is not a matter of chance.
pub fn by_order(compared: &Comparison<'_>, cell: Option<&Cell<'_>>) -> Option<String> {
    let orders: Vec<&str> = compared.orders.iter().map(|order| order.name()).collect();
    let effects = |policy: usize| {
        let in_order = |order: usize| compared.effect(cell, Some(order), policy, |run| run.h_antt);
        (0..orders.len()).map(in_order).collect::<Vec<_>>()
    };
    let others = compared.others().map(|policy| (compared.policies[policy], effects(policy)));
    say_by_order(&orders, &others.collect::<Vec<_>>())
}

/// The same of a sweep.
pub fn by_order_of_sweep(summary: &Summary) -> Option<String> {
    let values = &summary.by_order()?.values;
    let orders: Vec<&str> = values.iter().map(|at| at.value.as_str()).collect();
    let effects = |policy: usize| values.iter().map(|at| at.policies[policy].h_antt).collect::<Vec<_>>();
    let others = summary.policies.iter().enumerate().map(|(policy, of)| (of.policy.as_str(), effects(policy)));
    say_by_order(&orders, &others.collect::<Vec<_>>())
}

/// `others` have an effect for each order.
fn say_by_order(orders: &[&str], others: &[(&str, Vec<Option<Difference>>)]) -> Option<String> {
    let of = |(policy, effects): &(&str, Vec<Option<Difference>>)| {
        let effects = effects.iter().zip(orders).map(|(of, order)| format!("{} {order}", effect(*of)));
        format!("{policy} {}", effects.collect::<Vec<_>>().join(", "))
    };
    let said = || format!("H_ANTT by core order: {}", others.iter().map(of).collect::<Vec<_>>().join("; "));
    (orders.len() > 1 && !others.is_empty()).then(said)
}

/// `others` are those of `all` other policies that are compared with the baseline in any of the cells. `drawn` is whether seeds can
/// make a difference.
fn say(baseline: &str, all: usize, cells: u64, others: &[Found<'_>], drawn: bool) -> String {
    let sooner = |a: &&Found<'_>, b: &&Found<'_>| a.difference.value.total_cmp(&b.difference.value);
    // What must know the future is there to compare with, and cannot be had; alone it is spoken of all the same.
    let usable: Vec<&Found<'_>> = others.iter().filter(|found| !knows_the_future(found.policy)).collect();
    let others = if usable.is_empty() { others.iter().collect() } else { usable };
    let Some(best) = others.iter().copied().min_by(sooner) else {
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
    let winner = others.iter().copied().filter(|found| found.difference.value < -TRIFLE && clear(found)).min_by(sooner);
    if let Some(found) = winner {
        let (partly, than) = (partly(found, cells), than(found.difference.value));
        let range = range("95 % interval", found.difference.interval, TURNAROUND);
        let alike = alike(found, &others);
        return format!("{} brings programs home {than} than {baseline}{partly} ({range}){alike}", found.policy);
    }
    let (than, partly) = (than(best.difference.value), partly(best, cells));
    if others.iter().all(|found| found.difference.value > TRIFLE && clear(found)) {
        let range = range("95 % interval", best.difference.interval, TURNAROUND);
        return format!("{baseline} is ahead of all others; {nearest} is {than}{partly} ({range})");
    }
    let what = match others.len() {
        1 => "95 % interval".to_owned(),
        several => format!("95 % interval of the best of {several}"),
    };
    let range = range(&what, best.difference.interval_among(others.len()), TURNAROUND);
    let seeds = best.seeds;
    format!(
        "No policy is told to be sooner than {baseline} by {seeds} seeds; {nearest} comes out {than}{partly} ({range})"
    )
}

/// Which others do as much as the winner as far as its interval tells: one is named, and is not the only choice.
fn alike(winner: &Found<'_>, others: &[&Found<'_>]) -> String {
    let Some((low, high)) = winner.difference.interval else { return String::new() };
    let within = |found: &&&Found<'_>| (low..=high).contains(&found.difference.value) && found.policy != winner.policy;
    let names: Vec<&str> = others.iter().filter(within).map(|found| found.policy).collect();
    match &names[..] {
        [] => String::new(),
        [one] => format!("; {one} is within that, too"),
        [first @ .., last] => format!("; {} and {last} are within that, too", first.join(", ")),
    }
}

/// Whether a policy can only be simulated, since it must know the future of every thread.
fn knows_the_future(policy: &str) -> bool {
    catalog::policy(policy).is_ok_and(|policy| policy.description().foresight)
}

/// Where not all combinations count, in how many of them.
fn partly(found: &Found<'_>, cells: u64) -> String {
    if found.cells < cells { format!(", in {} of {cells} combinations", found.cells) } else { String::new() }
}

/// `5.0 % sooner`.
fn than(value: f64) -> String {
    directed(value, TURNAROUND)
}

/// The same in the words for less and for more.
fn directed(value: f64, [less, more]: [&str; 2]) -> String {
    let share = percent(value.abs());
    format!("{} {}", share.trim_start_matches('+'), if value <= 0.0 { less } else { more })
}

/// An interval in words: `8.1 % to 0.5 % sooner`.
fn range(what: &str, interval: Option<(f64, f64)>, words: [&str; 2]) -> String {
    let Some((low, high)) = interval else { return String::new() };
    let (from, to) = (directed(low, words), directed(high, words));
    let share = |text: &str| text.rsplit_once(' ').map(|(share, _)| share.to_owned()).unwrap_or_default();
    match () {
        // Of many seeds, or of some that happen to be alike, the mean is known well, however much they differ.
        () if high - low < EQUAL => "the same with every seed".into(),
        () if from == to => format!("{what}: {from}"),
        () if low > 0.0 || high <= 0.0 => format!("{what}: {} to {to}", share(&from)),
        () => format!("{what}: {from} to {to}"),
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_experiment::paper::{Gap, Metric};
    use evenkeel_sweep::Effects;

    use super::*;

    fn difference(logs: &[f64]) -> Difference {
        Difference::of_logarithms(logs.iter().copied()).unwrap()
    }

    fn said(others: &[(&'static str, &[f64])]) -> String {
        let found = |(policy, logs): &(&'static str, &[f64])| Found {
            policy,
            difference: difference(logs),
            seeds: logs.len(),
            cells: 3,
        };
        let others: Vec<Found<'_>> = others.iter().map(found).collect();
        say("cfs", others.len(), 3, &others, true)
    }

    #[test]
    fn a_winner_is_one_that_chance_does_not_explain() {
        let text = said(&[("gts", &[-0.2, 0.1, 0.0]), ("colab", &[-0.10, -0.11, -0.10])]);
        assert_eq!(text, "colab brings programs home 9.8 % sooner than cfs (95 % interval: 11.1 % to 8.5 % sooner)");
        let text = said(&[("gts", &[-0.2, 0.1, 0.0])]);
        assert!(
            text.starts_with("No policy is told to be sooner than cfs by 3 seeds; gts comes out 3.3 % sooner"),
            "{text}"
        );
        let text = said(&[("gts", &[0.10, 0.11, 0.10])]);
        assert!(text.starts_with("cfs is ahead of all others; gts is 10.9 % later (95 %"), "{text}");
    }

    #[test]
    fn others_that_do_as_much_as_the_winner_are_named() {
        let (best, near, far): (&[f64], &[f64], &[f64]) =
            (&[-0.12, -0.10, -0.11], &[-0.10, -0.10, -0.11], &[-0.02, -0.02, -0.03]);
        let text = said(&[("gts", near), ("colab", best), ("eas", far)]);
        assert!(text.ends_with(" sooner); gts is within that, too"), "{text}");
        let text = said(&[("gts", near), ("pfs", near), ("colab", best), ("fcf", near)]);
        assert!(
            text.starts_with("colab brings") && text.ends_with("; gts, pfs and fcf are within that, too"),
            "{text}"
        );
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
    fn an_interval_is_that_of_what_is_said() {
        // By itself clear, as the best of three not: the interval that is printed has no difference in it.
        let text = said(&[("a", &[-0.03, -0.04, -0.05]), ("b", &[-0.01, 0.01, 0.0]), ("c", &[-0.01, 0.01, 0.0])]);
        assert!(text.ends_with("(95 % interval of the best of 3: 8.1 % sooner to 0.4 % later)"), "{text}");
        let text = said(&[("pfs", &[-0.1, -0.1, -0.1])]);
        assert_eq!(text, "pfs brings programs home 9.5 % sooner than cfs (the same with every seed)");
    }

    #[test]
    fn a_narrow_interval_does_not_say_that_seeds_are_alike() {
        let logs: Vec<f64> = (0..100_000).map(|seed| if seed % 2 == 0 { -0.15 } else { -0.05 }).collect();
        let text = said(&[("pfs", &logs)]);
        assert!(text.ends_with(" sooner than cfs (95 % interval: 9.5 % sooner)"), "{text}");
    }

    #[test]
    fn core_orders_are_told_apart_where_there_are_several() {
        let (less, more): (&[f64], &[f64]) = (&[-0.1, -0.1], &[0.1, 0.11]);
        let gts = ("gts", vec![Some(difference(less)), Some(difference(more))]);
        let colab = ("colab", vec![None, Some(difference(less))]);
        assert_eq!(
            say_by_order(&["big-first", "little-first"], &[gts.clone(), colab]).as_deref(),
            Some(
                "H_ANTT by core order: gts -9.5 % big-first, +11.1 ±7.1 % little-first; \
                 colab - big-first, -9.5 % little-first"
            )
        );
        assert_eq!(say_by_order(&["declared"], &[gts]), None);
        assert_eq!(say_by_order(&["big-first", "little-first"], &[]), None, "a baseline alone");
    }

    #[test]
    fn the_policy_of_a_paper_is_told_from_the_baseline_or_said_not_to_be() {
        let said = |logs: &[f64]| {
            let gap = |policy: &str, logs: &[f64]| Gap { policy: policy.into(), difference: difference(logs) };
            let (set, policy) = ("mixes".into(), "colab:own".into());
            let others = vec![gap("gts", &[0.5, 0.5]), gap("cfs", logs)];
            say_separated(&Separated { set, policy, metric: Metric::HAntt, others }, "cfs").unwrap()
        };
        assert_eq!(
            said(&[-0.10, -0.11, -0.10]),
            "H_ANTT of colab:own is 9.8 % lower than that of cfs (95 % interval: 11.1 % to 8.5 % lower; mixes, 3 seeds)"
        );
        let more = said(&[0.10, 0.11, 0.10]);
        assert!(more.starts_with("H_ANTT of colab:own is 10.9 % higher than that of cfs (95 % "), "{more}");
        let chance = said(&[-0.2, 0.1, 0.0]);
        assert!(
            chance.starts_with("H_ANTT of colab:own is not told from that of cfs by 3 seeds; it comes out 3.3 % lower")
                && chance.contains(" lower to ")
                && chance.ends_with(" higher; mixes)"),
            "{chance}"
        );
        assert_eq!(said(&[-0.0001, -0.0001]), "H_ANTT of colab:own is just that of cfs (mixes, 2 seeds)");
        let one = said(&[-0.02]);
        assert!(
            one.starts_with("With one seed H_ANTT of colab:own is 2.0 % lower than that of cfs (mixes): "),
            "{one}"
        );
    }

    #[test]
    fn of_five_seeds_none_is_to_blame_where_nothing_is_compared() {
        let of = PolicySummary { policy: "gts".into(), effects: Effects::default(), cells: 0, better: 0, worse: 0 };
        let summary = Summary {
            baseline: "cfs".into(),
            cells: 1,
            seeds: 5,
            failed: 5,
            first_error: None,
            drawn: true,
            policies: vec![of],
            varied: Vec::new(),
        };
        assert_eq!(of_verdicts(&summary), None);
        assert_eq!(verdicts(&summary, &summary.policies[0]), ["0", "0", "0"]);
    }

    #[test]
    fn what_knows_the_future_wins_nothing() {
        let (oracle, pfs): (&[f64], &[f64]) = (&[-0.5, -0.51, -0.5], &[-0.10, -0.11, -0.10]);
        let text = said(&[("oracle:goal=makespan", oracle), ("pfs", pfs)]);
        assert!(text.starts_with("pfs brings programs home 9.8 % sooner"), "{text}");
        assert!(said(&[("oracle", oracle)]).starts_with("oracle brings programs home 39.5 % sooner"));
    }

    #[test]
    fn one_seed_says_nothing_about_chance_unless_nothing_is_drawn() {
        let text = said(&[("gts", &[-0.02])]);
        assert_eq!(
            text,
            "With one seed gts brings programs home 2.0 % sooner than cfs: more seeds tell whether that is chance"
        );
        let gts = |cells| [Found { policy: "gts", difference: difference(&[-0.02]), seeds: 1, cells }];
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
