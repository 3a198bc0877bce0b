//! `sim --trace`: every decision of a run, as a Perfetto trace.

use std::io::BufWriter;

use anyhow::{Context, Result};
use evenkeel_sim::Outcome;
use evenkeel_sim::perfetto::Writer;

use crate::files::Target;
use crate::json;
use crate::lab::{Job, Lab};

/// Does a run and writes its trace, packet by packet.
pub fn record(lab: &Lab<'_>, job: Job, mut target: Target) -> Result<(json::Run, Outcome)> {
    let machine = lab.machine(job);
    let cannot_write = target.cannot_write();
    let mut writer = Writer::new(&machine, BufWriter::new(target.writer()));
    let done = lab.run(job, &mut writer)?;
    writer.finish().context(cannot_write)?;
    target.keep()?;
    Ok(done)
}
