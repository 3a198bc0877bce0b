//! What runs: programs as threads of operations, suites and mixes of them, and importers.

pub mod program;

pub use program::{Op, Program, Thread, Workload};
