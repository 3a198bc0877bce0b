//! Sim-to-real: what a recorded run would take in the simulator, under each policy.

use anyhow::{Context, Result};
use evenkeel_experiment::{Control, Plan, Run, Runner};
use evenkeel_linux::vm::bench::Host;
use evenkeel_model::metrics::geometric_mean;

use crate::catalog;

/// Stands for the guest's own scheduler: Linux since 6.6.
const SIMULATED_STOCK: &str = "eevdf";

/// Plays a recording on the machine that it was made on, as `compare` does: in both core orders, whose geometric mean counts,
/// since a kernel that takes all cores for equal may begin with any of them. `took` is what its programs say they took, in
/// seconds, which is less than the recording, as that has the shell that started them, too. So the replay says how many
/// times as long as the recorded run another one takes.
pub fn makespans(file: &str, took: f64, policies: &[&str]) -> Result<Vec<f64>> {
    let found = catalog::workload(file)?;
    let machine = found.recorded_on.context("the recording does not tell its machine")?;
    let recorded = found.recorded.context("the recording does not tell how long it took")?;
    let policy = |name: &&str| catalog::policy(if *name == Host::Stock.name() { SIMULATED_STOCK } else { name });
    let plan = Plan {
        workloads: vec![found.workload],
        machines: vec![machine],
        policies: policies.iter().map(policy).collect::<Result<_>>()?,
        ..Plan::default()
    };
    let control = Control::default();
    let repetitions = plan.repetitions();
    let results = Runner::new(plan, &control)?.run_all(&control)?;
    let times_as_long = |run: &Run| run.measurement.makespan.as_secs_f64() / recorded.as_secs_f64();
    let mean = |runs: &[Run]| geometric_mean(&runs.iter().map(times_as_long).collect::<Vec<f64>>());
    let means: Option<Vec<f64>> = results.runs.chunks(repetitions).map(mean).collect();
    Ok(means.context("a recording was not played")?.iter().map(|mean| took * mean).collect())
}
