//! Sim-to-real: a recorded run is played under the policies that schedule it in the guest.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use evenkeel_experiment::prediction;
use evenkeel_linux::vm::bench::Host;
use evenkeel_workload::recording::Recording;

use crate::catalog;

/// Stands for the guest's own scheduler: Linux since 6.6.
const SIMULATED_STOCK: &str = "eevdf";

/// What the programs of a recorded run are predicted to take under each policy, in seconds.
pub fn times(file: &Path, policies: &[&str]) -> Result<Vec<Vec<f64>>> {
    let path = file.display().to_string();
    let text = fs::read_to_string(file).with_context(|| format!("{path}: cannot be read"))?;
    let policy = |name: &&str| catalog::policy(if *name == Host::Stock.name() { SIMULATED_STOCK } else { name });
    let policies = policies.iter().map(policy).collect::<Result<_>>()?;
    Ok(prediction::times(&path, Recording::from_text(&text, &path)?, policies)?)
}
