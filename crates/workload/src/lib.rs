//! What runs: programs as threads of operations, suites and mixes of them, and importers.

pub mod format;
pub mod graph;
pub mod kernels;
pub mod mix;
mod name;
pub mod program;
pub mod recording;
pub mod rtapp;
pub mod suite;
mod tasking;
pub mod validate;

pub use name::{NameError, by_name};
pub use program::{Op, Program, Thread, Workload};
