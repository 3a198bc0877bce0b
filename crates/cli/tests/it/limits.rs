//! A run that would last for ever ends: by a limit, which the error names, or by Ctrl-C or SIGTERM, which say what was reached.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

/// A native workload and an rt-app file without an end in sight.
const ENDLESS: [(&str, &str); 2] = [
    (
        "long.toml",
        "[[program]]\nname = \"p\"\nphases.work = { ilp = 2.0, memory_ns = 0 }\n[[program.threads]]\nname = \"t\"\n\
         do = [{ repeat = 100000000000000, do = [{ compute = \"1 inst\", phase = \"work\" }] }]\n",
    ),
    ("long.json", r#"{"tasks": {"t": {"loop": 2147483647, "run": 1}}}"#),
];

fn evenkeel(folder: &Path, args: &[&str]) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
    command.args(args).current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn end(mut child: Child) -> (Option<i32>, String, String) {
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    (child.wait().unwrap().code(), out, err)
}

#[test]
fn a_run_with_too_many_events_is_an_error_that_names_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in ENDLESS {
        std::fs::write(folder.path().join(name), text).unwrap();
        for command in ["sim", "compare"] {
            let args = [command, name, "--machine", "2B2S", "--policy", "cfs", "--max-events", "100000"];
            let (code, out, err) = end(evenkeel(folder.path(), &args));
            assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
            assert!(err.contains("still running after 100000 events, at ") && err.contains("--max-events"), "{err}");
        }
    }
    for args in [
        &["reproduce", "odroid"][..],
        &["reproduce", "aaws"],
        &["train"],
        &["sim", "radix", "--machine", "2B2S", "--policy", "oracle"],
    ] {
        let (code, _, err) = end(evenkeel(folder.path(), &[args, &["--max-events", "10"]].concat()));
        assert!(code == Some(2) && err.contains("after 10 events"), "{err}");
        assert!(err.trim_end().ends_with("; --max-events allows more"), "{err}");
    }
}

/// Whether a process has a handler for a signal.
fn handles(child: &Child, signal: Signal) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap() >> (signal.as_raw() - 1) & 1 == 1
}

#[test]
fn a_signal_ends_every_command_with_what_was_reached() {
    let folder = tempfile::tempdir().unwrap();
    let [(name, text), _] = ENDLESS;
    std::fs::write(folder.path().join(name), text).unwrap();
    for args in [
        vec!["sim", name, "--machine", "2B2S", "--policy", "cfs"],
        vec!["compare", name, "--machine", "2B2S", "--policy", "cfs,gts"],
        vec!["reproduce", "colab"],
    ] {
        for signal in [Signal::INT, Signal::TERM] {
            let child = evenkeel(folder.path(), &args);
            while !handles(&child, signal) {
                std::thread::yield_now();
            }
            kill_process(Pid::from_child(&child), signal).unwrap();
            let (code, out, err) = end(child);
            assert_eq!((code, out.as_str()), (Some(130), ""), "{err}");
            assert!(err.contains("interrupted after ") && err.contains(" events"), "{err}");
        }
    }
}
