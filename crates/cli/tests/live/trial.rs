//! `evenkeel try` and `run --ab`: who takes turns, what is thrown away, and what becomes of it when something goes wrong. What is faster
//! depends on the machine, and is not tested.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use super::run::{evenkeel, evenkeel_that_hears, eventually, run};

const CORES: [&str; 6] = ["--big", "0", "--little", "1", "--ratio", "3"];

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Writes a line to a file, so that runs can be counted.
fn counts(folder: &Path) -> (String, impl Fn() -> usize) {
    let file = folder.join("runs");
    let script = format!("echo run >>{}; echo said; echo wrong >&2", file.display());
    (script, move || fs::read_to_string(&file).unwrap_or_default().lines().count())
}

#[test(two_cpus)]
fn schedulers_take_turns_and_only_the_result_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let (script, runs) = counts(folder.path());
    let prepared = folder.path().join("prepared");
    let prepare = format!("echo once >>{}", prepared.display());
    let words = ["try", "--policy", "pfs,gts", "--rounds", "3", "--format", "json", "--prepare", &prepare];
    let page = folder.path().join("page.html");
    let html = ["--html", page.to_str().unwrap()];
    let output = run(&[&words[..], &html, &CORES, &["--", "sh", "-c", &script]].concat());
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("3 schedulers take turns") && !said.contains("wrong"), "{said}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> =
        found["schedulers"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["stock", "pfs", "gts"]);
    let all: u64 = found["schedulers"].as_array().unwrap().iter().map(|one| one["runs"].as_u64().unwrap()).sum();
    // And once before, which does not count.
    assert_eq!((all, runs()), (found["rounds"].as_u64().unwrap() * 3, all as usize + 1));
    assert_eq!(fs::read_to_string(prepared).unwrap().lines().count(), runs());
    assert_eq!(found["schedulers"][0]["verdict"], Value::Null);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("<title>evenkeel try</title>") && page.contains("id=\"time\""), "{page}");
    assert!(found["schedulers"][1]["low"].as_f64() <= found["schedulers"][1]["against_stock"].as_f64(), "{found}");
    let line = ["evenkeel", "run", "--policy", "pfs", "--big", "0", "--little", "1", "--ratio", "3", "--", "sh", "-c"];
    let found: Vec<&str> =
        found["schedulers"][1]["words"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert_eq!(&found[..line.len()], line);
}

#[test(two_cpus)]
fn one_policy_is_asked_about_in_short() {
    let folder = tempfile::tempdir().unwrap();
    let (script, runs) = counts(folder.path());
    let page = folder.path().join("page.html");
    let words = ["run", "--ab", "2", "--html", page.to_str().unwrap()];
    let output = run(&[&words[..], &CORES, &["--", "sh", "-c", &script]].concat());
    let said = text(&output.stderr);
    assert!(output.status.success() && output.stdout.is_empty(), "{said}");
    assert!(said.contains("stock") && said.contains("pfs") && said.contains("2 rounds"), "{said}");
    assert_eq!(runs(), 5);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("evenkeel run --ab") && page.contains("2 rounds"), "{page}");
}

#[test(two_cpus)]
fn a_page_that_cannot_be_written_costs_no_account() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("gone/page.html");
    fs::create_dir(page.parent().unwrap()).unwrap();
    let account = folder.path().join("account");
    let script = format!("rm -rf {}", page.parent().unwrap().display());
    let words = ["run", "--ab", "2", "--html", page.to_str().unwrap(), "--output", account.to_str().unwrap()];
    let output = run(&[&words[..], &CORES, &["--", "sh", "-c", &script]].concat());
    let said = text(&output.stderr);
    assert!(!output.status.success() && said.contains("cannot write") && said.contains("page.html"), "{said}");
    assert!(fs::read_to_string(account).unwrap().contains("2 rounds"), "{said}");
}

#[test(two_cpus)]
fn what_fails_is_no_measure_unless_it_is_to_be() {
    let failing = [&CORES[..], &["--", "sh", "-c", "exit 3"]].concat();
    let output = run(&[&["try", "--policy", "pfs", "--rounds", "2"], &failing[..]].concat());
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("failed under stock, with exit code 3") && said.contains("--ignore-failure"), "{said}");
    let output = run(&[&["try", "--policy", "pfs", "--rounds", "2", "--ignore-failure"], &failing[..]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    for (words, expected) in [
        (&["--", "no-such-program"][..], "no such command"),
        (&["--policy", "pfs,pfs", "--", "true"], "named twice"),
        (&["--policy", "oracle", "--", "true"], "oracle"),
        (&["--limit", "1ms", "--", "sleep", "0.1"], "longer than --limit"),
        (&["--prepare", "exit 4", "--", "true"], "it failed, with exit code 4"),
        // Evenkeel itself fails then, and the command does not run, whatever is ignored.
        (&["--openmp", "--ignore-failure", "--", "true"], "there is no file"),
    ] {
        let mut command = evenkeel(&[&["try"], &CORES[..], words].concat());
        let output = command.env("EVENKEEL_OMP_LIBRARY", "/there/is/none.so").output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(expected) && output.stdout.is_empty(), "{words:?}: {said}");
    }
}

