//! Computes published numbers from runs.
//!
//! The unit of everything is a *cell*: one workload on one machine. Its value is a metric averaged over core orders
//! (COLAB 5.1), its effect is that value against the baseline's, as the figures normalise.

use std::collections::BTreeMap;

use super::experiment::{Aggregate, Bound, Experiment, Member, Metric, Published, Set, Threads};
use crate::json::{Kind, Row, Run};

/// The runs of a set, and how many cores its machines have.
pub struct Ran<'a> {
    /// The set.
    pub set: &'a Set,
    /// Its runs.
    pub runs: &'a [Run],
    /// Cores of each machine of the set, in its order.
    pub cores: Vec<u32>,
}

/// A row with what is known about it besides the numbers.
pub struct Evaluated<'a> {
    /// What is printed as JSON.
    pub row: Row,
    /// What the experiment file says.
    pub published: &'a Published,
    /// How it came out.
    pub verdict: Verdict,
}

/// How a row came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The right sign and within a third of the published number, or within the published bound.
    Close,
    /// The right sign.
    Sign,
    /// Another sign, or nothing.
    Miss,
}

/// Every row of an experiment, in the order of its file.
pub fn rows<'a>(experiment: &'a Experiment, ran: &[Ran<'_>]) -> Vec<Evaluated<'a>> {
    let evaluated = experiment.rows.iter().map(|published| {
        let ran = ran.iter().find(|ran| ran.set.name == published.select.set);
        let simulated = ran.and_then(|ran| simulated(published, ran)).filter(|value| value.is_finite());
        Evaluated {
            row: Row {
                id: published.id.clone(),
                what: published.what.clone(),
                published: published.published,
                simulated,
                difference: simulated.map(|simulated| simulated - published.published),
                source: published.source.clone(),
                kind: published.kind,
            },
            published,
            verdict: simulated.map_or(Verdict::Miss, |simulated| verdict(published, simulated)),
        }
    });
    evaluated.collect()
}

/// The number here that corresponds to a published one.
fn simulated(published: &Published, ran: &Ran<'_>) -> Option<f64> {
    let cells = cells(published, ran);
    let Some(policy) = &published.policy else {
        let per_cell = |(member, machine): &(&Member, &str)| policies_run(ran.runs, &member.name, machine);
        return Some(cells.iter().map(per_cell).sum::<usize>() as f64);
    };
    let mut by_machine: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (member, machine) in cells {
        let value = effect(ran.runs, &member.name, machine, published.metric, policy, published.baseline.as_deref())?;
        by_machine.entry(machine).or_default().push(value);
    }
    match published.aggregate {
        Aggregate::Mean => mean(by_machine.into_values().flatten()),
        Aggregate::Best => {
            let means = by_machine.into_values().filter_map(mean);
            means.reduce(if published.metric == Metric::HAntt { f64::min } else { f64::max })
        }
    }
}

/// The workloads and machines that a row is about.
fn cells<'a>(published: &Published, ran: &'a Ran<'_>) -> Vec<(&'a Member, &'a str)> {
    let select = &published.select;
    let largest = ran.cores.iter().copied().max().unwrap_or(0);
    let mut cells = Vec::new();
    for (machine, cores) in ran.set.machines.iter().zip(&ran.cores) {
        for member in &ran.set.workloads {
            let programs = || ran.runs.iter().find(|run| run.workload == member.name).map(|run| run.programs.len());
            let threads_fit = |class: Threads| match (class, member.threads) {
                (Threads::Few, Some(threads)) => threads < *cores,
                (Threads::Many, Some(threads)) => threads >= 2 * largest,
                (_, None) => false,
            };
            let fits = select.class.as_ref().is_none_or(|class| class == member.class())
                && select.workload.as_ref().is_none_or(|workload| *workload == member.name)
                && select.machine.as_ref().is_none_or(|wanted| wanted == machine)
                && select.threads.is_none_or(threads_fit)
                && select.programs.is_none_or(|wanted| programs() == Some(wanted));
            if fits {
                cells.push((member, machine.as_str()));
            }
        }
    }
    cells
}

