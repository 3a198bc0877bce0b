//! Policies beside each other: every workload on every machine, against a baseline.

use crate::plan::Plan;
use crate::run::{Measurement, Results, Run};
use crate::spread::Spread;

/// Reads a metric of a run, in any unit.
pub type Value = fn(&Measurement) -> f64;

/// The results of a plan, by workload, machine and policy.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// The names of the policies, in the order of the plan.
    pub policies: Vec<&'a str>,
    /// The position of the policy that the others are compared with.
    pub baseline: usize,
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
    /// The runs of each policy: one for each core order and seed.
    pub runs: Vec<&'a [Run]>,
}

impl Cell<'_> {
    /// A metric of a policy over core orders and seeds.
    pub fn spread(&self, policy: usize, value: Value) -> Spread {
        Spread::of(&self.runs[policy].iter().map(|run| value(&run.measurement)).collect::<Vec<_>>())
    }

    /// By which share a policy's mean differs from that of the baseline: -0.1 is 10 % less.
    pub fn effect(&self, policy: usize, baseline: usize, value: Value) -> f64 {
        self.spread(policy, value).mean / self.spread(baseline, value).mean - 1.0
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
        };
        let chunk = (repetitions * plan.policies.len()).max(1);
        Self {
            policies: plan.policies.iter().map(evenkeel_sched::Setup::name).collect(),
            baseline: plan.policies.iter().position(|policy| policy.name() == baseline).unwrap_or(0),
            counts: Counts {
                workloads: plan.workloads.len(),
                machines: plan.machines.len(),
                orders: plan.orders.len(),
                seeds: plan.seeds.len(),
            },
            cells: results.runs.chunks(chunk).map(cell).collect(),
        }
    }

    /// The mean over cells of a policy's effect in the cell.
    pub fn mean_effect(&self, policy: usize, value: Value) -> f64 {
        let effects: Vec<f64> = self.cells.iter().map(|cell| cell.effect(policy, self.baseline, value)).collect();
        Spread::of(&effects).mean
    }
}