/// What was measured before is not lost; the account of `run --ab` goes to standard error, as ever.
#[test(two_cpus)]
fn a_failure_in_a_later_round_says_what_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let (script, runs) = counts(folder.path());
    // The first run does not count, and a round has two.
    let script = format!("{script}; [ $(wc -l <{}) -lt 5 ]", folder.path().join("runs").display());
    for (words, to_output) in [(&["try", "--policy", "pfs"][..], true), (&["run", "--ab", "3"], false)] {
        let output = run(&[words, &CORES, &["--", "sh", "-c", &script]].concat());
        let (said, printed) = (text(&output.stderr), text(&output.stdout));
        assert_eq!((output.status.code(), runs()), (Some(2), 5), "{said}");
        assert!(said.contains("ended after 1 of at most") && said.contains("failed under"), "{said}");
        assert!(if to_output { &printed } else { &said }.contains("to stock"), "{said}\n{printed}");
        fs::remove_file(folder.path().join("runs")).unwrap();
    }
}

#[test(two_cpus)]
fn a_failure_that_the_command_never_has_is_evenkeel_s() {
    let script = "[ \"$(tr '\\0' ' ' </proc/$PPID/cmdline | cut -d' ' -f2)\" = run ] && exit 125; exit 3";
    let words = ["try", "--policy", "pfs", "--rounds", "2", "--ignore-failure"];
    let output = run(&[&words[..], &CORES, &["--", "sh", "-c", script]].concat());
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("failed under pfs, with exit code 125"), "{said}");
    // It fails whatever it runs, since the first one moves all that it starts.
    let program = assert_cmd::cargo::cargo_bin!("evenkeel").display().to_string();
    let within =
        [&["run", "-q"], &CORES[..], &["--", &program, "try", "--policy", "pfs", "--rounds", "2"], &CORES].concat();
    // Also where the command always ends with the code of Evenkeel's own failure.
    for command in [&["--", "true"][..], &["--ignore-failure", "--", "sh", "-c", "exit 2"]] {
        let output = run(&[&within[..], command].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("pfs cannot be tried: ") && said.contains("another Evenkeel"), "{said}");
    }
    let output = run(&["run", "--ab", "2", "--trace", "x.pftrace", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "[run]\nab = 3\n").unwrap();
    // A default gives way to what is typed.
    let output = evenkeel(&["run", "--pid", "4194304"]).env("EVENKEEL_CONFIG", file.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("there is no process 4194304"), "{}", text(&output.stderr));
    // Of two defaults none does.
    fs::write(file.path(), "[run]\nab = 3\nquiet = true\n").unwrap();
    let output = evenkeel(&["run", "--", "true"]).env("EVENKEEL_CONFIG", file.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("`ab` and `quiet` exclude each other"), "{}", text(&output.stderr));
}

#[test(two_cpus)]
fn what_the_command_prints_is_not_among_the_results() {
    let words =
        ["try", "--policy", "pfs", "--rounds", "2", "--show-output", "--prepare", "echo ready", "--format", "json"];
    let output = run(&[&words[..], &CORES, &["--", "sh", "-c", "echo said; echo wrong >&2"]].concat());
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["schedulers"].is_array());
    let shown = |line: &str| said.lines().filter(|other| *other == line).count();
    // Once before, which does not count.
    assert_eq!([shown("ready"), shown("said"), shown("wrong")], [5; 3], "{said}");
}

/// Those of this folder that still run.
fn living(mark: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let has_it = |entry: &fs::DirEntry| {
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        text(&words.iter().map(|byte| if byte.is_ascii() { *byte } else { b'?' }).collect::<Vec<_>>()).contains(mark)
    };
    processes.filter(has_it).count()
}