/// How many policies ran a workload on a machine.
fn policies_run(runs: &[Run], workload: &str, machine: &str) -> usize {
    let of_cell = runs.iter().filter(|run| run.workload == workload && run.machine == machine);
    let names: std::collections::BTreeSet<&str> = of_cell.map(|run| run.policy.as_str()).collect();
    names.len()
}

/// The effect of a policy in a cell: its value against the baseline's, or the value itself without a baseline.
pub fn effect(
    runs: &[Run],
    workload: &str,
    machine: &str,
    metric: Metric,
    policy: &str,
    baseline: Option<&str>,
) -> Option<f64> {
    let value = |policy: &str| {
        let of_cell =
            runs.iter().filter(|run| run.workload == workload && run.machine == machine && run.policy == policy);
        mean(of_cell.map(|run| match metric {
            Metric::HStp => run.metrics.h_stp,
            Metric::HAntt | Metric::Speedup | Metric::Runs => run.metrics.h_antt,
        }))
    };
    let mine = value(policy)?;
    let Some(baseline) = baseline else { return Some(mine) };
    let theirs = value(baseline)?;
    Some(if metric == Metric::Speedup { theirs / mine - 1.0 } else { mine / theirs - 1.0 })
}

/// Judges a row. A published "no effect" is met by what prints as 0 %.
fn verdict(published: &Published, simulated: f64) -> Verdict {
    let expected = published.published;
    if expected == 0.0 {
        return if simulated.abs() < 0.005 { Verdict::Close } else { Verdict::Miss };
    }
    if simulated * expected <= 0.0 {
        return Verdict::Miss;
    }
    let near = (simulated - expected).abs() <= expected.abs() / 3.0;
    let close = match published.bound {
        None => near,
        Some(Bound::Below) => simulated.abs() <= expected.abs(),
        Some(Bound::Above) => near || simulated.abs() >= expected.abs(),
    };
    if close { Verdict::Close } else { Verdict::Sign }
}

