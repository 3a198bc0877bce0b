//! The page of a comparison.

use evenkeel_experiment::history::{History, RecordedThread, Times};
use evenkeel_experiment::timeline::{Panel, Timelines};
use evenkeel_experiment::{Cell, Comparison, Value};
use evenkeel_model::Difference;
use maud::{Markup, html};

use super::bars::{Bar, Group, figure};
use super::latency::{self, Curve};
use super::run::{LATENCY, RESPONSE, TIMELINE, waits};
use super::svg::slug;
use super::timeline::{Drawn, timeline};
use super::{Made, colours_of, frame, policies};
use crate::{headline, number};

/// What is drawn: name, remark, value, and whether lower is better.
const FIGURES: [(&str, &str, Value, bool); 3] = [
    ("Turnaround", "H_ANTT, lower is better", |m| m.h_antt, true),
    ("Throughput", "H_STP, higher is better", |m| m.h_stp, false),
    ("Energy", "lower is better", |m| m.energy.0, true),
];

/// The page.
pub fn page(compared: &Comparison<'_>, timelines: &Timelines, command: &str) -> String {
    let counts = compared.counts;
    let content = html! {
        h1 { (headline::of(compared)) }
        p.soft {
            (count(counts.workloads, "workload")) " on " (count(counts.machines, "machine")) " under "
            (count(compared.policies.len(), "scheduler")) "; each value is the mean over "
            (count(counts.orders, "core order")) " and " (count(counts.seeds, "seed"))
            ". Effects are against " (compared.policies[compared.baseline]) ", from pairs with the same seed"
            @if counts.seeds > 1 && compared.drawn() {
                "; lines show their 95 % interval"
            } @else if counts.seeds > 1 {
                "; nothing was drawn from the seeds, which are all alike"
            }
            "."
        }
        (policies(&compared.policies))
        div.panels {
            @for (title, remark, value, lower) in FIGURES {
                (figure(&slug(title), title, remark, &groups(compared, value, lower)))
            }
        }
        h2 { "In numbers" }
        (numbers(compared))
        @for cell in &compared.cells {
            @if let Some(orders) = headline::by_order(compared, Some(cell)) { p.note { (name(cell)) ": " (orders) } }
        }
        @if compared.cells.len() > 1 {
            @if let Some(orders) = headline::by_order(compared, None) { p.note { "Mean over all of these: " (orders) } }
        }
        h2 { "Which thread ran where" }
        p.soft {
            "One lane a core, big cores tall and on top; grey is idle. All runs of a figure stand on the same axis of time. "
            "Point at a slice to see its thread, select it to see what woke it. Little-first core order where it was run, the first seed."
        }
        (lanes(compared, timelines))
    };
    frame("evenkeel compare", &content, Made::simulated(command))
}

/// `1 machine`, `2 machines`.
fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn groups(compared: &Comparison<'_>, value: Value, lower: bool) -> Vec<Group> {
    let base = compared.baseline;
    let colours = colours_of(&compared.policies);
    let group = |cell: &Cell<'_>| {
        let policies = 0..compared.policies.len();
        let effects: Vec<Option<Difference>> = policies.map(|policy| cell.difference(policy, base, value)).collect();
        let means = effects.iter().flatten().map(|effect| effect.value);
        let best = if lower { means.fold(0.0, f64::min) } else { means.fold(0.0, f64::max) };
        let bars = compared.policies.iter().zip(&effects).enumerate().map(|(index, (policy, effect))| Bar {
            label: (*policy).to_string(),
            effect: (index != base).then_some(effect.map_or(f64::NAN, |effect| effect.value)),
            interval: effect.filter(|_| index != base).and_then(|effect| effect.interval),
            colour: colours[index],
            best: effect.is_some_and(|effect| effect.value == best) && index != base,
        });
        Group { name: name(cell), bars: bars.collect() }
    };
    compared.cells.iter().map(group).collect()
}

fn name(cell: &Cell<'_>) -> String {
    format!("{} on {}", cell.workload, cell.machine)
}

fn numbers(compared: &Comparison<'_>) -> Markup {
    let columns: [(&str, Value); 6] = [
        ("H_ANTT", |m| m.h_antt),
        ("H_STP", |m| m.h_stp),
        ("makespan, s", |m| m.makespan.as_secs_f64()),
        ("energy, J", |m| m.energy.0),
        ("EDP, Js", |m| m.edp()),
        ("migrations", |m| m.migrations as f64),
    ];
    html! {
        div.scroll {
            table.rows {
                tr { th { "" } th { "scheduler" } @for (name, _) in columns { th.n { (name) } } }
                @for cell in &compared.cells {
                    @for (policy, policy_name) in compared.policies.iter().enumerate() {
                        tr {
                            td { @if policy == 0 { (name(cell)) } }
                            td { (policy_name) }
                            @for (_, value) in columns {
                                @let spread = cell.spread(policy, value);
                                td.n { (number::spread(spread.mean, spread.deviation)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn lanes(compared: &Comparison<'_>, timelines: &Timelines) -> Markup {
    let colours = colours_of(&compared.policies);
    html! {
        @for (index, panel) in timelines.panels.iter().enumerate() {
            details open[index == 0] {
                summary { (panel.workload) " on " (panel.machine.name) }
                @let runs = compared.policies.iter().zip(&panel.histories);
                @let runs = runs.map(|(policy, history)| Drawn::simulated(policy, history, &panel.machine));
                @let runs: Vec<Drawn<'_>> = runs.map(|run| run.beside(&colours)).collect();
                (timeline(&format!("timeline-{}", index + 1), TIMELINE, &runs, panel.horizon()))
                div.panels {
                    @for (policy, run) in runs.iter().enumerate() {
                        section {
                            h3 { "Who waited for whom under " (run.title) }
                            (waits(&format!("waits-{}-{}", index + 1, policy + 1), run))
                        }
                    }
                }
                (latencies(compared, panel, index + 1))
            }
        }
        @if timelines.left > 0 {
            p.note { (timelines.left) " more combinations are not drawn; compare them by themselves to see them." }
        }
    }
}

/// How long threads waited for a core and how long they took, under each policy.
fn latencies(compared: &Comparison<'_>, panel: &Panel, number: usize) -> Markup {
    let curves = |of: fn(&RecordedThread) -> &Times| -> Vec<Curve> {
        let policies = compared.policies.iter().zip(colours_of(&compared.policies)).zip(&panel.histories);
        let curve = |((policy, colour), history): ((&&str, usize), &History)| {
            Curve::new((*policy).to_owned(), colour, history.threads.iter().map(of))
        };
        policies.map(curve).collect()
    };
    let waited =
        latency::figure(&format!("wakeups-{number}"), "Wake-up latency", LATENCY, &curves(|thread| &thread.latencies));
    let took =
        latency::figure(&format!("responses-{number}"), "Response", RESPONSE, &curves(|thread| &thread.responses));
    html! { div.panels { (waited) (took) } }
}
