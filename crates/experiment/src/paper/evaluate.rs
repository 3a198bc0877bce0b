//! Computes published numbers from runs.
//!
//! The unit of everything is a *cell*: one workload on one machine, or one program of it. Its value is a metric averaged
//! over core orders (COLAB 5.1) and seeds, its effect is that value against the baseline's, as the figures normalise. What a text
//! reads off two averages of a figure is the one against the other ([`Aggregate::OfMeans`]).

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use statrs::statistics::Statistics;

use super::file::{Experiment, Member};
use super::judge::{Verdict, verdict};
use super::published::{Aggregate, Published, Selector, Threads};
use super::ran::{Arm, Ran};
use super::sample::Part;
use crate::spread::mean;

/// A published number, and what came out here.
#[derive(Clone, Debug)]
pub struct Row {
    /// What the experiment file says.
    pub published: Published,
    /// The same number here; `None` if nothing was run that it could come from.
    pub simulated: Option<f64>,
    /// Its 95 % interval from seed to seed, in its unit. `None` with one seed, of amounts, and of what is picked out of several values.
    pub interval: Option<(f64, f64)>,
    /// How it came out.
    pub verdict: Verdict,
}

impl Row {
    /// A published number beside a simulated one, without an interval.
    pub fn of(published: &Published, simulated: Option<f64>) -> Self {
        let verdict = simulated.map_or(Verdict::Miss, |simulated| verdict(published, simulated));
        Self { published: published.clone(), simulated, interval: None, verdict }
    }

    /// `simulated - published`.
    pub fn difference(&self) -> Option<f64> {
        self.simulated.map(|simulated| simulated - self.published.published)
    }
}

/// Every row of an experiment, in the order of its file.
pub fn rows(experiment: &Experiment, ran: &[Ran]) -> Vec<Row> {
    let row = |published| {
        let value = simulated(published, ran, None).filter(|value| value.is_finite());
        Row { interval: value.and_then(|_| interval(published, ran)), ..Row::of(published, value) }
    };
    experiment.rows.iter().map(row).collect()
}

/// The 95 % interval of a number that compares two things, from its values with each seed. The largest of several values with each seed
/// is larger than that of their means, so that what is picked out has none.
fn interval(published: &Published, all: &[Ran]) -> Option<(f64, f64)> {
    let is_mean = matches!(published.aggregate, Aggregate::Mean | Aggregate::OfMeans | Aggregate::Geomean);
    if !is_mean || !published.is_compared() {
        return None;
    }
    let ran = all.iter().find(|ran| ran.set.name == published.select.set)?;
    // An effect is a ratio less one.
    let less = if published.is_effect() { 1.0 } else { 0.0 };
    let ratio = |seed| Some(simulated(published, all, Some(seed))? + less);
    let (low, high) = ran.interval_of(ratio)?;
    Some((low + 1.0 - less, high + 1.0 - less))
}

/// The number here that corresponds to a published one, of all seeds or one.
fn simulated(published: &Published, all: &[Ran], seed: Option<u64>) -> Option<f64> {
    let ran = all.iter().find(|ran| ran.set.name == published.select.set)?;
    let cells = cells(&published.select, ran);
    let Some(policy) = &published.policy else {
        let per_cell = |cell: &(&Member, &str, Option<usize>)| policies_run(ran, &cell.0.name, cell.1);
        return Some(cells.iter().map(per_cell).sum::<usize>() as f64);
    };
    let mut values = Vec::new();
    for (member, machine, program) in cells {
        let Selector { cluster, groups: of, .. } = &published.select;
        let part = Part { program, cluster: cluster.as_deref(), groups: of.as_deref() };
        let arm = Arm { ran, workload: &member.name, machine, policy, part, seed };
        let baseline = match &published.baseline {
            Some(baseline) => in_unit(arm.baseline(baseline, all)?, published, all)?,
            None => 1.0,
        };
        let class = if published.equal_classes { member.class() } else { "" };
        values.push(((machine, class), in_unit(arm, published, all)?, baseline));
    }
    // Over one and the same number, the mean of all values is that of the values over that of the baselines.
    let mean_baseline = mean(values.iter().map(|(_, _, baseline)| *baseline));
    let common = mean_baseline.filter(|_| published.aggregate == Aggregate::OfMeans);
    let mut groups: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for (place, value, baseline) in values {
        groups.entry(place).or_default().push(value / common.unwrap_or(baseline));
    }
    let mut by_machine: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for ((machine, _), values) in groups {
        let values = if published.equal_classes { vec![average(published, &values)?] } else { values };
        by_machine.entry(machine).or_default().extend(values);
    }
    aggregate(published, by_machine).map(|value| if published.is_effect() { value - 1.0 } else { value })
}

