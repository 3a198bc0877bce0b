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
