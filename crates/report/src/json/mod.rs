//! The JSON documents that commands print: an interface, described field by field in `docs/json.md`.
//!
//! Units are part of the names: `_s` is seconds, `_j` is joules, `_hz` is hertz. A number that does not exist is `null`.

mod followed;
mod lists;
mod predictor;
mod reproduction;
mod run;

use serde::Serialize;

pub use followed::{Followed, FollowedShort, FollowedThread, Waits};
pub use lists::{
    ClusterEntry, GovernorEntry, KnobEntry, MachineEntry, Machines, MixEntry, Policies, PolicyEntry, ProgramEntry,
    TaskProgramEntry, Workloads,
};
pub use predictor::{Model, PredictedProgram, Term, Trained};
pub use reproduction::{Breakdown, Chart, Kind, Line, Reproduction, Reproductions, Row, Summary};
pub use run::{Cluster, Metrics, Program, Run, Runs};

/// A value as indented JSON with a newline at its end.
///
/// # Errors
/// The value has a map whose keys are no text, which no document of this module has.
pub fn print<T: Serialize>(value: &T) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}
