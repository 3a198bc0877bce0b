//! Policies beside each other: every workload on every machine, against a baseline.

use evenkeel_model::{CoreOrder, Difference};

use crate::plan::Plan;
use crate::run::{Measurement, Results, Run};
use crate::spread::{Spread, mean};

/// Reads a metric of a run, in any unit.
pub type Value = fn(&Measurement) -> f64;

/// The results of a plan, by workload, machine and policy.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// The names of the policies, in the order of the plan.
    pub policies: Vec<&'a str>,
    /// The position of the policy that the others are compared with.
    pub baseline: usize,
    /// The core orders, in the order of the plan.
    pub orders: &'a [CoreOrder],
    /// How many workloads, machines, core orders and seeds there are.
    pub counts: Counts,
    /// One entry a workload and machine, in the order of the plan.
    pub cells: Vec<Cell<'a>>,
}

/// The lengths of a plan's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Workloads.
    pub workloads: usize,
    /// Machines.
    pub machines: usize,
    /// Core orders.
    pub orders: usize,
    /// Seeds.
    pub seeds: usize,
}

/// A workload on a machine.
#[derive(Clone, Debug)]
pub struct Cell<'a> {
    /// The workload's name.
    pub workload: &'a str,
    /// The machine's name.
    pub machine: &'a str,
    /// The runs of each policy: for each core order, one for each seed.
    pub runs: Vec<&'a [Run]>,
    seeds: usize,
}

impl Cell<'_> {
    /// A metric of a policy from seed to seed: of each the mean over core orders, which are no chance.
    pub fn spread(&self, policy: usize, value: Value) -> Spread {
        let of_seed = |seed| mean(self.of_seed(policy, seed).map(|run| value(&run.measurement))).unwrap_or(f64::NAN);
        Spread::of(&(0..self.seeds).map(of_seed).collect::<Vec<_>>())
    }

    /// By how much a policy differs from the baseline, a pair for each seed: of each the geometric mean over core orders. `None` if
    /// the metric has no ratio, as where it is 0 or infinite.
    pub fn difference(&self, policy: usize, baseline: usize, value: Value) -> Option<Difference> {
        Difference::of_logarithms(self.logarithms(None, policy, baseline, value)?)
    }

    /// For each seed the logarithm of a policy's ratio to the baseline, if all exist: the mean over core orders, or that in one.
    fn logarithms(&self, order: Option<usize>, policy: usize, baseline: usize, value: Value) -> Option<Vec<f64>> {
        let of_seed = |seed| {
            let pairs = self.of_seed(policy, seed).zip(self.of_seed(baseline, seed)).enumerate();
            let wanted = pairs.filter(|(at, _)| order.is_none_or(|order| order == *at));
            mean(wanted.map(|(_, (run, baseline))| (value(&run.measurement) / value(&baseline.measurement)).ln()))
                .filter(|log| log.is_finite())
        };
        (0..self.seeds).map(of_seed).collect()
    }

    fn of_seed(&self, policy: usize, seed: usize) -> impl Iterator<Item = &Run> {
        self.runs[policy].iter().skip(seed).step_by(self.seeds.max(1))
    }
}

impl<'a> Comparison<'a> {
    /// The results of a plan against one of its policies; against the first one if it has none of this name.
    pub fn of(plan: &'a Plan, results: &'a Results, baseline: &str) -> Self {
        let repetitions = plan.repetitions();
        let cell = |runs: &'a [Run]| Cell {
            workload: &runs[0].workload,
            machine: &runs[0].machine,
            runs: runs.chunks(repetitions).collect(),
            seeds: plan.seeds.len(),
        };
        let chunk = (repetitions * plan.policies.len()).max(1);
        Self {
            policies: plan.policies.iter().map(evenkeel_sched::Setup::name).collect(),
            baseline: plan.policies.iter().position(|policy| policy.name() == baseline).unwrap_or(0),
            orders: &plan.orders,
            counts: Counts {
                workloads: plan.workloads.len(),
                machines: plan.machines.len(),
                orders: plan.orders.len(),
                seeds: plan.seeds.len(),
            },
            cells: results.runs.chunks(chunk).map(cell).collect(),
        }
    }

    /// By how much a policy differs from the baseline, a pair for each seed: of each the geometric mean over the cells in which
    /// the metric has a ratio.
    pub fn difference(&self, policy: usize, value: Value) -> Option<Difference> {
        self.effect(None, None, policy, value)
    }

    /// The same in a cell or over all, and in one of the core orders or over all.
    pub fn effect(
        &self,
        cell: Option<&Cell<'_>>,
        order: Option<usize>,
        policy: usize,
        value: Value,
    ) -> Option<Difference> {
        let logarithms = |cell: &Cell<'_>, order| cell.logarithms(order, policy, self.baseline, value);
        if let Some(cell) = cell {
            return Difference::of_logarithms(logarithms(cell, order)?);
        }
        // In every order the same cells: orders would differ also by what only one of them has.
        let of_cell = |cell: &Cell<'_>| logarithms(cell, None).and(logarithms(cell, order));
        let cells: Vec<Vec<f64>> = self.cells.iter().filter_map(of_cell).collect();
        Difference::of_logarithms((0..self.counts.seeds).filter_map(|seed| mean(cells.iter().map(|cell| cell[seed]))))
    }

    /// In how many of the cells a policy is compared with the baseline: the metric has a ratio there.
    pub fn compared(&self, policy: usize, value: Value) -> usize {
        self.cells.iter().filter(|cell| cell.logarithms(None, policy, self.baseline, value).is_some()).count()
    }

    /// Whether anything was drawn from a seed. If not, every seed gives the same results.
    pub fn drawn(&self) -> bool {
        self.cells.iter().flat_map(|cell| &cell.runs).any(|runs| runs.iter().any(|run| run.drawn))
    }

    /// The policies but for the baseline, by position.
    pub fn others(&self) -> impl Iterator<Item = usize> {
        (0..self.policies.len()).filter(|policy| *policy != self.baseline)
    }
}
