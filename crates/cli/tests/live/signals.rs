//! Signals to Evenkeel are the program's, and what it was told to ignore stays ignored.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

/// Says when it is ready, and how it was ended if it is by USR1.
const PROGRAM: &str = "trap 'echo heard; exit 5' USR1; echo ready; while :; do sleep 0.02; done";

/// The commands that run a program on this machine, as far as this user may use them.
fn commands(folder: &std::path::Path) -> Vec<Vec<String>> {
    let recording = folder.join("app.ek").display().to_string();
    let all = [&["run", "-q"][..], &["record", "-q", "-o", &recording], &["emulate", "1B1L:2", "-q"]];
    let all = all.map(|words| words.iter().map(ToString::to_string).collect::<Vec<_>>());
    all.into_iter().filter(|words| evenkeel(words).args(["--", "true"]).output().unwrap().status.success()).collect()
}

/// A command that ignores no signal, even if these tests were started by something that does (`nohup`).
fn evenkeel(words: &[String]) -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal").arg(assert_cmd::cargo::cargo_bin!("evenkeel")).args(words);
    command
}

/// What becomes of a command, and what the program says, when a signal reaches Evenkeel.
fn after(words: &[String], signal: &str) -> (Option<i32>, String) {
    let mut command = evenkeel(words);
    let mut running =
        command.args(["--", "sh", "-c", PROGRAM]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(running.stdout.take().unwrap());
    let mut text = String::new();
    output.read_line(&mut text).unwrap();
    assert_eq!(text, "ready\n");
    Command::new("kill").args([signal, &running.id().to_string()]).status().unwrap();
    let status = running.wait().unwrap();
    text.clear();
    output.read_to_string(&mut text).unwrap();
    (status.code(), text)
}

#[test]
fn signals_reach_the_program() {
    let folder = tempfile::tempdir().unwrap();
    for words in commands(folder.path()) {
        assert_eq!(after(&words, "-USR1"), (Some(5), "heard\n".to_owned()), "{words:?}");
        for (signal, code) in [("-HUP", 129), ("-INT", 130), ("-TERM", 143)] {
            let recording = folder.path().join("app.ek");
            let _ = std::fs::remove_file(&recording);
            assert_eq!(after(&words, signal), (Some(code), String::new()), "{words:?} {signal}");
            assert!(words[0] != "record" || recording.exists(), "{signal}: what was recorded is kept");
        }
    }
}

#[test]
fn ignored_signals_stay_ignored_in_the_program() {
    let folder = tempfile::tempdir().unwrap();
    for words in commands(folder.path()) {
        let line = "trap '' HUP INT TERM; exec \"$0\" \"$@\" -- grep SigIgn: /proc/self/status";
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).arg(assert_cmd::cargo::cargo_bin!("evenkeel")).args(&words);
        let text = String::from_utf8(shell.output().unwrap().stdout).unwrap();
        let mask = u64::from_str_radix(text.split_whitespace().nth(1).unwrap(), 16).unwrap();
        // Signals 1, 2 and 15.
        assert_eq!(mask & 0x4003, 0x4003, "{words:?}: {text}");
    }
}
