//! The command with real programs, real kernels and what else a machine may lack.

mod emulate;
mod run;
mod run_report;
mod signals;
mod vm;
