//! `evenkeel top` in a terminal, and without one, beside a real program that is followed.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::process::{Command, Stdio};
use std::time::Duration;

use evenkeel_top::Sort;
use rustix::process::Signal;
use serde_json::Value;

use super::masks::WITHOUT_EBPF;
use super::run::{Busy, evenkeel, eventually, mask, run};
use super::terminal::{Terminal, taken_away};

const FOLLOWED: [&str; 9] = ["run", "--policy", "colab", "--big", "0", "--little", "1", "--ratio", "2"];

fn top(args: &[&str]) -> Command {
    let mut command = evenkeel(&["top"]);
    command.args(args);
    command
}

/// What one prints in JSON.
fn documents(args: &[&str]) -> Vec<Value> {
    let output = run(&[&["top", "--format", "json"], args].concat());
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test(two_cpus)]
fn cores_and_threads_are_shown_and_keys_change_what_the_host_does() {
    let busy = Busy::start(&[&FOLLOWED[..], &["--quiet"]].concat());
    let host = busy.evenkeel.id().to_string();
    let mut terminal = Terminal::start(top(&[&host, "--every", "200ms", "--sort", "tid"]), 100, 30);
    let screen = terminal.shows("policy colab");
    assert!(screen.contains(&format!("evenkeel run {host}")), "{screen}");
    let process = busy.processes[1].clone();
    terminal.becomes("each process, and both cores", |screen| {
        busy.processes.iter().all(|process| screen.contains(process.as_str()))
            && ["0 big", "1 little"].iter().all(|core| screen.contains(core))
    });

    // Only one of them, which is pinned, by `p`, to the little core.
    terminal.press(&format!("/{process}\r"));
    let others = || busy.processes.iter().filter(|other| **other != process);
    terminal.becomes("one thread alone", |screen| {
        let table = screen.rsplit("pinned").next().unwrap();
        table.contains(&process) && !others().any(|other| table.contains(&format!(" {other} ")))
    });
    terminal.press("\x1b[Bp1\r");
    terminal.shows(&format!("thread {process} is pinned to CPU 1"));
    eventually("the thread's mask", || mask(&process).as_deref() == Some("1"));
    terminal.press("p\x7f9\r");
    terminal.shows("there is no CPU 9 among those that are scheduled");

    // Another policy, by `P`: the pin stays.
    terminal.press("P");
    terminal.shows("policy: Enter takes it");
    terminal.press("\x1b[F");
    terminal.press("\r");
    terminal.shows("policy bias decides from now on");
    terminal.shows("policy bias");
    eventually("the thread's mask", || mask(&process).as_deref() == Some("1"));
    terminal.press("p\x7f\r");
    terminal.shows(&format!("thread {process} is pinned no longer"));
    eventually("the thread's own mask", || mask(&process).as_deref() == Some("0-1"));

    terminal.press("p0\r");
    eventually("the thread's mask", || mask(&process).as_deref() == Some("0"));
    terminal.press("?");
    terminal.shows("keys and columns");
    terminal.press("xq");
    let (status, left) = terminal.end();
    assert!(status.success() && left, "{status}: it left the terminal as it was: {left}");

    // A shell has the terminal while it is stopped.
    let mut terminal = Terminal::start(top(&[&host]), 80, 24);
    terminal.shows("policy bias");
    terminal.press("\x1a");
    eventually("the stop", || terminal.stopped());
    eventually("the terminal as it was", || terminal.left());
    terminal.signal(Signal::CONT);
    eventually("the terminal's use", || !terminal.left());
    terminal.shows("policy bias");
    terminal.press("q");
    let (status, left) = terminal.end();
    assert!(status.success() && left, "{status}: it left the terminal as it was: {left}");
    taken_away(top(&[&host]));

    // However the host ends, no thread stays pinned.
    let terminal = Terminal::start(top(&[&host]), 80, 24);
    terminal.shows("policy bias");
    rustix::process::kill_process(rustix::process::Pid::from_child(&busy.evenkeel), Signal::KILL).unwrap();
    terminal.shows("has ended");
    eventually("masks given back", || busy.masks().iter().all(|mask| mask == "0-1"));
    terminal.signal(Signal::TERM);
    let (status, left) = terminal.end();
    assert!(status.success() && left, "{status}: it left the terminal as it was: {left}");
}

