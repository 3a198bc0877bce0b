//! What `evenkeel run` says of programs of HotSpot.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::path::Path;
use std::process::Command as Process;

use assert_cmd::Command;
use serde_json::Value;

/// Compiles the program and follows it, left alone. Returns the account.
fn account(folder: &Path, lock: &str) -> Value {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/Holds.java");
    assert!(Process::new("javac").arg("-d").arg(folder).arg(source).status().unwrap().success());
    let mut run = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
    run.args(["run", "--policy", "cfs", "--big", "0", "--little", "1", "--ratio", "2", "--format", "json", "-o"]);
    run.arg(folder.join("account")).args(["--", "java", "-cp"]).arg(folder).args(["Holds", lock]).assert().success();
    serde_json::from_slice(&std::fs::read(folder.join("account")).unwrap()).unwrap()
}

fn seconds(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// Also where the lock is passed on from one waiter to the next: those had to wait themselves.
#[test(ebpf, two_cpus, jdk)]
fn the_thread_that_holds_a_lock_for_long_is_blamed_most() {
    for lock in ["monitor", "reentrant"] {
        let folder = tempfile::tempdir().unwrap();
        let account = account(folder.path(), lock);
        let threads = account["threads"].as_array().unwrap();
        let most = threads
            .iter()
            .filter(|thread| thread["service"] == false)
            .max_by(|a, b| seconds(&a["blame_s"]).total_cmp(&seconds(&b["blame_s"])))
            .unwrap();
        assert_eq!(most["name"], "holder", "{lock}: {account:#}");
    }
}

/// Dozens of the virtual machine's threads wait for work from their start to the end. What counts as waiting is that of the three
/// threads that want the lock, and of the one that waits for all.
#[test(ebpf, two_cpus, jdk)]
fn threads_without_work_idle() {
    let folder = tempfile::tempdir().unwrap();
    let account = account(folder.path(), "monitor");
    assert!(seconds(&account["idle_s"]) > seconds(&account["waited_s"]), "{account:#}");
    assert!(seconds(&account["waited_s"]) < 6.0 * seconds(&account["elapsed_s"]), "{account:#}");
    for thread in account["threads"].as_array().unwrap() {
        let name = thread["name"].as_str().unwrap();
        if thread["service"] == true {
            assert_eq!(thread["idles"], true, "{thread}");
        } else if name.starts_with("waiter-") || name == "holder" {
            assert_eq!(thread["idles"], false, "{thread}");
        }
    }
}
