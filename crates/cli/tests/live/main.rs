//! The command with real programs, real kernels and what else a machine may lack: `#[test(...)]` names it.

#[macro_use]
extern crate evenkeel_testing_macros;

mod emulate;
mod emulate_twice;
mod fields;
mod files;
mod java;
mod machine;
mod masks;
mod openmp;
mod record;
mod rt_app;
mod run;
mod run_report;
mod scx;
mod scx_beside;
mod scx_conformance;
mod shells;
mod signals;
mod terminal;
mod top;
mod trial;
mod vm;

/// Also what plays scenarios inside a guest.
fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((command, policies)) if command == scx_conformance::COMMAND => {
            std::process::ExitCode::from(u8::from(!scx_conformance::play(policies)))
        }
        _ => evenkeel_testing::main(),
    }
}
