//! `evenkeel vm`: a real kernel boots, runs commands on this machine's own files, and ends.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::fields;

fn vm(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
    command.arg("vm").args(args).current_dir(folder).output().unwrap()
}

/// Status, streams and files come back; the guest is as requested; the host's files cannot be changed.
#[test(vm)]
fn a_command_runs_in_the_guest() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("here"), "from the host\n").unwrap();
    let line = "cat here; nproc; cat /sys/devices/system/cpu/vulnerabilities/meltdown; uname -s >&2; echo back > there; \
         touch /usr/never 2>/dev/null || echo read-only; exit 7";
    let args = ["--symmetric", "-q", "-m", "2B1S:3", "--accel", "tcg", "--", "sh", "-c", line];
    let output = vm(folder.path(), &args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "from the host\n3\nVulnerable\nread-only\n", "{errors}");
    assert_eq!(output.status.code(), Some(7), "{errors}");
    assert!(errors.contains("Linux"), "{errors}");
    assert_eq!(fs::read_to_string(folder.path().join("there")).unwrap(), "back\n");
    assert!(!std::path::Path::new("/usr/never").exists());
}

/// What the guest has read of a file, run or not found is what the host has made of it by then, if only after a moment.
#[test(vm)]
fn what_changes_on_the_host_changes_in_the_guest() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("text", "1st");
    write("program", "echo 1st");
    let line = "now() { echo $(cat text) $(sh ./program) $(cat new 2>/dev/null); }; now; \
                for i in $(seq 600); do [ \"$(now)\" = '2nd 2nd 2nd' ] && break; sleep 0.1; done; now";
    let mut vm = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
    vm.args(["vm", "--symmetric", "-q", "-m", "1B1S:3", "--accel", "tcg", "--", "sh", "-c", line])
        .current_dir(folder.path());
    let mut guest = vm.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(guest.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "1st 1st");
    // Of the same lengths.
    write("text", "2nd");
    write("program", "echo 2nd");
    write("new", "2nd");
    assert_eq!(lines.next().unwrap().unwrap(), "2nd 2nd 2nd");
    assert!(guest.wait().unwrap().success());
}

/// A policy schedules in the guest, with what it sees there through eBPF. Its account comes before the guest's.
#[test(vm)]
fn a_policy_runs_in_the_guest() {
    let folder = tempfile::tempdir().unwrap();
    let line = "for i in 1 2 3 4; do (i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done) & done; wait; echo done";
    let args = ["--symmetric", "-m", "2B2S:3", "--accel", "tcg", "--policy", "pfs", "--format", "json", "--", "sh"];
    let output = vm(folder.path(), &[&args[..], &["-c", line]].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"done\n"[..]), "{errors}");
    assert!(errors.contains("all cores are equally fast, and pfs takes 2 of them for 3 times as fast"), "{errors}");
    let [threads, guest] = accounts(&errors);
    assert_eq!((&threads["policy"], &guest["policy"]), (&"pfs".into(), &"pfs".into()));
    assert_eq!((&guest["machine"], &guest["status"]), (&"2B2S:3".into(), &0.into()));
    assert!(
        guest["big_share"].is_null() && guest["elapsed_s"].as_f64().unwrap() >= threads["elapsed_s"].as_f64().unwrap()
    );
    assert_eq!(fields::of(&guest), fields::documented("evenkeel vm"));
}

/// A policy schedules the guest's kernel. Output and exit status are the command's, and the account says where it decided.
#[test(vm)]
fn a_policy_schedules_the_kernel_of_the_guest() {
    let folder = tempfile::tempdir().unwrap();
    let line = "for i in 1 2 3 4; do (i=0; while [ $i -lt 999 ]; do i=$((i+1)); done) & done; wait; echo done; exit 7";
    let args = ["--symmetric", "-m", "2B2S:3", "--accel", "tcg", "--scx", "--policy", "colab", "--format", "json"];
    let output = vm(folder.path(), &[&args[..], &["--", "sh", "-c", line]].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(7), &b"done\n"[..]), "{errors}");
    let [scheduled, guest] = accounts(&errors);
    assert_eq!((&scheduled["policy"], &scheduled["path"]), (&"colab".into(), &"kernel".into()));
    // The shell and what it starts.
    assert!(scheduled["threads"].as_u64().unwrap() >= 5, "{scheduled}");
    assert_eq!((&guest["policy"], &guest["status"]), (&"colab".into(), &7.into()));
}

