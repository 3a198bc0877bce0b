//! Completions for shells that a machine may lack: each reads its own, without running anything.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;
use std::process::Command;

use super::run::run;

fn reads_its_completions(shell: &str) {
    let script = run(&["completions", shell]);
    assert!(script.status.success() && !script.stdout.is_empty(), "{script:?}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("evenkeel");
    fs::write(&file, script.stdout).unwrap();
    let read = Command::new(shell).arg("-n").arg(&file).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
}

#[test(zsh)]
fn zsh_reads_its_completions() {
    reads_its_completions("zsh");
}

#[test(fish)]
fn fish_reads_its_completions() {
    reads_its_completions("fish");
}
