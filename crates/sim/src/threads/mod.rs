//! Threads under a scheduler: plays a workload on a machine, and carries out what the scheduler decides.

pub mod perfetto;

mod beside;
mod caches;
mod calendar;
mod code;
mod core;
mod earliest;
mod engine;
mod error;
mod flatten;
mod foresight;
mod hardware;
mod host;
mod life;
mod lower;
mod mask;
mod memory;
mod objects;
mod observer;
mod options;
mod outcome;
mod pmu;
mod report;
mod run;
mod shared;
mod speeds;
mod split;
mod spread;
mod step;
mod tasking;
mod thread;

pub use error::Error;
pub use observer::{Event, Observer, Stop};
pub use options::Options;
pub use outcome::{CoreOutcome, Ended, Latency, Outcome, ProgramOutcome, QueueOutcome, ThreadOutcome};
pub use run::{check, run, run_steered};