#[test(two_cpus)]
fn an_end_in_the_middle_says_what_is_known_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (script, runs) = counts(folder.path());
    let file = folder.path().join("runs");
    // The last run is in the second round, under the policy or the kernel's own scheduler, and does not end by itself.
    for (signal, code, last) in
        [("-INT", Some(130), 5), ("-TERM", Some(130), 5), ("-KILL", None, 5), ("-KILL", None, 4)]
    {
        let words = ["try", "--policy", "pfs", "--show-output"];
        let mut command = evenkeel_that_hears(&[&words[..], &CORES, &["--", "sh", "-c"]].concat());
        command.arg(format!(
            "{script}; [ $(wc -l <{}) -lt {last} ] || exec tail -f {}",
            file.display(),
            file.display()
        ));
        let running = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        eventually("the second round", || runs() == last);
        assert!(evenkeel_testing::kill(signal, &[running.id().to_string()]));
        let output = running.wait_with_output().unwrap();
        assert_eq!(output.status.code(), code, "{}", text(&output.stderr));
        if code.is_some() {
            let (said, printed) = (text(&output.stderr), text(&output.stdout));
            assert!(said.contains("interrupted after") && printed.contains("to stock"), "{said}\n{printed}");
        }
        eventually("its end", || living(&folder.path().display().to_string()) == 0);
        fs::remove_file(&file).unwrap();
    }
}

/// What a signal means that ends no program by itself is the program's business.
#[test(two_cpus)]
fn a_signal_for_the_program_reaches_it_and_ends_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (script, runs) = counts(folder.path());
    let hangs = format!("[ $(wc -l <{}) -ne 5 ] || while :; do sleep 0.02; done", folder.path().join("runs").display());
    let mut command = evenkeel_that_hears(&[&["try", "--policy", "pfs", "--rounds", "3"], &CORES[..]].concat());
    command.args(["--", "sh", "-c"]).arg(format!("trap 'exit 0' USR1; {script}; {hangs}"));
    let running = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("the second round", || runs() == 5);
    assert!(evenkeel_testing::kill("-USR1", &[running.id().to_string()]));
    let output = running.wait_with_output().unwrap();
    assert!(output.status.success() && runs() == 7, "{} {}", runs(), text(&output.stderr));
}

/// The time for which it was stopped is no scheduler's.
#[test(two_cpus)]
fn a_round_in_which_evenkeel_was_stopped_is_run_again() {
    let said = stopped_in_run(4, 7, &["run", "--ab", "2"], Duration::ZERO);
    assert_eq!(said.matches("in a round (Ctrl-Z), which does not count and is run again").count(), 1, "{said}");
}

/// Nor does it make a run look longer than there is time for: of such runs, four would take 8 s.
#[test(two_cpus)]
fn a_first_run_in_which_evenkeel_was_stopped_is_run_again() {
    let words = ["try", "--policy", "pfs", "--rounds", "2", "--limit", "7s"];
    let said = stopped_in_run(1, 6, &words, Duration::from_secs(2));
    assert_eq!(said.matches("in the first run (Ctrl-Z), which is run again").count(), 1, "{said}");
}

/// What two rounds say where Evenkeel is stopped for a while in one of the runs, of which there are so many then.
fn stopped_in_run(nth: usize, of: usize, words: &[&str], stopped: Duration) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (script, runs) = counts(folder.path());
    let (file, released) = (folder.path().join("runs"), folder.path().join("released"));
    let (file, until) = (file.display(), released.display());
    let waits = format!("[ $(wc -l <{file}) -ne {nth} ] || until [ -e {until} ]; do sleep 0.02; done");
    let mut command = evenkeel(&[words, &CORES, &["--", "sh", "-c"]].concat());
    command.arg(format!("{script}; {waits}"));
    let running = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("that run", || runs() == nth);
    let process = [running.id().to_string()];
    assert!(evenkeel_testing::kill("-STOP", &process));
    std::thread::sleep(stopped);
    assert!(evenkeel_testing::kill("-CONT", &process));
    fs::write(&released, "").unwrap();
    let output = running.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.success() && said.contains("2 rounds") && runs() == of, "{}: {said}", runs());
    said
}

/// A program that loads an OpenMP library is tried with `--openmp`, too, also where a script starts it.
fn openmp_is_tried(compiler: &str) {
    let folder = tempfile::tempdir().unwrap();
    let program = super::openmp::program(folder.path(), compiler);
    let mut command =
        evenkeel(&[&["try", "--policy", "gts", "--rounds", "2", "--format", "json"], &CORES[..]].concat());
    command.env("EVENKEEL_OMP_LIBRARY", super::openmp::library()).env("OMP_WAIT_POLICY", "passive");
    let output =
        command.args(["--", "sh", "-c", "\"$0\"; true"]).arg(program).env("OMP_CANCELLATION", "true").output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["schedulers"][2]["name"], "gts --openmp", "{found}");
}

#[test(libomp, two_cpus)]
fn a_program_of_clang_s_openmp_is_tried_with_its_loops_split() {
    openmp_is_tried("clang");
}

#[test(two_cpus)]
fn a_program_of_gcc_s_openmp_is_tried_with_more_threads() {
    openmp_is_tried("gcc");
}
