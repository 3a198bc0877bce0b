//! Host 1: a discrete-event machine that plays a workload under a scheduler.

pub mod perfetto;
pub mod workers;

mod calendar;
mod code;
mod core;
mod earliest;
mod engine;
mod foresight;
mod hardware;
mod host;
mod life;
mod meter;
mod objects;
mod observer;
mod outcome;
mod pmu;
mod report;
mod run;
mod speeds;
mod step;
mod task;
mod tasking;

pub use meter::Meter;
pub use observer::{Event, Observer, Stop};
pub use outcome::{CoreOutcome, Ended, Latency, Outcome, ProgramOutcome, QueueOutcome, ThreadOutcome};
pub use run::{Error, Options, check, run};

/// The worked example of `docs/adding-a-policy.md`, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/adding-a-policy.md")]
struct AddingAPolicy;
