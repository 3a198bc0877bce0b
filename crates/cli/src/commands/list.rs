//! `evenkeel machines`, `policies` and `workloads`: what there is.

use anyhow::Result;
use evenkeel_experiment::catalog;
use evenkeel_report::text;

use crate::args::{Format, Output};
use crate::json;

/// Lists the machines.
pub fn machines(output: Output) -> Result<String> {
    let machines = catalog::all_machines()?;
    match output.format {
        Format::Json => json::print(&json::Machines::of(&machines)),
        Format::Table => Ok(text::machines(&machines)),
    }
}

/// Lists the policies, their knobs, the governors, and the techniques of the runtime.
pub fn policies(output: Output) -> Result<String> {
    match output.format {
        Format::Json => json::print(&json::Policies::all()),
        Format::Table => Ok(text::policies()),
    }
}

/// Lists the programs and mixes.
pub fn workloads(output: Output) -> Result<String> {
    match output.format {
        Format::Json => json::print(&json::Workloads::all()),
        Format::Table => Ok(text::workloads()),
    }
}
