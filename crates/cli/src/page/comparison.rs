//! The page of `evenkeel compare`.

use anyhow::Result;
use evenkeel_model::{CoreOrder, Ns};
use maud::{Markup, html};

use super::bars::{Bar, Group, figure};
use super::timeline::{Marks, Recorder, draw};
use super::{REPEATABLE, colour_of, frame, policies};
use crate::commands::compare::Spread;
use crate::json::{Metrics, Run};
use crate::lab::{Job, Lab, Plan, Results};
use crate::table;

/// So many timelines fit on a page that still opens at once.
const TIMELINES: usize = 6;

/// Reads a metric of a run.
type Value = fn(&Metrics) -> f64;

/// What is drawn: name, remark, value, and whether lower is better.
const FIGURES: [(&str, &str, Value, bool); 3] = [
    ("Turnaround", "H_ANTT, lower is better", |m| m.h_antt, true),
    ("Throughput", "H_STP, higher is better", |m| m.h_stp, false),
    ("Energy", "lower is better", |m| m.energy_j, true),
];

/// A workload on a machine: the runs of each policy.
struct Cell<'a> {
    name: String,
    policies: Vec<&'a [Run]>,
}

/// The page.
pub fn page(lab: &Lab<'_>, plan: &Plan, results: &Results, baseline: &str) -> Result<String> {
    let repetitions = plan.orders.len() * plan.seeds.len();
    let cells: Vec<Cell<'_>> = results
        .runs
        .chunks(repetitions * plan.policies.len())
        .map(|runs| Cell {
            name: format!("{} on {}", runs[0].workload, runs[0].machine),
            policies: runs.chunks(repetitions).collect(),
        })
        .collect();
    let base = plan.policies.iter().position(|policy| policy.name() == baseline).unwrap_or(0);
    let content = html! {
        h1 { (headline(plan, &cells, base)) }
        p.soft {
            (count(plan.workloads.len(), "workload")) " on " (count(plan.machines.len(), "machine")) " under "
            (count(plan.policies.len(), "scheduler")) "; each value is the mean over "
            (count(plan.orders.len(), "core order")) " and " (count(plan.seeds.len(), "seed"))
            ", lines show the standard deviation. Effects are against " (baseline) "."
        }
        (policies(plan.policies.iter().map(evenkeel_sched::Setup::name)))
        div.panels {
            @for (title, remark, value, lower) in FIGURES {
                (figure(title, remark, &groups(plan, &cells, base, value, lower)))
            }
        }
        h2 { "In numbers" }
        (numbers(plan, &cells))
        h2 { "Who ran where" }
        p.soft {
            "One lane a core, big cores tall and on top; grey is idle. Point at a slice to see whose it is. "
            "Little-first core order where it was run, the first seed."
        }
        (timelines(lab, plan, results)?)
    };
    Ok(frame("evenkeel compare", &content, REPEATABLE))
}

