//! Sim-to-real: what a recorded run would take in the simulator, under each policy.

use anyhow::{Context, Result};
use evenkeel_sim::Options;

use super::STOCK;
use crate::catalog;

/// The stand-in of the guest's own scheduler: Linux since 6.6.
const SIMULATED_STOCK: &str = "eevdf";

/// Plays a recording on the machine that it was made on. `took` is what its programs say they took, in seconds, which is
/// less than the recording, as that has the shell that started them, too. So the replay says how many times as long as the
/// recorded run another one takes.
pub fn makespans(file: &str, took: f64, policies: &[&str]) -> Result<Vec<f64>> {
    let imported = catalog::workload(file)?;
    let machine = imported.recorded_on.context("the recording does not tell its machine")?;
    let recorded = imported.recorded.context("the recording does not tell how long it took")?;
    let makespan = |name: &&str| {
        let policy = catalog::policy(if *name == STOCK { SIMULATED_STOCK } else { name })?;
        let outcome =
            evenkeel_sim::run(&machine, &imported.workload, policy.make(), None, &Options::default(), &mut ())?;
        Ok(took * outcome.makespan.as_secs_f64() / recorded.as_secs_f64())
    };
    policies.iter().map(makespan).collect()
}
