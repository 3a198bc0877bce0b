//! Threads under a scheduler: plays a workload on a machine, and carries out what the scheduler decides.

pub mod perfetto;

mod calendar;
mod code;
mod core;
mod earliest;
mod engine;
mod foresight;
mod hardware;
mod host;
mod life;
mod objects;
mod observer;
mod outcome;
mod pmu;
mod report;
mod run;
mod speeds;
mod step;
mod tasking;
mod thread;

pub use observer::{Event, Observer, Stop};
pub use outcome::{CoreOutcome, Ended, Latency, Outcome, ProgramOutcome, QueueOutcome, ThreadOutcome};
pub use run::{Error, Options, check, run};
