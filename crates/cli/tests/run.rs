//! `evenkeel run` with real programs: their status and streams are their own, and whatever happens to Evenkeel, no
//! affinity mask stays changed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

fn evenkeel(args: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
    command.args(args);
    command
}

fn run(args: &[&str]) -> Output {
    evenkeel(args).output().unwrap()
}

fn cpus() -> usize {
    std::thread::available_parallelism().unwrap().get()
}

/// A shell whose child processes are busy, and which tells its own process number first.
const BUSY: &str = "echo $$; for i in 1 2 3; do sh -c 'while :; do :; done' & done; wait";

/// The mask of a process.
fn mask(process: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("Cpus_allowed_list:"))?;
    Some(line.split_whitespace().nth(1)?.to_owned())
}

/// Waits for something that must happen, on however slow a machine.
fn eventually(what: &str, mut happens: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if happens() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{what} did not happen");
}

/// [`BUSY`] under Evenkeel. All of it is killed at the end of the test.
struct Busy {
    evenkeel: Child,
    processes: Vec<String>,
}

impl Busy {
    fn start(args: &[&str]) -> Self {
        let mut evenkeel = evenkeel(args).args(["--", "sh", "-c", BUSY]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(evenkeel.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let shell = line.trim();
        let mut processes = Vec::new();
        eventually("the start of all processes", || {
            let children = fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
            processes = std::iter::once(shell).chain(children.split_whitespace()).map(str::to_owned).collect();
            processes.len() == 4
        });
        Self { evenkeel, processes }
    }

    fn masks(&self) -> Vec<String> {
        self.processes.iter().filter_map(|process| mask(process)).collect()
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.evenkeel.kill();
        let _ = Command::new("kill").arg("-9").args(&self.processes).status();
        let _ = self.evenkeel.wait();
    }
}

#[test]
fn status_and_streams_are_the_programs() {
    let output = run(&["run", "-q", "--", "sh", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
    assert_eq!(run(&["run", "-q", "--", "sh", "-c", "kill -9 $$"]).status.code(), Some(137));
}

#[test]
fn what_cannot_be_started_is_an_error_of_the_request() {
    let output = run(&["run", "--", "no-such-command"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no-such-command: no such command"));
    let output = run(&["run", "--big", "0-9999", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    for period in ["0", "0s", "100us", "1h", "500 years"] {
        let output = run(&["run", "--period", period, "--", "echo", "started"]);
        assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{period}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("expected 1.000 ms to 10.000 s"), "{output:?}");
    }
    let output = run(&["run", "--pid", "999999999"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no process 999999999"));
}

#[test]
fn a_signal_to_evenkeel_ends_the_program() {
    let mut busy = Busy::start(&["run", "-q"]);
    Command::new("kill").args(["-TERM", &busy.evenkeel.id().to_string()]).status().unwrap();
    assert_eq!(busy.evenkeel.wait().unwrap().code(), Some(143));
}

/// Killed in the middle, the program runs on and has its own masks again, under policies that bind threads and under
/// those that move them.
#[test]
fn kill_9_leaves_no_changed_mask() {
    if cpus() < 2 {
        eprintln!("skipped: this needs two CPUs");
        return;
    }
    let before = mask("self").unwrap();
    for policy in ["static", "wash", "pfs"] {
        let mut busy = Busy::start(&["run", "-q", "--policy", policy, "--big", "0", "--little", "1"]);
        if policy == "static" {
            eventually("a binding", || busy.masks().iter().any(|mask| *mask != before));
        } else {
            std::thread::sleep(Duration::from_millis(300));
        }
        busy.evenkeel.kill().unwrap();
        busy.evenkeel.wait().unwrap();
        eventually("giving back the masks", || busy.masks().iter().all(|mask| *mask == before));
        assert_eq!(busy.masks().len(), 4, "{policy}: the program runs on");
    }
}

/// What an emulated machine does not have is given back to all of the command.
#[test]
fn kill_9_of_an_emulation_leaves_no_changed_mask() {
    if cpus() < 3 || !run(&["emulate", "1B1L:3", "-q", "--", "true"]).status.success() {
        eprintln!("skipped: this needs three CPUs and SCHED_FIFO");
        return;
    }
    let before = mask("self").unwrap();
    let mut busy = Busy::start(&["emulate", "1B1L:3", "-q"]);
    assert!(busy.masks().iter().all(|mask| *mask != before), "{:?}", busy.masks());
    busy.evenkeel.kill().unwrap();
    busy.evenkeel.wait().unwrap();
    eventually("giving back the masks", || busy.masks().iter().all(|mask| *mask == before));
    assert_eq!(busy.masks().len(), 4, "the program runs on");
}

/// A mask that the program gives itself stays, and Evenkeel keeps to it.
#[test]
fn masks_of_the_programs_own_are_respected() {
    if cpus() < 2 {
        eprintln!("skipped: this needs two CPUs");
        return;
    }
    for policy in ["static", "pfs"] {
        let line = "taskset -p -c 1 $$ >/dev/null; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; taskset -p -c $$";
        let args = ["run", "-q", "--policy", policy, "--big", "0", "--little", "1", "--", "sh", "-c", line];
        let output = run(&args);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.trim_end().ends_with("affinity list: 1"), "{policy}: {text}");
    }
}

#[test]
fn the_account_is_json_for_programs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("account.json");
    let output = run(&["run", "--format", "json", "-o", file.to_str().unwrap(), "--", "sh", "-c", "true"]);
    assert!(output.status.success());
    let account: serde_json::Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(account["policy"], "pfs");
    assert!(account["elapsed_s"].as_f64().unwrap() > 0.0);
    assert!(!account["threads"].as_array().unwrap().is_empty());
}
