//! What runs: programs as threads of operations, suites and mixes of them, and importers.

mod entry;
pub mod format;
pub mod graph;
pub mod kernels;
mod lives;
pub mod mix;
mod name;
pub mod program;
pub mod recording;
pub mod rtapp;
pub mod suite;
mod tasking;
pub mod validate;

pub use entry::NameError;
pub use name::{by_name, parts};
pub use program::{Op, Program, Thread, Workload};

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
