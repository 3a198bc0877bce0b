//! Signals to Evenkeel reach the program, and signals that it ignored at its start stay ignored.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use super::run::evenkeel_that_hears;

/// Says when it is ready, and how it was ended if it is by USR1.
const PROGRAM: &str = "trap 'echo heard; exit 5' USR1; echo ready; while :; do sleep 0.02; done";

const RUN: &[&str] = &["run", "-q"];
const RECORD: &[&str] = &["record", "-q", "-o", "app.ek"];
const EMULATE: &[&str] = &["emulate", "1B1L:2", "-q"];

/// What becomes of a command, and what the program says, when a signal reaches Evenkeel.
fn after(words: &[&str], signal: &str, folder: &Path) -> (Option<i32>, String) {
    let mut command = evenkeel_that_hears(words);
    command.current_dir(folder);
    let mut running =
        command.args(["--", "sh", "-c", PROGRAM]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(running.stdout.take().unwrap());
    let mut text = String::new();
    output.read_line(&mut text).unwrap();
    assert_eq!(text, "ready\n");
    assert!(evenkeel_testing::kill(signal, &[running.id().to_string()]));
    let status = running.wait().unwrap();
    text.clear();
    output.read_to_string(&mut text).unwrap();
    (status.code(), text)
}

fn signals_reach_the_program(words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(after(words, "-USR1", folder.path()), (Some(5), "heard\n".to_owned()), "{words:?}");
    for (signal, code) in [("-HUP", 129), ("-INT", 130), ("-TERM", 143)] {
        let recording = folder.path().join("app.ek");
        let _ = std::fs::remove_file(&recording);
        assert_eq!(after(words, signal, folder.path()), (Some(code), String::new()), "{words:?} {signal}");
        assert_eq!(recording.exists(), words[0] == "record", "{signal}: what was recorded is kept");
    }
}

#[test]
fn signals_reach_a_program_that_is_run() {
    signals_reach_the_program(RUN);
}

#[test(ebpf)]
fn signals_reach_a_program_that_is_recorded() {
    signals_reach_the_program(RECORD);
}

#[test(emulation)]
fn signals_reach_a_program_on_an_emulated_machine() {
    signals_reach_the_program(EMULATE);
}

fn ignored_signals_stay_ignored(words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let line = "trap '' HUP INT TERM; exec \"$0\" \"$@\" -- grep SigIgn: /proc/self/status";
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).arg(assert_cmd::cargo::cargo_bin!("evenkeel")).args(words).current_dir(folder.path());
    let text = String::from_utf8(shell.output().unwrap().stdout).unwrap();
    let mask = u64::from_str_radix(text.split_whitespace().nth(1).unwrap(), 16).unwrap();
    // Signals 1, 2 and 15.
    assert_eq!(mask & 0x4003, 0x4003, "{words:?}: {text}");
}

#[test]
fn ignored_signals_stay_ignored_in_a_program_that_is_run() {
    ignored_signals_stay_ignored(RUN);
}

#[test(ebpf)]
fn ignored_signals_stay_ignored_in_a_program_that_is_recorded() {
    ignored_signals_stay_ignored(RECORD);
}

#[test(emulation)]
fn ignored_signals_stay_ignored_in_a_program_on_an_emulated_machine() {
    ignored_signals_stay_ignored(EMULATE);
}

/// What a program that says how often it was interrupted has said within a terminal of its own, where a shell runs this line.
fn in_a_terminal(line: &str, keys: &[u8]) -> String {
    let program = "trap \"echo int\" INT; echo ready; for i in $(seq 40); do sleep 0.05; done";
    let line = line.replace("EVENKEEL", assert_cmd::cargo::cargo_bin!("evenkeel").to_str().unwrap());
    // What a shell finds ignored it cannot trap.
    let mut script = Command::new("env");
    script.args(["--default-signal", "script", "-qec", &line, "/dev/null"]).env("PROGRAM", program);
    let mut running = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(running.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains("ready") {
        assert_ne!(output.read_line(&mut text).unwrap(), 0, "{text}");
    }
    let mut terminal = running.stdin.take().unwrap();
    terminal.write_all(keys).unwrap();
    output.read_to_string(&mut text).unwrap();
    running.wait().unwrap();
    text
}

/// A terminal sends them to all that runs in its foreground.
#[test]
fn an_interrupt_reaches_the_program_once() {
    let times = |text: &str| text.lines().filter(|line| line.trim_start_matches("^C").trim() == "int").count();
    let text = in_a_terminal("EVENKEEL run -q -- sh -c \"$PROGRAM\" </dev/null", b"\x03");
    assert_eq!(times(&text), 1, "by a key, and the standard input is no terminal: {text}");
    let line = "env --default-signal EVENKEEL run -q -- sh -c \"$PROGRAM\" </dev/tty & sleep 1; kill -INT $!; wait";
    let text = in_a_terminal(line, b"");
    assert_eq!(times(&text), 1, "by another program, and the standard input is a terminal: {text}");
}
