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
