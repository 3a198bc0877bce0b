//! The scheduler core: threads, run queues, hooks, one file per policy.
//!
//! A pure state machine. It does no I/O, reads no clock, spawns no thread and draws no random number; a host passes the
//! time in and carries the decisions out. It never knows which host that is.

// What `#[hooks]` makes names this crate by its own name.
extern crate self as evenkeel_sched;

pub mod governor;
mod idle;
mod masks;
mod occupancy;
pub mod policy;
pub mod protocol;
pub mod steering;

mod action;
mod frequency;
mod pelt;
mod run_queue;
mod scheduler;
mod span;
mod state;
mod thread;
mod usage;

pub use evenkeel_model::{Clamp, Class, FULL_LOAD, NICE_0_WEIGHT, ThreadKind};

pub use action::{Action, Next, Why};
pub use governor::Governor;
pub use pelt::Pelt;
pub use policy::{Description, POLICIES, Policy, Reads, Setup};
pub use protocol::Host;
pub use run_queue::RunQueue;
pub use scheduler::{Predict, Scheduler};
pub use span::Span;
pub use state::{Core, State};
pub use thread::{Future, NewThread, OnType, Release, Run, Thread, Wait, Window};

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
