//! What runs: programs as threads of operations, suites and mixes of them, and importers.

pub mod program;
pub mod rtapp;

pub use program::{Op, Program, Thread, Workload};
