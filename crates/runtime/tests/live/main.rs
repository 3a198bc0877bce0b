//! Pools on real cores, as far as this machine has them: `#[test(...)]` names what a test needs.

#[macro_use]
extern crate evenkeel_testing_macros;

mod fork;
mod uneven;

fn main() -> std::process::ExitCode {
    evenkeel_testing::main()
}