/// How many result rows there are, how many have the right sign, and how many are close besides.
pub fn tally(rows: &[Evaluated<'_>]) -> (usize, usize, usize) {
    let results = || rows.iter().filter(|row| row.row.kind == Kind::Result);
    let sign = results().filter(|row| row.verdict != Verdict::Miss).count();
    let close = results().filter(|row| row.verdict == Verdict::Close).count();
    (results().count(), sign, close)
}

/// The arithmetic mean; `None` of nothing.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.into_iter().fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Metrics, Program};

    fn run(workload: &str, programs: usize, machine: &str, policy: &str, order: &'static str, h_antt: f64) -> Run {
        let program = Program { name: "p".into(), turnaround_s: Some(1.0) };
        let metrics = Metrics { h_antt, h_stp: 1.0 / h_antt, ..Metrics::zero() };
        Run {
            workload: workload.into(),
            machine: machine.into(),
            policy: policy.into(),
            order,
            seed: 1,
            metrics,
            programs: vec![program; programs],
        }
    }

    /// Every cell of the bundled experiment, with H_ANTT chosen by the test.
    fn evaluate(h_antt: impl Fn(&Member, &str, &str, &str) -> f64) -> Vec<(String, Option<f64>, Verdict)> {
        let experiment = Experiment::by_name("colab").unwrap();
        let runs: Vec<Vec<Run>> = experiment
            .sets
            .iter()
            .map(|set| {
                let mut runs = Vec::new();
                for member in &set.workloads {
                    for machine in &set.machines {
                        for policy in &experiment.policies {
                            for order in ["big-first", "little-first"] {
                                let value = h_antt(member, machine, policy, order);
                                runs.push(run(&member.name, 2, machine, policy, order, value));
                            }
                        }
                    }
                }
                runs
            })
            .collect();
        let cores = |set: &Set| {
            set.machines
                .iter()
                .map(|name| match name.as_str() {
                    "2B2S" => 4,
                    "4B4S" => 8,
                    _ => 6,
                })
                .collect()
        };
        let ran: Vec<Ran<'_>> =
            experiment.sets.iter().zip(&runs).map(|(set, runs)| Ran { set, runs, cores: cores(set) }).collect();
        rows(&experiment, &ran).into_iter().map(|row| (row.row.id, row.row.simulated, row.verdict)).collect()
    }

    fn find(rows: &[(String, Option<f64>, Verdict)], id: &str) -> (f64, Verdict) {
        let (_, value, verdict) = rows.iter().find(|row| row.0 == id).unwrap();
        (value.unwrap(), *verdict)
    }

    #[test]
    fn core_orders_are_averaged_before_policies_are_compared() {
        // COLAB: 1 and 2, mean 1.5; CFS: 1 and 3, mean 2. The mean of the ratios would be 0.83.
        let rows = evaluate(|_, _, policy, order| match (policy, order) {
            (_, "big-first") => 1.0,
            ("colab", _) => 2.0,
            _ => 3.0,
        });
        let (value, verdict) = find(&rows, "all-antt-colab-vs-cfs");
        assert!((value - (1.5 / 2.0 - 1.0)).abs() < 1e-12, "{value}");
        assert_eq!(verdict, Verdict::Sign);
    }

    #[test]
    fn selectors_leave_what_they_name() {
        let rows = evaluate(|member, machine, policy, _| match (policy, member.class(), machine) {
            ("colab", "Sync", "2B2S") => 0.8,
            ("colab", "Sync", _) => 0.9,
            ("colab", _, _) => 2.0,
            _ => 1.0,
        });
        assert!((find(&rows, "sync-2b2s-antt-colab-vs-cfs").0 + 0.2).abs() < 1e-12);
        assert!((find(&rows, "sync-antt-colab-vs-cfs").0 + 0.125).abs() < 1e-12);
        assert_eq!(find(&rows, "comp-antt-colab-vs-cfs"), (1.0, Verdict::Miss));
        assert_eq!(find(&rows, "experiments"), (312.0, Verdict::Close));
    }

    #[test]
    fn thread_classes_are_those_of_figure_8() {
        // Few: 4 threads on 6 and 8 cores, Rand-5 with 6 threads on 8. Many: 16 threads or more, on every machine.
        let rows = evaluate(|member, machine, policy, _| match (policy, member.threads.unwrap_or(0), machine) {
            ("colab", 4, "2B4S" | "4B2S" | "4B4S") | ("colab", 6, "4B4S") => 0.5,
            ("colab", 16.., _) => 0.98,
            ("colab", _, _) => 3.0,
            _ => 1.0,
        });
        assert!((find(&rows, "few-threads-antt-colab-vs-cfs").0 + 0.5).abs() < 1e-12);
        assert!((find(&rows, "many-threads-antt-colab-vs-cfs").0 + 0.02).abs() < 1e-12);
    }

    #[test]
    fn best_is_the_best_machine_and_not_the_best_workload() {
        let rows = evaluate(|member, machine, policy, _| match (policy, machine, member.name.as_str()) {
            ("colab", "2B4S", _) => 0.75,
            ("colab", "4B4S", "Sync-1") => 0.1,
            _ => 1.0,
        });
        // 4B4S: one workload of five at 0.1 is a mean of 0.82.
        assert!((find(&rows, "best-antt-colab-vs-cfs").0 + 0.25).abs() < 1e-12);
    }

    #[test]
    fn bounds_judge_by_their_side() {
        let rows = evaluate(|_, _, policy, _| if policy == "colab" { 0.99 } else { 1.0 });
        assert_eq!(find(&rows, "many-threads-antt-colab-vs-cfs").1, Verdict::Close, "1 % is less than 2 %");
        assert_eq!(find(&rows, "2-programs-antt-colab-vs-cfs").1, Verdict::Sign, "1 % is not more than 10 %");
        assert_eq!(find(&rows, "2-programs-antt-wash-vs-cfs").1, Verdict::Miss, "no effect has no sign");
    }
}
