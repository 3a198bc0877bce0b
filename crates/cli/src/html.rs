//! `--html`: what the pages need, gathered from the runs.

use anyhow::{Result, bail};

use crate::lab::{Lab, Plan, Results};
use crate::reproduce::evaluate::Evaluated;
use crate::reproduce::experiment::Experiment;

/// The page of a comparison.
pub fn compare(_lab: &Lab<'_>, _plan: &Plan, _results: &Results, _baseline: &str) -> Result<String> {
    // HOOK: page::compare
    bail!("pages are not built yet")
}

/// The page of a reproduction.
pub fn reproduce(
    _experiment: &Experiment,
    _plans: &[Plan],
    _results: &[Results],
    _rows: &[Evaluated<'_>],
) -> Result<String> {
    // HOOK: page::reproduce
    bail!("pages are not built yet")
}