/// The policy's account, and the guest's, which comes after it.
fn accounts(errors: &str) -> [Value; 2] {
    // What the kernel of the host lacks is said before.
    let accounts = errors.get(errors.find('{').unwrap()..).unwrap();
    let accounts = serde_json::Deserializer::from_str(accounts).into_iter();
    accounts.collect::<Result<Vec<_>, _>>().unwrap().try_into().unwrap()
}

/// Programs in the guest find in sysfs which cores are big. A recording made there has them, and comes back.
#[test(vm, reservations)]
fn programs_in_the_guest_know_big_from_little() {
    let folder = tempfile::tempdir().unwrap();
    let line = "cat /sys/devices/system/cpu/cpu[0-9]*/cpu_capacity; $EVENKEEL topology --format json; \
                $EVENKEEL record -q -o app.ek -- sh -c 'i=0; while [ $i -lt 9999 ]; do i=$((i+1)); done'";
    let line = line.replace("$EVENKEEL", &assert_cmd::cargo::cargo_bin!("evenkeel").display().to_string());
    let args = ["-q", "-m", "2B2S:3", "--accel", "tcg", "--", "sh", "-c", &line];
    let output = vm(folder.path(), &args);
    let errors = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8(output.stdout).unwrap();
    let found = text.strip_prefix("1024\n1024\n341\n341\n").unwrap_or_else(|| panic!("{text}: {errors}"));
    let found: Value = serde_json::from_str(found).unwrap();
    assert_eq!((&found["kinds"][0]["cpus"], &found["kinds"][1]["cpus"]), (&[0, 1].into(), &[2, 3].into()), "{found}");
    assert_eq!(output.status.code(), Some(0), "{errors}");
    let recording = fs::read_to_string(folder.path().join("app.ek")).unwrap();
    let machine: Value = serde_json::from_str(recording.lines().next().unwrap()).unwrap();
    assert!(machine["machine"].as_str().unwrap().contains("[core.little]"), "{machine}");
}

#[test(vm)]
fn what_cannot_be_booted_is_an_error_of_the_request() {
    let folder = tempfile::tempdir().unwrap();
    for (args, expected) in [
        (&["-m", "many", "--", "true"][..], "expected big and little cores"),
        (&["--kernel", "/no/such/kernel", "--", "true"], "/no/such/kernel: no such kernel"),
        (&["--policy", "fast", "--", "true"], "fast"),
        (&["--writable", "/no/such/folder", "--", "true"], "/no/such/folder"),
    ] {
        let output = vm(folder.path(), args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {errors}");
        assert!(errors.contains(expected), "{args:?}: {errors}");
    }
}

/// A signal that ends Evenkeel switches the guest off, and the status says which signal it was.
#[test(vm)]
fn a_signal_switches_the_guest_off() {
    let folder = tempfile::tempdir().unwrap();
    let output = vm(folder.path(), &["--symmetric", "-q", "--accel", "tcg", "--", "true"]);
    assert!(output.status.success(), "{output:?}");
    for (signal, code) in [("-HUP", 129), ("-TERM", 143)] {
        // The shell that started these tests may ignore signals (`nohup`).
        let mut command = Command::new("env");
        command.arg("--default-signal").arg(assert_cmd::cargo::cargo_bin!("evenkeel"));
        command.args(["vm", "--symmetric", "-q", "--accel", "tcg", "--", "sh", "-c", "echo up; sleep 1000"]);
        let mut running = command.current_dir(folder.path()).stdout(Stdio::piped()).spawn().unwrap();
        BufReader::new(running.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
        assert!(evenkeel_testing::kill(signal, &[running.id().to_string()]));
        assert_eq!(running.wait().unwrap().code(), Some(code));
    }
}

/// Another program's scheduler, as `--peer` takes it, that is a shell script.
fn peer(folder: &Path, script: &str) -> String {
    let path = folder.join("peer");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    format!("other={}", path.display())
}

/// Ends a bench of a thousand repetitions in the second one: it prints the first one, and how many there were to be.
#[test(vm, reservations)]
fn a_bench_that_is_ended_early_tells_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    // A scheduler that fails, so that something is said at the end of each repetition.
    let peer = peer(folder.path(), "exit 7");
    let mut command = Command::new("env");
    command.arg("--default-signal").arg(assert_cmd::cargo::cargo_bin!("evenkeel"));
    command.args(["vm", "bench", "--machine", "1B1S:2", "--policy", "pfs", "--programs", "lu", "--format", "json"]);
    command.args(["--repeat", "1000", "--seconds", "0.02", "--peer", &peer]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.current_dir(folder.path()).spawn().unwrap();
    let mut lines = BufReader::new(running.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("is left out once")), "it ended before");
    assert!(evenkeel_testing::kill("-TERM", &[running.id().to_string()]));
    let far = lines.find(|line| line.contains("of 4000 runs")).expect("it says how far it came");
    assert!(!far.contains("4000 of"), "{far}");
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let machine = &report["machines"][0];
    assert!((1..1000).contains(&machine["repetitions"].as_u64().unwrap()), "{machine}");
    assert_eq!(machine["repetitions_wanted"], 1000);
    let policies = machine["rows"].as_array().unwrap().iter().map(|row| row["policy"].as_str().unwrap());
    assert_eq!(policies.collect::<Vec<_>>(), ["stock", "pfs"], "what failed has no row");
}

/// A shell script of two processes, beside a program of the repository. One that fails ends it all, and says why.
#[test(vm, reservations)]
fn a_program_that_is_not_in_the_repository_is_measured_and_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let app = "echo $1 > threads; for i in 1 2; do (i=0; while [ $i -lt 999 ]; do i=$((i+1)); done) & done; wait";
    fs::write(folder.path().join("app"), app).unwrap();
    let args = ["bench", "--machine", "1B1S:2", "--policy", "pfs", "--repeat", "1", "--seconds", "0.02"];
    let own = ["--own", "app=sh ./app {threads}", "--programs", "app+lu", "--format", "json"];
    let output = vm(folder.path(), &[&args[..], &own].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert_eq!(fs::read_to_string(folder.path().join("threads")).unwrap(), "2\n");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let [stock, pfs] = &report["machines"][0]["rows"].as_array().unwrap()[..] else { panic!("{report} {errors}") };
    for row in [stock, pfs] {
        assert_eq!((&row["bench"], &row["ideal_s"], &row["failed"]), (&"app+lu".into(), &Value::Null, &0.into()));
        assert!(row["makespan_s"].as_f64().unwrap() > 0.0 && row["h_antt"].as_f64().unwrap() > 0.0, "{row}");
        // Its processes are one program.
        assert!(row["predicted_s"].is_number() && row["h_antt_predicted_against_stock"].is_object(), "{row} {errors}");
    }
    let output = vm(folder.path(), &[&args[..], &["--own", "app=echo why >&2; exit 3"]].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]), "{errors}");
    let said = "error: app failed in the guest with exit status 3; the end of its standard error:\nwhy\n";
    assert!(errors.ends_with(said), "{errors}");
}

