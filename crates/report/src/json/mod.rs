//! The JSON documents that commands print: an interface. `docs/json.md` is made of the comments here by a test.
//!
//! Units are part of the names: `_s` is seconds, `_j` is joules, `_w` is watts, `_hz` is hertz. A number that does not exist is `null`.

mod emulated;
mod followed;
mod guest;
mod lists;
mod predictor;
mod recorded;
mod reproduction;
mod run;
mod scheduled;
#[cfg(test)]
mod schema;
mod sweep;
mod topology;
mod tried;
mod watched;

use serde::Serialize;

pub use emulated::{ClockedCpu, Emulated, LittleCpu};
pub use followed::{Followed, FollowedShort, FollowedThread, LaterPolicy, Waits};
pub use guest::{
    Bench, BenchAccuracy, BenchDifference, BenchErrors, BenchLatency, BenchMachine, BenchRow, BenchTotal, Guest,
};
pub use lists::{
    ClusterEntry, GovernorEntry, KnobEntry, MachineEntry, Machines, MixEntry, Policies, PolicyEntry, ProgramEntry,
    TaskProgramEntry, TechniqueEntry, Workloads,
};
pub use predictor::{Model, PredictedProgram, Term, Trained};
pub use recorded::Recorded;
pub use reproduction::{Chart, Line, Reproduction, Reproductions, Row, RowKind};
pub use run::{Cluster, Effect, Metrics, OrderEffect, PolicyEffects, Program, Run, Runs};
pub use scheduled::{Schedulable, Schedulables, Scheduled};
pub use sweep::{Planned, Swept, SweptPolicy, Varied};
pub use topology::{AbilityEntry, CoreKind, OnlineCpu, PowerAt, SharingCpus, SustainedPower, Topology};
pub use tried::{Tried, TriedScheduler};
pub use watched::{Watched, WatchedCore, WatchedThread};

/// A value as indented JSON with a newline at its end.
///
/// # Errors
/// The value has a map whose keys are no text, which no document of this module has.
pub fn print<T: Serialize>(value: &T) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

/// A value as JSON in one line, without an end of line.
///
/// # Errors
/// As for [`print()`].
pub fn line<T: Serialize>(value: &T) -> serde_json::Result<String> {
    serde_json::to_string(value)
}