/// The value of an arm, over that of the row's unit.
fn in_unit(arm: Arm<'_>, published: &Published, all: &[Ran]) -> Option<f64> {
    let value = arm.value(published.metric)?;
    match &published.unit {
        Some(unit) => Some(value / arm.baseline(unit, all)?.value(published.metric)?),
        None => Some(value),
    }
}

/// The mean of a row's kind: of ratios the geometric one, if the paper says so.
fn average(published: &Published, values: &[f64]) -> Option<f64> {
    if published.aggregate.is_geometric() { Some(values.geometric_mean()) } else { mean(values.iter().copied()) }
}

/// One number for the values of all cells, by machine.
fn aggregate(published: &Published, by_machine: BTreeMap<&str, Vec<f64>>) -> Option<f64> {
    let means = || by_machine.values().filter_map(|values| average(published, values));
    let mut all: Vec<f64> = by_machine.values().flatten().copied().collect();
    match published.aggregate {
        Aggregate::Mean | Aggregate::OfMeans | Aggregate::Geomean => average(published, &all),
        Aggregate::Median => {
            all.sort_by(f64::total_cmp);
            let middle = all.len() / 2;
            let upper = all.get(middle).copied()?;
            Some(if all.len().is_multiple_of(2) { (all[middle - 1] + upper) / 2.0 } else { upper })
        }
        Aggregate::Largest => all.into_iter().reduce(f64::max),
        Aggregate::ThirdLargest => ranked(all, |a, b| b.total_cmp(a), 2),
        Aggregate::FourthLargest => ranked(all, |a, b| b.total_cmp(a), 3),
        Aggregate::Smallest => all.into_iter().reduce(f64::min),
        Aggregate::SecondSmallest => ranked(all, f64::total_cmp, 1),
        Aggregate::SecondFarthest => ranked(all, |a, b| b.ln().abs().total_cmp(&a.ln().abs()), 1),
        Aggregate::Best | Aggregate::BestGeomean | Aggregate::WorstGeomean => {
            let best = published.aggregate != Aggregate::WorstGeomean;
            let most = published.metric.more_is_better() == best;
            means().reduce(if most { f64::max } else { f64::min })
        }
    }
}

/// The value at a place of an order.
fn ranked(mut values: Vec<f64>, order: fn(&f64, &f64) -> Ordering, place: usize) -> Option<f64> {
    values.sort_by(order);
    values.get(place).copied()
}

/// The workloads, machines and programs that a row is about.
fn cells<'a>(select: &Selector, ran: &'a Ran) -> Vec<(&'a Member, &'a str, Option<usize>)> {
    let largest = ran.cores.iter().copied().max().unwrap_or(0);
    let mut cells = Vec::new();
    for (machine, cores) in ran.set.machines.iter().zip(&ran.cores) {
        for member in &ran.set.workloads {
            let programs = ran.programs(&member.name);
            let threads_fit = |class: Threads| match (class, member.threads) {
                (Threads::Few, Some(threads)) => threads < *cores,
                (Threads::Many, Some(threads)) => threads >= 2 * largest,
                (_, None) => false,
            };
            let fits = select.class.as_ref().is_none_or(|class| member.is(class))
                && select.workload.as_ref().is_none_or(|workload| *workload == member.called())
                && select.machine.as_ref().is_none_or(|wanted| wanted == machine)
                && select.threads.is_none_or(threads_fit)
                && select.programs.is_none_or(|wanted| programs.len() == wanted);
            match &select.program {
                _ if !fits => {}
                None => cells.push((member, machine.as_str(), None)),
                Some(name) => {
                    let programs = programs.into_iter().enumerate();
                    let wanted = |index: usize, program: &str| match name.as_str() {
                        "*" => true,
                        "first" => index == 0,
                        "others" => index > 0,
                        name => program == name,
                    };
                    let wanted = programs.filter(|(index, program)| wanted(*index, program));
                    cells.extend(wanted.map(|(index, _)| (member, machine.as_str(), Some(index))));
                }
            }
        }
    }
    cells
}

/// How many policies ran a workload on a machine.
fn policies_run(ran: &Ran, workload: &str, machine: &str) -> usize {
    let of_cell = ran.samples.iter().filter(|sample| sample.workload == workload && sample.machine == machine);
    let names: BTreeSet<&str> = of_cell.map(|sample| sample.policy.as_str()).collect();
    names.len()
}

#[cfg(test)]
mod tests;