/// `1 machine`, `2 machines`.
fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Which policy wins, and by how much.
fn headline(plan: &Plan, cells: &[Cell<'_>], base: usize) -> String {
    let mean_effect = |policy: usize| {
        let effects = cells.iter().map(|cell| {
            let mean = |runs: &[Run]| runs.iter().map(|run| run.metrics.h_antt).sum::<f64>() / runs.len() as f64;
            mean(cell.policies[policy]) / mean(cell.policies[base]) - 1.0
        });
        effects.sum::<f64>() / cells.len() as f64
    };
    let baseline = plan.policies[base].name();
    let others = (0..plan.policies.len()).filter(|policy| *policy != base);
    let best = others.map(|policy| (mean_effect(policy), policy)).min_by(|a, b| a.0.total_cmp(&b.0));
    match best {
        None => format!("{baseline} alone"),
        Some((effect, policy)) if effect < -0.005 => {
            let name = plan.policies[policy].name();
            format!("{name} brings programs home {:.0} % sooner than {baseline}", -100.0 * effect)
        }
        Some((_, policy)) => format!("Nothing beats {baseline}; {} comes closest", plan.policies[policy].name()),
    }
}

fn groups(plan: &Plan, cells: &[Cell<'_>], base: usize, value: Value, lower: bool) -> Vec<Group> {
    let group = |cell: &Cell<'_>| {
        let values = |runs: &[Run]| runs.iter().map(|run| value(&run.metrics)).collect::<Vec<_>>();
        let baseline = Spread::of(&values(cell.policies[base])).mean;
        let effects: Vec<Spread> = cell
            .policies
            .iter()
            .map(|runs| {
                let of = Spread::of(&values(runs));
                Spread { mean: of.mean / baseline - 1.0, deviation: of.deviation / baseline }
            })
            .collect();
        let means = effects.iter().map(|effect| effect.mean);
        let best = if lower { means.fold(0.0, f64::min) } else { means.fold(0.0, f64::max) };
        let bars = plan.policies.iter().zip(&effects).enumerate().map(|(index, (policy, effect))| Bar {
            label: policy.name().to_string(),
            effect: (index != base).then_some(effect.mean),
            deviation: effect.deviation,
            colour: colour_of(policy.name()),
            best: effect.mean == best && index != base,
        });
        Group { name: cell.name.clone(), bars: bars.collect() }
    };
    cells.iter().map(group).collect()
}

fn numbers(plan: &Plan, cells: &[Cell<'_>]) -> Markup {
    let columns: [(&str, Value); 6] = [
        ("H_ANTT", |m| m.h_antt),
        ("H_STP", |m| m.h_stp),
        ("makespan, s", |m| m.makespan_s),
        ("energy, J", |m| m.energy_j),
        ("EDP, Js", |m| m.edp),
        ("migrations", |m| m.migrations as f64),
    ];
    html! {
        div.scroll {
            table.rows {
                tr { th { "" } th { "scheduler" } @for (name, _) in columns { th.n { (name) } } }
                @for cell in cells {
                    @for (index, runs) in cell.policies.iter().enumerate() {
                        tr {
                            td { @if index == 0 { (cell.name) } }
                            td { (plan.policies[index].name()) }
                            @for (_, value) in columns {
                                @let spread = Spread::of(&runs.iter().map(|run| value(&run.metrics)).collect::<Vec<_>>());
                                td.n { (table::spread(spread.mean, spread.deviation)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn timelines(lab: &Lab<'_>, plan: &Plan, results: &Results) -> Result<Markup> {
    let order = if plan.orders.contains(&CoreOrder::LittleFirst) { CoreOrder::LittleFirst } else { plan.orders[0] };
    let mut drawn = Vec::new();
    let cells = (0..plan.workloads.len()).flat_map(|w| (0..plan.machines.len()).map(move |m| (w, m)));
    for (workload, machine) in cells.take(TIMELINES) {
        let job = |policy| Job { workload, machine, policy, order, seed: plan.seeds[0] };
        // The runs were done already; their makespans give the common axis.
        let jobs = plan.jobs();
        let makespan = |policy: usize| {
            let same = |other: &Job| {
                (other.workload, other.machine, other.policy) == (workload, machine, policy)
                    && (other.order, other.seed) == (order, plan.seeds[0])
            };
            let run = jobs.iter().position(same).map(|at| results.runs[at].metrics.makespan_s);
            Ns((run.unwrap_or(0.0) * 1e9).round() as u64)
        };
        let horizon = (0..plan.policies.len()).map(makespan).max().unwrap_or(Ns::ZERO);
        let mut lanes = Vec::new();
        let mut colours = None;
        for policy in 0..plan.policies.len() {
            let ordered = lab.machine(job(policy));
            let mut recorder = Recorder::new(&ordered, horizon);
            let (_, outcome) = lab.run(job(policy), &mut recorder)?;
            colours.get_or_insert_with(|| recorder.legend());
            lanes.push(html! {
                h3 { (plan.policies[policy].name()) }
                (draw(recorder, &ordered, &Marks::default(), outcome.makespan, horizon))
            });
        }
        drawn.push(html! {
            details open[drawn.is_empty()] {
                summary { (plan.workloads[workload].name) " on " (plan.machines[machine].name) }
                @if let Some(colours) = colours { (colours) }
                @for lane in &lanes { (lane) }
            }
        });
    }
    let left = plan.workloads.len() * plan.machines.len() - drawn.len();
    Ok(html! {
        @for one in &drawn { (one) }
        @if left > 0 { p.note { (left) " more combinations are not drawn; compare them by themselves to see them." } }
    })
}
