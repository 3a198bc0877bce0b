//! The figures of II as data.

use super::{Group, Parameters, Range, System};
use crate::{Volts, Watts};

/// A choice of voltages with all cores busy, against all at nominal voltage (Figure 2).
#[derive(Clone, Debug, PartialEq)]
pub struct Frontier {
    /// The voltage of each type.
    pub volts: Vec<Volts>,
    /// Throughput over that at nominal voltage.
    pub performance: f64,
    /// Instructions per joule over those at nominal voltage.
    pub efficiency: f64,
    /// No other choice is better in one and not worse in the other.
    pub optimal: bool,
}

/// Figure 2: all combinations of `steps` feasible voltages of each type.
pub fn pareto(system: &System, steps: usize) -> Vec<Frontier> {
    let active = system.all();
    let nominal = system.at(&active, system.nominal());
    let mut choices = vec![Vec::new()];
    for group in &system.groups {
        let longer = |choice: &Vec<Volts>| {
            let choice = choice.clone();
            voltages(group.lowest, group.highest, steps).map(move |volts| [&choice[..], &[volts]].concat())
        };
        choices = choices.iter().flat_map(longer).collect();
    }
    let point = |volts: Vec<Volts>| {
        let point = system.at(&active, volts);
        Frontier {
            performance: point.speedup,
            efficiency: point.speedup * nominal.power.0 / point.power.0,
            volts: point.volts,
            optimal: false,
        }
    };
    let mut points: Vec<Frontier> = choices.into_iter().map(point).collect();
    points.sort_by(|a, b| b.performance.total_cmp(&a.performance).then(b.efficiency.total_cmp(&a.efficiency)));
    // From the fastest down, a choice is optimal if it is more efficient than all faster ones.
    let mut best = f64::NEG_INFINITY;
    for point in &mut points {
        point.optimal = point.efficiency > best;
        best = best.max(point.efficiency);
    }
    points
}

/// Figures 3(a) and 5(a): throughput and power of one core over its feasible voltages.
pub fn power_curve(group: &Group, steps: usize) -> Vec<(Volts, f64, Watts)> {
    let point = |volts| (volts, group.throughput(volts), group.power(volts));
    voltages(group.lowest, group.highest, steps).map(point).collect()
}

/// How power is divided at the same total (Figures 3(b) and 5(b)).
#[derive(Clone, Debug, PartialEq)]
pub struct Balance {
    /// The voltage of each type.
    pub volts: Vec<Volts>,
    /// What another instruction per second costs on each type.
    pub marginal_costs: Vec<f64>,
    /// Throughput over that of the same cores at nominal voltage.
    pub speedup: f64,
}

/// Figures 3(b) and 5(b): the biggest type at each of its feasible voltages, what is left of the target for the other types. Where
/// nothing is left for them there is no point.
pub fn balance(system: &System, active: &[usize], steps: usize) -> Vec<Balance> {
    let Some(biggest) = system.groups.first() else { return Vec::new() };
    let point = |volts: Volts| {
        let fixed = Group { lowest: volts, highest: volts, ..*biggest };
        let others = &system.groups[1..];
        // Waiting cores of the biggest type rest, whatever the active ones do.
        let resting = biggest.cores.saturating_sub(active[0]) as f64 * biggest.power(biggest.lowest).0;
        let groups: Vec<Group> =
            std::iter::once(Group { cores: active[0], ..fixed }).chain(others.iter().map(unbounded)).collect();
        let rest = Watts(system.target().0 - resting - waiting_power(others, &active[1..]));
        let left = System { groups: groups.iter().zip(active).map(|(g, n)| Group { cores: *n, ..*g }).collect() };
        let found = left.optimum_within(rest, active, Range::Feasible);
        (found.power.0 <= rest.0 * (1.0 + 1e-9)).then(|| Balance {
            marginal_costs: system.groups.iter().zip(&found.volts).map(|(g, volts)| g.marginal_cost(*volts)).collect(),
            speedup: found.speedup,
            volts: found.volts,
        })
    };
    voltages(biggest.lowest, biggest.highest, steps).filter_map(point).collect()
}

/// The same cores without limits to their voltage.
fn unbounded(group: &Group) -> Group {
    Group { lowest: Volts((-group.offset / group.slope).max(0.0)), highest: Volts(10.0), ..*group }
}

fn waiting_power(groups: &[Group], active: &[usize]) -> f64 {
    let of =
        |(group, active): (&Group, &usize)| group.cores.saturating_sub(*active) as f64 * group.power(group.lowest).0;
    groups.iter().zip(active).map(of).sum()
}

/// A speedup at an energy ratio and an IPC ratio (Figure 4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heat {
    /// Energy of a big core over that of a little one.
    pub alpha: f64,
    /// IPC of a big core over that of a little one.
    pub beta: f64,
    /// Throughput of all cores at the optimum over that at nominal voltage.
    pub speedup: f64,
}

/// Figure 4: the speedup of a system with all cores active, for each alpha and beta.
pub fn heat(
    parameters: &Parameters,
    (big, little): (usize, usize),
    alphas: &[f64],
    betas: &[f64],
    range: Range,
) -> Vec<Heat> {
    let at = |(alpha, beta): (f64, f64)| {
        let system = Parameters { alpha, beta, ..*parameters }.system(big, little);
        Heat { alpha, beta, speedup: system.optimum(&[big, little], range).speedup }
    };
    alphas.iter().flat_map(|&alpha| betas.iter().map(move |&beta| (alpha, beta))).map(at).collect()
}

/// So many voltages from one to another, both included.
fn voltages(from: Volts, to: Volts, steps: usize) -> impl Iterator<Item = Volts> {
    let width = (to.0 - from.0) / steps.saturating_sub(1).max(1) as f64;
    (0..steps.max(1)).map(move |step| Volts(from.0 + step as f64 * width))
}
