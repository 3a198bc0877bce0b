//! `evenkeel run` with everything that it can write: the account, the page, the trace.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::collections::BTreeSet;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

/// The page that describes the fields.
const FIELDS: &str = include_str!("../../../../docs/json.md");

/// Computes for a moment in two processes.
const SCRIPT: &str = "work() { i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; }; work & work; wait; exit 7";

fn run(folder: &Path, options: &[&str]) -> std::process::Output {
    Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"))
        .current_dir(folder)
        .arg("run")
        .args(options)
        .args(["--", "sh", "-c", SCRIPT])
        .output()
        .unwrap()
}

/// An object has exactly these fields, and the page names each.
fn fields(value: &Value, expected: &[&str]) {
    let found: BTreeSet<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(found, expected.iter().copied().collect());
    let section = FIELDS.split("\n## ").find(|section| section.starts_with("`evenkeel run`")).unwrap();
    for field in expected {
        assert!(section.contains(&format!("`{field}`")), "docs/json.md does not describe {field}");
    }
}

/// Standard output may be another terminal, or none.
#[test]
fn an_account_is_as_wide_as_where_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let in_a_narrow_terminal = |options: &str| {
        let program = assert_cmd::cargo::cargo_bin!("evenkeel");
        let line = format!("stty cols 60; {} run {options}", program.display());
        let output =
            Command::new("script").current_dir(folder.path()).args(["-qec", &line, "/dev/null"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let said = in_a_narrow_terminal("-- true >/dev/null");
    assert!(said.lines().any(|line| line.starts_with("    ") && line.ends_with(" apart")), "broken there: {said}");
    let said = in_a_narrow_terminal("-o account -- true");
    let account = std::fs::read_to_string(folder.path().join("account")).expect(&said);
    assert!(account.lines().any(|line| line.starts_with("cost ") && line.ends_with(" apart")), "{account}");
}

#[test]
fn account_page_and_trace_tell_of_the_same_threads() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--html", "page.html", "--trace", "trace", "--format", "json", "-o", "run.json"];
    let output = run(folder.path(), &options);
    assert_eq!(output.status.code(), Some(7), "the program's own: {}", String::from_utf8_lossy(&output.stderr));

    let account: Value = serde_json::from_slice(&std::fs::read(folder.path().join("run.json")).unwrap()).unwrap();
    fields(
        &account,
        &[
            "policy",
            "policies",
            "core_types",
            "elapsed_s",
            "run_s",
            "used_s",
            "unseen_s",
            "short",
            "delay_s",
            "waited_s",
            "idle_s",
            "switches",
            "preemptions",
            "moves",
            "binds",
            "refused",
            "samples",
            "longest_gap_s",
            "cost_s",
            "unenforced",
            "missing",
            "threads",
            "waits",
        ],
    );
    let blind = account["missing"].as_array().unwrap().iter().any(|why| why.as_str().unwrap().contains("No eBPF"));
    assert_eq!((account["waits"].is_null(), account["preemptions"].is_null()), (blind, blind), "{account}");
    let threads = account["threads"].as_array().unwrap();
    assert!(!threads.is_empty());

    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains("What ran where") && page.contains("under pfs"));
    let trace = std::fs::read(folder.path().join("trace")).unwrap();
    let traced = |name: &str| trace.windows(name.len()).any(|bytes| bytes == name.as_bytes());
    assert!(traced("cpu "), "a track a CPU");
    let mut longest = true;
    for thread in threads {
        fields(
            thread,
            &[
                "tid",
                "process",
                "name",
                "service",
                "idles",
                "run_s",
                "delay_s",
                "waited_s",
                "blame_s",
                "switches",
                "preemptions",
            ],
        );
        let name = format!("{} {}", thread["name"].as_str().unwrap(), thread["tid"]);
        assert!(page.contains(&name), "{name}");
        // The last may have been too short to be seen at work.
        assert!(!longest || traced(&name), "{name}");
        longest = false;
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "nothing else is left behind");
}

/// Whatever standard error is.
#[test]
fn an_account_in_a_file_has_no_styles() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["-o", "account.txt"]);
    assert_eq!(output.status.code(), Some(7), "the program's own: {}", String::from_utf8_lossy(&output.stderr));
    let account = std::fs::read_to_string(folder.path().join("account.txt")).unwrap();
    assert!(account.contains("evenkeel run: pfs\n") && !account.contains('\u{1b}'), "{account:?}");
}

/// Under COLAB a thread for which others wait is critical, and the page says so of it, and of no other, where one points at the thread.
#[test(ebpf, two_cpus)]
fn the_page_says_the_label_of_a_thread() {
    let folder = tempfile::tempdir().unwrap();
    let (program, page) = (folder.path().join("queue"), folder.path().join("page.html"));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/queue.c");
    assert!(
        std::process::Command::new("cc").args(["-pthread", "-o"]).arg(&program).arg(source).status().unwrap().success()
    );
    let fact = |thread: &Value, name: &str| {
        let facts = thread["facts"].as_array().into_iter().flatten();
        facts.filter(|fact| fact[0] == name).find_map(|fact| fact[1].as_str().map(str::to_owned))
    };
    let threads_of_a_run = || -> Vec<Value> {
        let mut run = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
        run.args(["run", "--policy", "colab", "--big", "0", "--little", "1", "--ratio", "2", "--quiet", "--html"]);
        run.arg(&page).arg("--").arg(&program).assert().success();
        let text = std::fs::read_to_string(&page).unwrap();
        let (_, data) = text.split_once("<script type=\"application/json\">").unwrap();
        let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
        data["runs"][0]["threads"].as_array().unwrap().clone()
    };
    let labelled = |threads: &Vec<Value>| threads.iter().any(|thread| fact(thread, "label").is_some());
    // The program lasts a tenth of a second: on a busy machine it may be over before there is a label.
    let threads = (0..10).map(|_| threads_of_a_run()).find(labelled).expect("no label in ten runs");
    let critical: Vec<&Value> = threads.iter().filter(|thread| fact(thread, "label").is_some()).collect();
    assert!(critical.len() < threads.len(), "{threads:?}");
    for thread in critical {
        assert_eq!(fact(thread, "label").as_deref(), Some("critical, at the end"), "{thread}");
        assert_ne!(
            fact(thread, "blame").as_deref(),
            Some("others waited 0 ns for it, all of them together"),
            "{thread}"
        );
    }
}

#[test]
fn a_file_that_cannot_be_written_is_named_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    for option in ["--html", "--trace"] {
        let output = run(folder.path(), &[option, "no/such/folder/file"]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains("no/such/folder/file"), "{option}: {error}");
    }
}
