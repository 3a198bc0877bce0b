//! An asymmetric machine out of this one. One test alone depends on how fast anything runs, within wide bounds.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;

fn emulate(args: &[&str]) -> Output {
    Command::new(assert_cmd::cargo::cargo_bin!("evenkeel")).arg("emulate").args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The message of a command that must fail without having started anything.
fn refused(args: &[&str]) -> String {
    let output = emulate(args);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
    assert!(output.stdout.is_empty(), "{args:?} started the command");
    message
}

/// The message of an emulation of `echo` that must fail.
fn refused_echo(args: &[&str]) -> String {
    refused(&[args, &["--", "echo", "started"]].concat())
}

#[test]
fn what_cannot_be_is_refused_before_anything_starts() {
    let refused = refused_echo;
    assert!(refused(&["60B60L:3"]).contains("60B60S:3 needs 120 CPUs"));
    assert!(refused(&["1B"]).contains("1B1L:3"));
    assert!(refused(&["2x2"]).contains("2B2S:3"));
    assert!(refused(&[]).contains("MACHINE"));
    assert!(refused(&["1B1L:3", "--big", "0"]).contains("--big"));
    assert!(refused(&["1B1L:3", "--dvfs"]).contains("such as 1B1L"));
    assert!(refused(&["1B1L", "--dvfs=arduino"]).contains("arduino"));
    assert!(refused(&["--big", "0", "--ratio", "2", "--dvfs"]).contains("--ratio"));
    assert!(refused(&["1B1L:3", "--period", "1s"]).contains("50.000 us to 100.000 ms"));
}

#[test(two_cpus)]
fn what_two_cpus_cannot_be_is_refused_before_anything_starts() {
    assert!(refused_echo(&["1B1L:3", "--policy", "colba"]).contains("colab"));
    assert!(refused_echo(&["1B1L:50"]).contains("kernel.sched_rt_runtime_us"));
}

/// Runtimes like OpenMP's do so once, when they are loaded. One in five found a single CPU when threads were moved at once.
#[test(emulation)]
fn a_program_that_counts_its_cpus_when_it_starts_finds_all() {
    for _ in 0..40 {
        let output = emulate(&["1B1L:3", "-q", "--policy", "pfs", "--", "nproc"]);
        assert_eq!(text(&output.stdout), "2\n", "{}", text(&output.stderr));
    }
}

#[test(emulation)]
fn the_command_runs_on_the_machine_and_its_status_is_passed_on() {
    let output = emulate(&["1B1L:3", "--", "sh", "-c", "nproc; exit 7"]);
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "2\n", "two CPUs, however many this machine has");
    assert!(text(&output.stderr).contains("reached"));
    let quiet = emulate(&["1B1L:3", "-q", "--", "true"]);
    assert!(quiet.status.success() && quiet.stderr.is_empty(), "{}", text(&quiet.stderr));
    let killed = emulate(&["1B1L:3", "-q", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(killed.status.code(), Some(128 + 9));
}

#[test(emulation)]
fn the_account_is_there_for_programs_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cores.json");
    let output = emulate(&["1B1L:2", "--format", "json", "-o", path.to_str().unwrap(), "--", "sleep", "0.5"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let page = include_str!("../../../../docs/json.md");
    let core = &report["little"][0];
    for (object, expected) in [
        (&report, &["big", "ratio", "period_s", "little", "machine", "clocks"][..]),
        (core, &["cpu", "reached", "elapsed_s", "cycles", "away_s", "longest_away_s"][..]),
    ] {
        let mut found: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
        let mut expected = expected.to_vec();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
        assert!(expected.iter().all(|field| page.contains(&format!("`{field}`"))));
    }
    let number = |name: &str| core[name].as_f64().unwrap();
    assert!(number("elapsed_s") >= 0.5 && number("cycles") >= 1.0);
    let reached = number("elapsed_s") / (number("elapsed_s") - number("away_s"));
    assert!((number("reached") / reached - 1.0).abs() < 1e-6, "the account agrees with itself: {core}");
}

/// The policy's account goes to standard error, which is full.
#[test(emulation)]
fn an_account_that_cannot_be_written_does_not_cost_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let line = "\"$0\" emulate 1B1L:3 --policy pfs -o speeds.json --format json -- true 2>/dev/full";
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).arg(assert_cmd::cargo::cargo_bin!("evenkeel"));
    assert_eq!(shell.current_dir(folder.path()).output().unwrap().status.code(), Some(125));
    let report = std::fs::read_to_string(folder.path().join("speeds.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&report).unwrap()["ratio"], 3.0);
}

/// Sets the frequency of a CPU, if it is one that the machine has, and waits until its files say so.
const SET: &str = "at() { cd $EVENKEEL_SYSFS/sys/devices/system/cpu/cpu$1/cpufreq && echo $2 > scaling_setspeed && \
                   while [ $(cat scaling_cur_freq) != $3 ]; do :; done; }";

/// The CPUs of an emulation, the big one first.
fn cpus() -> Vec<String> {
    let script = "cat $EVENKEEL_SYSFS/sys/devices/system/cpu/cpu*/topology/core_id";
    let output = emulate(&["1B1L", "--dvfs", "-q", "--", "sh", "-c", script]);
    text(&output.stdout).lines().map(str::to_owned).collect()
}

/// By the emulation's own account, which knows what it has occupied.
#[test(emulation)]
fn what_is_written_to_scaling_setspeed_is_how_fast_the_core_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clocks.json");
    // The last writes: one that is no frequency, and one beyond the highest.
    let script =
        format!("{SET}; at $1 111600 111600; sleep 0.6; echo fast > scaling_setspeed; at $2 999999 554400; sleep 0.6");
    let run = |spec: &[&str], cpus: [&str; 2]| {
        let file =
            ["--format", "json", "-o", path.to_str().unwrap(), "--", "sh", "-c", &script, "sh", cpus[0], cpus[1]];
        let output = emulate(&[spec, &["--dvfs"], &file].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let report: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        (report, text(&output.stderr))
    };
    let cpus = cpus();
    let (report, said) = run(&["1B1L"], [cpus[0].as_str(), cpus[1].as_str()]);
    assert_eq!((&report["machine"], &report["ratio"]), (&"aaws-4B4L".into(), &2.0.into()));
    let [big, little] = &report["clocks"].as_array().unwrap()[..] else { panic!("{report}") };
    let number = |of: &Value, field: &str| of[field].as_f64().unwrap();
    assert_eq!((big["core"].as_str(), little["core"].as_str()), (Some("aaws-big"), Some("aaws-little")));
    for (clock, ignored, clamped) in [(big, 1, 0), (little, 0, 1)] {
        assert_eq!((&clock["changes"], &clock["ignored"]), (&1.into(), &ignored.into()), "{clock}");
        assert_eq!(clock["clamped"], clamped, "{clock}");
        assert!((number(clock, "energy_j") / number(clock, "elapsed_s") - number(clock, "power_w")).abs() < 1e-9);
        assert!(number(clock, "busy_s") <= number(clock, "elapsed_s"), "{clock}");
    }
    assert!(said.contains("changed nothing: 1") && said.contains("was set instead: 1"), "{said}");
    // Half of the time or more at the frequency that was set, after 333 MHz.
    assert!((111.6e6..250e6).contains(&number(big, "mean_hz")), "{big}");
    assert!((333e6..554.4e6).contains(&number(little, "mean_hz")), "{little}");
}

/// Sets the frequency of a CPU, and says it with how many rounds a loop there makes in some time.
const ROUNDS: &str = r#"rounds() {
    at $1 $2 $2
    taskset -c $1 timeout --foreground 0.3 sh -c \
        'trap "echo $0 \$n; exit" TERM; n=0; while :; do n=$((n + 1)); done' $2
}"#;

/// By a program's own count: a fifth. Other work may leave the loop less of the CPU at either frequency, so that the best of some
/// counts, and such work keeps away from a slow CPU, which the bounds allow for.
#[test(emulation)]
fn a_loop_makes_fewer_rounds_at_a_lower_frequency() {
    let cpus = cpus();
    let script = format!("{SET}; {ROUNDS}; for i in 1 2 3; do rounds $1 554400; rounds $1 111600; done");
    let mut shares = Vec::new();
    for _ in 0..3 {
        let output = emulate(&["1B1L", "--dvfs", "-q", "--", "sh", "-c", &script, "sh", &cpus[0]]);
        let said = text(&output.stdout);
        let most = |khz: &str| -> f64 {
            let rounds = said.lines().filter_map(|line| line.strip_prefix(khz)?.trim().parse::<f64>().ok());
            rounds.fold(0.0, f64::max)
        };
        let share = most("111600") / most("554400");
        if (0.1..0.75).contains(&share) {
            return;
        }
        shares.push((share, said, text(&output.stderr)));
    }
    panic!("{shares:?}");
}

#[test(emulation)]
fn a_program_finds_the_emulated_machine_instead_of_this_one() {
    let evenkeel = assert_cmd::cargo::cargo_bin!("evenkeel").to_str().unwrap();
    let output = emulate(&["1B1L", "--dvfs", "-q", "--", evenkeel, "topology", "--format", "json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["model"], "aaws-4B4L, emulated", "{report}");
    let left = |beginning: &str| {
        let all = std::fs::read_dir("/tmp").unwrap().flatten();
        all.filter(|entry| entry.file_name().to_string_lossy().starts_with(beginning)).count()
    };
    // One that was killed leaves its folder to the next.
    let killed = emulate(&["1B1L", "--dvfs", "-q", "--", "sh", "-c", "echo $EVENKEEL_SYSFS; kill -9 $PPID"]);
    let folder = text(&killed.stdout);
    assert!(left("evenkeel-dvfs-") >= 1 && std::path::Path::new(folder.trim()).exists(), "{folder}");
    assert!(emulate(&["1B1L", "--dvfs", "-q", "--", "true"]).status.success());
    assert!(!std::path::Path::new(folder.trim()).exists(), "{folder}");
}

/// All cores of that machine are alike. Notes may come before the account.
#[test(emulation)]
fn a_policy_knows_the_machine_as_evenkeel_run_does_there() {
    let types = |words: &[&str]| {
        let said = text(&emulate(&[&["1B1L", "--dvfs=x5560-4B"][..], words].concat()).stderr);
        let account = &said[said.find('{').unwrap_or_else(|| panic!("{said}"))..];
        let account = serde_json::Deserializer::from_str(account).into_iter::<Value>().next().unwrap().unwrap();
        account["core_types"].clone()
    };
    let evenkeel = assert_cmd::cargo::cargo_bin!("evenkeel").to_str().unwrap();
    let within = types(&["-q", "--", evenkeel, "run", "--policy", "pfs", "--format", "json", "--", "true"]);
    assert_eq!(within.as_array().unwrap().len(), 1, "{within}");
    assert_eq!(types(&["--policy", "pfs", "--format", "json", "--", "true"]), within);
}

#[test(emulation)]
fn a_policy_schedules_big_cores_alone() {
    let output = emulate(&["1B", "--dvfs", "--policy", "pfs", "-q", "--", "true"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test(emulation)]
fn a_policy_schedules_the_command_on_that_machine() {
    let output = emulate(&["1B1L:3", "--policy", "gts", "--", "sh", "-c", "exit 3"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("evenkeel run: gts") && said.contains("evenkeel emulate: big"), "{said}");
}
