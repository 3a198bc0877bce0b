//! What happened in the runs of a comparison, to be drawn side by side.

use evenkeel_model::{CoreOrder, Machine, Ns};

use crate::error::Result;
use crate::history::{History, Recorder};
use crate::plan::Job;
use crate::runner::Runner;

/// So many spans of all runs of a page together are kept: more make one that does not open at once.
pub const SPANS: usize = 1 << 20;

/// So many workloads on machines have timelines on a page that still opens at once.
pub const PANELS: usize = 6;

/// The histories of a plan's first workloads and machines.
#[derive(Clone, Debug)]
pub struct Timelines {
    /// One entry a workload and machine.
    pub panels: Vec<Panel>,
    /// How many more combinations the plan has.
    pub left: usize,
}

/// A workload on a machine, under each policy of the plan.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The workload's name.
    pub workload: String,
    /// The machine, its cores in the order of the runs.
    pub machine: Machine,
    /// One history a policy.
    pub histories: Vec<History>,
}

impl Panel {
    /// When the longest of its runs ended.
    pub fn horizon(&self) -> Ns {
        self.histories.iter().map(|history| history.end).max().unwrap_or(Ns::ZERO)
    }
}

impl Timelines {
    /// Records the first seed of at most so many combinations, in little-first core order if the plan has that.
    ///
    /// # Errors
    /// As [`Runner::run`].
    pub fn record(runner: &Runner, most: usize) -> Result<Self> {
        let plan = runner.plan();
        let (Some(&first), Some(&seed)) = (plan.orders.first(), plan.seeds.first()) else {
            return Ok(Self { panels: Vec::new(), left: 0 });
        };
        let order = if plan.orders.contains(&CoreOrder::LittleFirst) { CoreOrder::LittleFirst } else { first };
        let cells = (0..plan.workloads.len()).flat_map(|w| (0..plan.machines.len()).map(move |m| (w, m)));
        let cells: Vec<(usize, usize)> = cells.take(most).collect();
        let spans = SPANS / (cells.len() * plan.policies.len()).max(1);
        let mut panels = Vec::new();
        for (workload, machine) in cells {
            let mut histories = Vec::new();
            for policy in 0..plan.policies.len() {
                let job = Job { workload, machine, policy, order, seed };
                let mut recorder = Recorder::new(&runner.machine(job)).at_most(spans);
                let run = runner.run(job, &mut recorder)?;
                histories.push(recorder.finish(run.measurement.makespan));
            }
            let ordered = plan.machines[machine].ordered(order);
            panels.push(Panel { workload: plan.workloads[workload].name.clone(), machine: ordered, histories });
        }
        let left = plan.workloads.len() * plan.machines.len() - panels.len();
        Ok(Self { panels, left })
    }
}
