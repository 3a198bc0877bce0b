//! Host 1: a discrete-event machine. Two simulations that share no code: threads that a scheduler places, and work-stealing
//! workers on a machine without one.

mod meter;
pub mod threads;
pub mod workers;

pub use meter::{MAX_EVENTS, Meter};
pub use threads::{
    CoreOutcome, Ended, Error, Event, Latency, Observer, Options, Outcome, ProgramOutcome, QueueOutcome, Stop,
    ThreadOutcome, check, perfetto, run, run_steered,
};

/// The worked example of `docs/adding-a-policy.md`, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../docs/adding-a-policy.md")]
struct AddingAPolicy;

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
