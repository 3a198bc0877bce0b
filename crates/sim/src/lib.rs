//! Host 1: a discrete-event machine that plays a workload under a scheduler.

mod observer;
mod outcome;
mod run;

pub use observer::{Event, Observer, Stop};
pub use outcome::{CoreOutcome, Ended, Latency, Outcome, ProgramOutcome, QueueOutcome, ThreadOutcome};
pub use run::{Error, Options, run};
