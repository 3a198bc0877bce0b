//! Signals.

use std::process::Command;

/// Sends a signal (`"-INT"`) to processes, or with a minus before its number to a process group, by the shell's own command:
/// not every machine has the program `kill`. Returns whether that worked for all.
///
/// # Panics
/// There is no shell.
pub fn kill(signal: &str, processes: &[String]) -> bool {
    let mut shell = Command::new("sh");
    shell.args(["-c", "kill \"$@\"", "sh", signal]).args(processes).status().expect("a shell runs").success()
}