/// A program runs under the guest's kernel, by both hosts and under another scheduler, in one guest. What it prints is read, and
/// the report has a row for each. How fast each was is not the question here.
#[test(vm, reservations)]
fn every_host_has_a_row_in_a_bench() {
    let folder = tempfile::tempdir().unwrap();
    // A scheduler that leaves everything to the kernel: NAME -- COMMAND.
    let peer = peer(folder.path(), "shift 2\nexec \"$@\"");
    let args = ["bench", "--scx", "--machine", "1B1S:2", "--policy", "pfs", "--peer", &peer, "--programs", "lu,wakeup"];
    let rest = ["--repeat", "1", "--seconds", "0.02", "--format", "json"];
    let output = vm(folder.path(), &[&args[..], &rest].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = report["machines"][0]["rows"].as_array().unwrap();
    let hosts = [("stock", "stock"), ("pfs", "run"), ("pfs", "scx"), ("pfs", "scx daemon"), ("other", "peer")];
    let expected = ["lu", "wakeup"].iter().flat_map(|bench| hosts.map(|(policy, host)| (*bench, policy, host)));
    let found = rows.iter().map(|row| {
        let word = |field: &str| row[field].as_str().unwrap();
        (word("bench"), word("policy"), word("host"))
    });
    assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{errors}");
    for row in rows {
        assert_eq!((&row["runs"], &row["failed"]), (&1.into(), &0.into()), "{row} {errors}");
        assert!(row["makespan_s"].as_f64().unwrap() > 0.0 && row["against_stock"]["value"].is_number(), "{row}");
        assert!(row["began_on_big"] == 0.0 || row["began_on_big"] == 1.0, "{row}");
        let sleeps = row["bench"] == "wakeup";
        assert_eq!(row["latency"]["p99_s"].is_number(), sleeps, "{row}");
        assert_eq!(row["predicted_s"].is_number(), !sleeps && row["host"] != "peer", "{row}");
    }
    let accuracy = report["machines"][0]["accuracy"].as_array().unwrap();
    assert_eq!(
        accuracy.iter().map(|of| of["host"].as_str().unwrap()).collect::<Vec<_>>(),
        ["stock", "run", "scx", "scx daemon"]
    );
}
