//! What is left of files that were not finished.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// The file is open when the program starts: one that cannot be written is an error before.
#[test(unnamed_files)]
fn what_kill_9_interrupts_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
    command.current_dir(folder.path()).args(["run", "--html", "page.html", "-o", "account.json"]);
    command.args(["--format", "json", "--", "sh", "-c", "echo $$; exec sleep 1000"]);
    let mut running = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut program = String::new();
    BufReader::new(running.stdout.take().unwrap()).read_line(&mut program).unwrap();
    assert!(program.trim().parse::<u32>().is_ok(), "the program runs: {program:?}");
    running.kill().unwrap();
    running.wait().unwrap();
    evenkeel_testing::kill("-9", &[program.trim().to_owned()]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
