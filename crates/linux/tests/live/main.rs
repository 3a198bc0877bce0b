//! What needs more of a machine than CPU time: `#[test(...)]` names it.

#[macro_use]
extern crate evenkeel_testing_macros;

use evenkeel_linux::{guard, launch};

mod conformance;
mod pins;
mod recorder;
mod watch;

/// Also what `evenkeel` is for itself: the guard of masks, a command that waits to be released.
fn main() -> std::process::ExitCode {
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    match arguments.first().and_then(|command| command.to_str()) {
        Some(guard::COMMAND) => guard::watch(),
        Some(launch::COMMAND) => launch::gate(&arguments[1..]).expect("it becomes the command"),
        Some(conformance::COMMAND) => conformance::play(&std::env::args().skip(2).collect::<Vec<_>>()),
        _ => return evenkeel_testing::main(),
    }
    std::process::ExitCode::SUCCESS
}
