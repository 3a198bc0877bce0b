//! The page of a sweep.

use evenkeel_model::Difference;
use evenkeel_sweep::{Effects, PolicySummary, Summary, Varied};
use maud::{Markup, PreEscaped, html};

use super::bars::{Bar, Group, figure};
use super::forest::{self, Row};
use super::svg::{Axis, Drawing, NARROW, at, shortened, slug};
use super::{Made, class, colours_of, frame, policies};
use crate::{headline, number};

/// One of a policy's effects.
type Effect = fn(&Effects) -> Option<Difference>;

/// What is drawn: title, remark, effect, and whether lower is better.
const FIGURES: [(&str, &str, Effect, bool); 3] = [
    ("Turnaround", "H_ANTT, lower is better", |of| of.h_antt, true),
    ("Throughput", "H_STP, higher is better", |of| of.h_stp, false),
    ("Energy", "lower is better", |of| of.energy, true),
];

/// The page of a table that has so many runs.
pub fn page(file: &str, runs: u64, summary: &Summary, command: &str) -> String {
    let content = html! {
        h1 { (headline::of_sweep(summary)) }
        p.soft {
            (file) " has " (runs) " runs, of " (summary.cells) " combinations of a workload, a machine and what else was varied. "
            "Effects are against " (summary.baseline) ", from pairs with the same seed: geometric means over everything that was varied"
            @if summary.drawn && summary.policies.iter().any(has_interval) { "; lines show their 95 % interval" }
            "."
            @if let Some(error) = &summary.first_error {
                " " (summary.failed) " runs could not be carried to their end, the first because: " (error) "."
            }
        }
        @if !summary.policies.is_empty() {
            (policies(&names(summary)))
            div.panels {
                @for (title, remark, value, lower) in FIGURES {
                    (figure(&slug(title), title, remark, &[group(summary, value, lower)]))
                }
                (trade(summary))
            }
            h2 { "In numbers" }
            (numbers(summary))
            @if let Some(orders) = headline::by_order_of_sweep(summary) { p.note { (orders) } }
            @for varied in &summary.varied { (axis(summary, varied)) }
        }
    };
    frame("evenkeel sweep", &content, Made::simulated(command))
}

fn has_interval(of: &PolicySummary) -> bool {
    of.effects.h_antt.is_some_and(|effect| effect.interval.is_some())
}

fn group(summary: &Summary, value: Effect, lower: bool) -> Group {
    let effects = || summary.policies.iter().map(|of| value(&of.effects));
    let means = effects().flatten().map(|effect| effect.value);
    let best = if lower { means.fold(0.0, f64::min) } else { means.fold(0.0, f64::max) };
    let colours = colours_of(&names(summary));
    let bars = summary.policies.iter().zip(colours).zip(effects()).map(|((of, colour), effect)| Bar {
        label: of.policy.clone(),
        effect: Some(effect.map_or(f64::NAN, |effect| effect.value)),
        interval: effect.and_then(|effect| effect.interval),
        colour,
        best: effect.is_some_and(|effect| effect.value == best),
    });
    Group { name: format!("against {}", summary.baseline), bars: bars.collect() }
}

