//! What needs more of a machine than CPU time: `#[test(...)]` names it.

#[macro_use]
extern crate evenkeel_testing_macros;

mod recorder;
mod watch;

fn main() -> std::process::ExitCode {
    evenkeel_testing::main()
}
