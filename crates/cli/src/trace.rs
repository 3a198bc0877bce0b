//! `sim --trace`: every decision of a run, as a Perfetto trace.

use std::path::Path;

use anyhow::{Result, bail};
use evenkeel_sim::Outcome;

use crate::json;
use crate::lab::{Job, Lab};

/// Does a run and writes its trace.
pub fn record(_lab: &Lab<'_>, _job: Job, path: &Path) -> Result<(json::Run, Outcome)> {
    // HOOK: lab.run(job, &mut evenkeel_sim::perfetto::Writer), then files::write(path, its bytes).
    bail!("cannot write {}: traces are not built yet", path.display())
}
