//! `sim --trace`: every decision of a run, as a Perfetto trace.

use anyhow::{Result, bail};
use evenkeel_sim::Outcome;

use crate::files::Target;
use crate::json;
use crate::lab::{Job, Lab};

/// Does a run and writes its trace.
pub fn record(_lab: &Lab<'_>, _job: Job, _target: Target) -> Result<(json::Run, Outcome)> {
    // HOOK: lab.run(job, &mut evenkeel_sim::perfetto::Writer), then target.write(its bytes).
    bail!("traces are not built yet")
}