/// Turnaround against energy: what lies to the left and below is better in both.
fn trade(summary: &Summary) -> Markup {
    const TOP: f64 = 24.0;
    const HEIGHT: f64 = 240.0;
    const LEFT: f64 = 40.0;
    const BOTTOM: f64 = 200.0;
    let points: Vec<(&str, Difference, Difference)> = (summary.policies.iter())
        .filter_map(|of| Some((of.policy.as_str(), of.effects.h_antt?, of.effects.energy?)))
        .collect();
    let colour = |policy: &str| {
        let names = names(summary);
        let at = names.iter().position(|name| *name == policy).unwrap_or(0);
        colours_of(&names)[at]
    };
    if points.is_empty() {
        return html! {};
    }
    let ends = |of: fn(&(&str, Difference, Difference)) -> Difference| {
        let ends = points.iter().map(of).flat_map(|effect| {
            let (low, high) = effect.interval.unwrap_or((effect.value, effect.value));
            [100.0 * low, 100.0 * high]
        });
        ends.chain([0.0]).collect::<Vec<_>>()
    };
    let across = Axis::of(ends(|point| point.1), 5, (LEFT, NARROW - 10.0));
    let up = Axis::of(ends(|point| point.2), 5, (BOTTOM, TOP));
    let (x0, y0) = (at(across.at(0.0)), at(up.at(0.0)));
    let content = html! {
        text.soft x="0" y="10" { "energy, % of the baseline" }
        (across.level("H_ANTT, % of the baseline", TOP, BOTTOM))
        (up.upright(LEFT, NARROW - 10.0))
        path.base d=(PreEscaped(format!("M{x0} {TOP}V{}M{} {y0}H{}", at(BOTTOM), at(LEFT), at(NARROW - 10.0)))) {}
        @for (policy, h_antt, energy) in &points {
            @let (x, y) = (across.at(100.0 * h_antt.value), up.at(100.0 * energy.value));
            @let colour = colour(policy);
            g {
                title { (policy) ": H_ANTT " (number::effect(Some(*h_antt))) ", energy " (number::effect(Some(*energy))) }
                @if let Some((low, high)) = h_antt.interval {
                    path class={ "line " (class('s', colour)) }
                        d=(PreEscaped(format!("M{} {}H{}", at(across.at(100.0 * low)), at(y), at(across.at(100.0 * high))))) {}
                }
                @if let Some((low, high)) = energy.interval {
                    path class={ "line " (class('s', colour)) }
                        d=(PreEscaped(format!("M{} {}V{}", at(x), at(up.at(100.0 * low)), at(up.at(100.0 * high))))) {}
                }
                circle class=(class('f', colour)) cx=(at(x)) cy=(at(y)) r="4" {}
                @let end = x > NARROW / 2.0;
                text x=(at(if end { x - 6.0 } else { x + 6.0 })) y=(at(y - 6.0)) text-anchor=(if end { "end" } else { "start" }) {
                    (shortened(policy, NARROW / 2.0 - 20.0))
                }
            }
        }
    };
    let caption = html! { b { "Energy against turnaround" } ", in % of the baseline: left and down is better" };
    let spoken = "Energy against turnaround of each policy";
    Drawing { id: "trade", width: NARROW, height: HEIGHT, spoken, caption, content }.figure()
}

fn numbers(summary: &Summary) -> Markup {
    html! {
        div.scroll {
            table.rows {
                tr {
                    th { "policy" } th.n { "H_ANTT" } th.n { "H_STP" } th.n { "energy" }
                    th.n { "better in" } th.n { "worse in" } th.n { "not told apart in" }
                }
                @for of in &summary.policies {
                    tr {
                        td { (of.policy) }
                        @for (_, _, value, _) in FIGURES { td.n { (number::effect(value(&of.effects))) } }
                        @for count in headline::verdicts(summary, of) { td.n { (count) } }
                    }
                }
            }
        }
        @if let Some(note) = headline::of_verdicts(summary) { p.note { (note) } }
    }
}

/// So many values of something are drawn.
const SHOWN: usize = 60;

fn names(summary: &Summary) -> Vec<&str> {
    summary.policies.iter().map(|of| of.policy.as_str()).collect()
}

/// Whether there is any such effect.
fn has(varied: &Varied, value: Effect) -> bool {
    varied.values.iter().flat_map(|at| &at.policies).any(|effects| value(effects).is_some())
}

/// What each value of something makes of it.
fn axis(summary: &Summary, varied: &Varied) -> Markup {
    let policies: Vec<(&str, usize)> = names(summary).into_iter().zip(colours_of(&names(summary))).collect();
    let rows = |value: Effect| -> Vec<Row<'_>> {
        let row = |at: &'_ evenkeel_sweep::AtValue| at.policies.iter().map(value).collect();
        varied.values.iter().take(SHOWN).map(|at| Row { name: &at.value, effects: row(at) }).collect()
    };
    html! {
        h2 { "By " (varied.name) }
        @if varied.values.len() > SHOWN {
            p.note { "The first " (SHOWN) " of " (varied.values.len()) " values; --format json has all." }
        }
        div.panels {
            @for (title, remark, value, _) in FIGURES.into_iter().filter(|(_, _, value, _)| has(varied, *value)) {
                (forest::figure(&slug(&format!("{title} by {}", varied.name)), title, remark, &policies, &rows(value)))
            }
        }
    }
}