#[test(two_cpus)]
fn without_a_terminal_it_prints_and_changes() {
    let busy = Busy::start(&[&FOLLOWED[..], &["--quiet"]].concat());
    let host = busy.evenkeel.id().to_string();
    let documents = documents(&[&host, "--count", "3", "--every", "100ms", "--sort", "tid"]);
    assert_eq!(documents.len(), 3);
    for document in &documents {
        assert_eq!(
            (&document["policy"], &document["core_types"]),
            (&"colab".into(), &serde_json::json!(["big", "little"]))
        );
        let tids: Vec<String> =
            document["threads"].as_array().unwrap().iter().map(|thread| thread["tid"].to_string()).collect();
        assert!(busy.processes.iter().all(|process| tids.contains(process)), "{tids:?}");
        assert!(tids.is_sorted_by_key(|tid| tid.parse::<u32>().unwrap()), "{tids:?}");
    }
    let whole: f64 =
        documents[2]["threads"].as_array().unwrap().iter().map(|thread| thread["run"].as_f64().unwrap()).sum();
    assert!(whole > 0.1, "three shells compute all the time: {whole}");
    let table = String::from_utf8(run(&["top", &host]).stdout).unwrap();
    assert!(
        table.contains("policy colab") && busy.processes.iter().all(|process| table.contains(process.as_str())),
        "{table}"
    );
    let columns = table.lines().find(|line| line.trim_start().starts_with("tid ")).unwrap();
    assert_eq!(columns.split_whitespace().collect::<Vec<_>>(), Sort::ALL.map(Sort::name), "as --sort has them");

    let change = |words: &[&str]| {
        let output = run(&[&["top", host.as_str()], words].concat());
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let process = &busy.processes[2];
    assert_eq!(change(&["--pin", &format!("{process}=0")]), (0, String::new()));
    eventually("the thread's mask", || mask(process).as_deref() == Some("0"));
    assert_eq!(change(&["--policy", "pfs"]), (0, String::new()));
    // It deals each process's first thread to the big core, within pins.
    assert_eq!(change(&["--policy", "static"]), (0, String::new()));
    eventually("what the policy binds", || busy.masks().iter().all(|mask| mask == "0"));
    assert_eq!(change(&["--pin", &format!("{process}=1")]), (0, String::new()));
    eventually("the thread's mask", || mask(process).as_deref() == Some("1"));
    assert_eq!(change(&["--pin", &format!("{process}=")]), (0, String::new()));
    eventually("what the policy binds", || mask(process).as_deref() == Some("0"));
    assert_eq!(change(&["--pin", &format!("{process}=0")]), (0, String::new()));
    assert_eq!(change(&["--policy", "pfs"]), (0, String::new()));
    eventually("the others' own masks", || busy.masks().iter().filter(|mask| *mask == "0-1").count() == 3);
    let (code, error) = change(&["--policy", "oracle"]);
    assert!(code == 2 && error.contains("must know the future"), "{error}");
    let (code, error) = change(&["--pin", "1=0"]);
    assert_eq!((code, error.as_str()), (2, "error: there is no thread 1 in what is followed\n"));
    assert_eq!(self::documents(&[&host])[0]["policy"], "pfs");
    let full = std::fs::File::create("/dev/full").unwrap();
    let output = top(&[&host]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("error: cannot write the result: No space left"));
    let gone = run(&["top", &std::process::id().to_string()]);
    assert_eq!(gone.status.code(), Some(2));
    assert!(String::from_utf8(gone.stderr).unwrap().contains("is not an Evenkeel that can be watched"));
}

/// As `taskset` does, whether that is seen or not. No thread is moved meanwhile.
#[test(two_cpus)]
fn a_mask_that_is_set_ends_a_pin() {
    let with: &[&str] = &[];
    for by in [with, &WITHOUT_EBPF] {
        let busy = Busy::start_by(by, &["run", "--quiet", "--policy", "cfs", "--big", "0", "--little", "1"]);
        let (host, process) = (busy.evenkeel.id().to_string(), &busy.processes[1]);
        let done = |words: &[&str]| assert!(run(&[&["top", host.as_str()], words].concat()).status.success());
        done(&["--pin", &format!("{process}=0")]);
        eventually("the thread's mask", || mask(process).as_deref() == Some("0"));
        let mut taskset = Command::new("taskset");
        assert!(taskset.args(["-cp", "0-1", process]).stdout(Stdio::null()).status().unwrap().success());
        let pinned = |thread: &Value| thread["pinned"].as_array().is_some_and(|cpus| !cpus.is_empty());
        eventually("the end of the pin", || {
            documents(&[&host])[0]["threads"].as_array().is_some_and(|threads| !threads.iter().any(pinned))
        });
        done(&["--policy", "cfs"]);
        // Long enough for the new policy to bind it.
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(mask(process).as_deref(), Some("0-1"), "{by:?}");
    }
}
