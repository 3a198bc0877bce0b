//! What runs: programs as threads of operations, suites and mixes of them, and importers.

pub mod format;
pub mod program;
pub mod rtapp;
pub mod validate;

pub use program::{Op, Program, Thread, Workload};
