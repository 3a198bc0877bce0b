//! What `evenkeel run` tells of the threads of a Java virtual machine (HotSpot).

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/Locks.java");

/// The account of a run of a program in Java, on a big and a little core.
fn account(folder: &Path, words: &[&str]) -> Value {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
    command.args(["run", "--big", "0", "--little", "1", "--ratio", "3", "--policy", "wash", "--format", "json"]);
    command.args(["-o", "account.json", "--", "java", "-cp", "."]).args(words).current_dir(folder);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && output.stdout == b"done\n", "{said}");
    serde_json::from_slice(&std::fs::read(folder.join("account.json")).unwrap()).unwrap()
}

fn compiled() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let compiler = Command::new("javac").arg("-d").arg(folder.path()).arg(SOURCE).output().unwrap();
    assert!(compiler.status.success(), "{}", String::from_utf8_lossy(&compiler.stderr));
    folder
}

/// A thread that releases a lock wakes the next one by the futex system call, from its own.
fn the_holder_is_blamed(lock: &str) {
    let folder = compiled();
    let account = account(folder.path(), &["Locks", lock]);
    let seconds = |value: &Value| value.as_f64().unwrap();
    let blame = |thread: &&Value| seconds(&thread["blame_s"]);
    let threads = account["threads"].as_array().unwrap();
    let most = threads.iter().max_by(|one, other| blame(one).total_cmp(&blame(other))).unwrap();
    assert_eq!((&most["name"], &most["service"]), (&"holder".into(), &false.into()), "{account:#}");

    // Collectors and compilers wait for something to do, most of the time all of them.
    let spare = |thread: &&Value| thread["service"] == true && thread["idle"] == true;
    assert!(threads.iter().filter(spare).count() >= 5, "{account:#}");
    assert!(seconds(&account["idle_s"]) > 5.0 * seconds(&account["elapsed_s"]), "{account:#}");
    // No more threads wait for each other than there are: the four, and the one that has started them.
    assert!(seconds(&account["waited_s"]) < 5.0 * seconds(&account["elapsed_s"]), "{account:#}");
}

#[test(java, ebpf, two_cpus)]
fn the_thread_that_holds_a_monitor_is_blamed() {
    the_holder_is_blamed("monitor");
}

#[test(java, ebpf, two_cpus)]
fn the_thread_that_holds_a_reentrant_lock_is_blamed() {
    the_holder_is_blamed("lock");
}
