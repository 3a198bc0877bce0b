//! Recordings on the command line.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::path::Path;

use assert_cmd::Command;

/// What `evenkeel record` would have written: two threads that compute 10 ms each, one after the other.
fn recording(folder: &Path, machine: &str) -> String {
    let machine =
        std::fs::read_to_string(format!("{}/../../machines/{machine}.toml", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let machine = serde_json::to_string(&machine).unwrap();
    let text = format!(
        r#"{{"evenkeel":1,"makespan_ns":20000000,"threads":2,"notes":["3 events were lost\nerror: \u001b[2J"],"machine":{machine}}}
{{"thread":0,"name":"main","ops":[["run",10000000],["spawn",1],["wait"]]}}
{{"thread":1,"name":"child","spawned":true,"ops":[["run",10000000],["wake",0]]}}
"#
    );
    let path = folder.join("app.ek");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_string()
}

fn evenkeel(args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel")).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn makespan(args: &[&str]) -> f64 {
    let (code, out, error) = evenkeel(&[args, &["--policy", "cfs", "--format", "json"]].concat());
    assert_eq!(code, Some(0), "{error}");
    assert!(error.contains("app.ek: 3 events were lost error:") && !error.contains('\u{1b}'), "one line: {error:?}");
    let runs: serde_json::Value = serde_json::from_str(&out).unwrap();
    runs["runs"][0]["metrics"]["makespan_s"].as_f64().unwrap()
}

#[test]
fn a_recording_is_played_where_it_was_made_or_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let app = recording(folder.path(), "odroid-xu3");
    let home = makespan(&["sim", &app]);
    assert!((0.02..0.1).contains(&home), "{home}: 20 ms on big cores, more on little ones");
    assert_eq!(makespan(&["sim", &app, "--machine", "odroid-xu3"]), home);
    assert!(makespan(&["sim", &app, "--machine", "i9-13900k"]) < home / 2.0, "a faster machine needs less");
    assert!(makespan(&["compare", &app, "--machine", "i9-13900k"]) < home / 2.0);
}

#[test]
fn at_home_a_wake_up_takes_as_long_as_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let app = recording(folder.path(), "odroid-xu3");
    let home = makespan(&["sim", &app]);
    let text = std::fs::read_to_string(&app).unwrap();
    std::fs::write(&app, text.replace("\"threads\":2", "\"threads\":2,\"wake_ns\":1000000")).unwrap();
    assert!((makespan(&["sim", &app]) - home - 0.001).abs() < 1e-6, "main is woken once");
    assert!(
        (makespan(&["sim", &app, "--machine", "odroid-xu3"]) - home).abs() < 1e-9,
        "another machine is what its file says"
    );
}

#[test]
fn only_a_recording_brings_its_machine_along() {
    let folder = tempfile::tempdir().unwrap();
    let (code, _, error) = evenkeel(&["sim", "ferret", "--policy", "cfs"]);
    assert!(
        code == Some(2) && error.contains("--machine is missing") && error.contains("evenkeel machines"),
        "{error}"
    );
    let app = recording(folder.path(), "odroid-xu3");
    let broken = std::fs::read_to_string(&app).unwrap().replace("context_switch_us", "switch");
    std::fs::write(&app, broken).unwrap();
    let (code, _, error) = evenkeel(&["sim", &app, "--policy", "cfs"]);
    assert!(code == Some(2) && error.contains("app.ek, machine:") && error.contains("switch"), "{error}");
    std::fs::write(&app, "{\"evenkeel\":1,\"makespan_ns\":1,\"threads\":0}\n").unwrap();
    let (code, _, error) = evenkeel(&["sim", &app, "--policy", "cfs"]);
    assert!(code == Some(2) && error.contains("app.ek:1: no threads: nothing was recorded"), "{error}");
}
