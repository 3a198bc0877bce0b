//! The command with real programs, real kernels and what else a machine may lack: `#[test(...)]` names it.

#[macro_use]
extern crate evenkeel_testing_macros;

mod emulate;
mod files;
mod record;
mod rt_app;
mod run;
mod run_report;
mod scx;
mod signals;
mod vm;

fn main() -> std::process::ExitCode {
    evenkeel_testing::main()
}
