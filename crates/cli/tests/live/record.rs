//! `evenkeel record`.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use assert_cmd::Command;

fn evenkeel(args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel")).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test(ebpf)]
fn what_was_recorded_is_told_to_programs_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.ek");
    let (code, _, account) = evenkeel(&[
        "record",
        "-o",
        path.to_str().unwrap(),
        "--format",
        "json",
        "--",
        "sh",
        "-c",
        "true & wait; exit 3",
    ]);
    assert_eq!(code, Some(3), "{account}");
    let account: serde_json::Value = serde_json::from_str(&account).unwrap();
    let page = include_str!("../../../../docs/json.md");
    let section = page.split("\n## ").find(|section| section.starts_with("`evenkeel record`")).unwrap();
    assert!(account.as_object().unwrap().keys().all(|field| section.contains(&format!("`{field}`"))), "{account}");
    assert_eq!(account["threads"], 2);
    let (_, shown, _) = evenkeel(&["sim", path.to_str().unwrap(), "--policy", "cfs", "--format", "json"]);
    let runs: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let replayed = runs["runs"][0]["metrics"]["makespan_s"].as_f64().unwrap();
    assert!(replayed < 2.0 * account["makespan_s"].as_f64().unwrap(), "of the same thing: {account}");
}

/// Their pieces are as in the source.
#[test(library_calls, two_cpus)]
fn loops_and_tasks_of_openmp_are_recorded_as_what_threads_share_out() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("loops");
    let mut compiler = std::process::Command::new("cc");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/loops.c");
    assert!(compiler.args(["-O1", "-fopenmp", "-o"]).arg(&program).arg(source).status().unwrap().success());
    let path = folder.path().join("loops.ek");
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
    command.args(["record", "-q", "-o"]).arg(&path).arg("--").arg(&program);
    command.env("OMP_SCHEDULE", "dynamic,3").assert().success();
    let text = std::fs::read_to_string(&path).unwrap();
    let header: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let pieces = |pieces: u32| serde_json::json!({ "pieces": pieces });
    let guided = serde_json::json!({ "pieces": 100, "guided": true });
    let expected = [pieces(50), pieces(50), guided, pieces(20), pieces(25 + 30)];
    let pools: Vec<_> = (0..5).map(|pool| header["pools"][pool.to_string()].clone()).collect();
    assert_eq!(pools, expected, "{text}");
    for pool in 0..5 {
        assert_eq!(text.matches(&format!("[\"share\",{pool},")).count(), 2, "{pool}: {text}");
    }
    let (code, _, errors) = evenkeel(&["sim", path.to_str().unwrap(), "--policy", "pfs", "--machine", "x5560-1B1S"]);
    assert_eq!(code, Some(0), "{errors}");
}

/// Of the two workers one has got many more items than the other, which was busy with the first one.
#[test(ebpf)]
fn what_workers_take_from_a_queue_is_a_list() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("queue");
    let mut compiler = std::process::Command::new("cc");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/queue.c");
    assert!(compiler.args(["-O1", "-pthread", "-o"]).arg(&program).arg(source).status().unwrap().success());
    let path = folder.path().join("queue.ek");
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
    command.args(["record", "-q", "-o"]).arg(&path).arg("--").arg(&program).assert().success();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("[\"take\",0]").count(), 2, "{text}");
    // One for each of 80, and how they began and ended.
    assert!(text.lines().filter(|line| line.starts_with("{\"item\":")).count() >= 80, "{text}");
    let (code, _, errors) = evenkeel(&["sim", path.to_str().unwrap(), "--policy", "pfs", "--machine", "x5560-1B1S"]);
    assert_eq!(code, Some(0), "{errors}");
}

/// Programs in the kernel see other numbers of threads than a container with a PID namespace of its own, in which they could be
/// those of other processes.
#[test(ebpf)]
fn a_container_that_numbers_threads_otherwise_cannot_record_and_its_programs_run_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let inside = |words: &[&str]| {
        let mut unshare = Command::new("unshare");
        let output = unshare
            .args(["--pid", "--fork", "--mount-proc"])
            .arg(assert_cmd::cargo::cargo_bin!("evenkeel"))
            .args(words)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, _, refused) = inside(&["record", "-o", "app.ek", "--", "true"]);
    assert!(refused.contains("this container's PID namespace numbers threads otherwise"), "{refused}");
    assert!(code == Some(125) && !folder.path().join("app.ek").exists(), "{code:?}");
    let (code, output, errors) = inside(&["run", "--", "sh", "-c", "echo out; exit 7"]);
    assert_eq!((code, output.as_str()), (Some(7), "out\n"), "{errors}");
}
