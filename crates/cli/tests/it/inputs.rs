//! Whatever is wrong with an input is said in a person's words, with the place, and without names of types or hundreds of
//! digits; and what is no file is read as far as it makes sense.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::path::Path;
use std::process::{Command, Output};

const MACHINE: &str = "\
name = \"m\"
description = \"d\"
[core.c]
width = { value = 2, source = \"s\" }
extract = { value = 1, source = \"s\" }
overlap = { value = 0, source = \"s\" }
opps = { value = [[800, 1]], source = \"s\" }
activity = { value = 1, source = \"s\" }
leakage = { value = 1, source = \"s\" }
idle_share = { value = 1, source = \"s\" }
[[cluster]]
name = \"a\"
core = \"c\"
cores = { value = [0, 1], source = \"s\" }
[costs]
context_switch_us = { value = 2, source = \"s\" }
migrate_in_cluster_us = { value = 2, source = \"s\" }
migrate_across_clusters_us = { value = 2, source = \"s\" }
dvfs_transition_us = { value = 2, source = \"s\" }
tick_us = { value = 4000, source = \"s\" }
";

const WORKLOAD: &str = "\
[[program]]
name = \"p\"
n = 4
memory = \"local\"
phases.w = { ilp = 2.0, memory_ns = 0 }
[[program.threads]]
name = \"t\"
count = 1
nice = 0
cpus = [0]
service = false
start = \"0 us\"
do = [{ repeat = 2, do = [{ compute = \"1 ms\", phase = \"w\" }] }, { sleep = \"1 ms\" }, { set = { nice = 0 } }]
";

const TASKS: &str = r#"{"tasks": {"t": {"loop": 1, "cpus": [0], "priority": 0, "instance": 1, "run": 1000}}}"#;

/// What replaces which part of a text; each must be refused.
const BAD: [(&str, &[(&str, &str)]); 3] = [
    (
        "m.toml",
        &[
            ("[0, 1]", "\"0-x\""),
            ("[0, 1]", "[-1, 1]"),
            ("[0, 1]", "[0, 70000]"),
            ("[0, 1]", "[0.5, 1]"),
            ("[0, 1]", "5"),
            ("[0, 1]", "[]"),
            ("[0, 1]", "\"0-1500\""),
            ("[[800, 1]]", "[[800, 0.7, 3]]"),
            ("[[800, 1]]", "[[800]]"),
            ("[[800, 1]]", "[800, 1]"),
            ("[[800, 1]]", "[[\"a\", 1]]"),
            ("[[800, 1]]", "[[800, true]]"),
            ("[[800, 1]]", "5"),
            ("[[800, 1]]", "[[1e400, 1]]"),
            ("4000", "\"x\""),
            ("4000", "1e300"),
            ("4000", "99999999999999999999999999999"),
            ("4000", "nan"),
            ("4000", "true"),
            ("{ value = 4000, source = \"s\" }", "4000"),
            ("{ value = 4000, source = \"s\" }", "{ value = 4000 }"),
            ("core = \"c\"", "core = \"c\"\nnode = -1"),
            ("core = \"c\"", "core = \"c\"\nnode = 300"),
            ("core = \"c\"", "core = \"c\"\ncache = 1.5"),
            ("core = \"c\"", "core = \"c\"\ncaches = 1"),
            ("name = \"m\"", "name = 5"),
            ("name = \"m\"", "name = "),
            ("[costs]", "[cost]"),
            ("[core.c]", "[core]\nc = 5\n[core.d]"),
        ],
    ),
    (
        "w.toml",
        &[
            ("repeat = 2", "repeat = -1"),
            ("repeat = 2", "repeat = 99999999999999999999999"),
            ("repeat = 2", "repeat = 1.5"),
            ("repeat = 2", "repeat = true"),
            ("\"1 ms\", phase", "5, phase"),
            ("1 ms\", phase", "99999999999999999999999999999999999999999999999999999999999999999999 ms\", phase"),
            ("1 ms\", phase", "-5 ms\", phase"),
            ("nice = 0\ncpus", "nice = 500\ncpus"),
            ("nice = 0\ncpus", "nice = \"a\"\ncpus"),
            ("cpus = [0]", "cpus = [-1]"),
            ("cpus = [0]", "cpus = [70000]"),
            ("cpus = [0]", "cpus = \"all\""),
            ("count = 1", "count = -1"),
            ("count = 1", "count = 99999999999"),
            ("count = 1", "count = [1]"),
            ("service = false", "service = 1"),
            ("do = [{ repeat", "do = [5, { repeat"),
            ("do = [{ repeat", "do = [{}, { repeat"),
            ("ilp = 2.0", "ilp = \"x\""),
            ("ilp = 2.0", "ilp = 1e400"),
            ("n = 4", "n = -1"),
            ("n = 4", "n = 99999999999999999999999"),
            ("n = 4", "queues = 4"),
            ("n = 4", "locks = 4"),
            ("memory = \"local\"", "memory = 5"),
            ("{ nice = 0 }", "{ nice = \"a\" }"),
            ("{ nice = 0 }", "5"),
            ("sleep = \"1 ms\"", "sleep = 5"),
            ("start = \"0 us\"", "start = 5"),
            ("[[program]]", "duration = 5\n[[program]]"),
            ("[[program]]", "program = 5"),
        ],
    ),
    (
        "w.json",
        &[
            ("1000", "-1"),
            ("1000", "99999999999999999999999999999999999999999999999999999999999999999999999999999999"),
            ("1000", "1.5"),
            ("1000", "\"x\""),
            ("\"loop\": 1", "\"loop\": []"),
            ("[0]", "[-1]"),
            ("[0]", "[70000]"),
            ("[0]", "5"),
            ("\"priority\": 0", "\"priority\": 1e400"),
            ("\"instance\": 1", "\"instance\": 99999999999"),
            ("{\"t\":", "5, {\"t\":"),
            ("{\"tasks\"", "[{\"tasks\""),
        ],
    ),
];

fn evenkeel(folder: &Path, args: &[&str]) -> Output {
    Command::new(assert_cmd::cargo::cargo_bin!("evenkeel")).args(args).current_dir(folder).output().unwrap()
}

fn sim(folder: &Path, workload: &str, machine: &str) -> Output {
    evenkeel(folder, &["sim", workload, "--machine", machine, "--policy", "cfs"])
}

/// The message of a command that must fail, which a person can read.
fn complaint(output: &Output) -> String {
    let message = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{message}");
    let words = message.split(|char: char| !char.is_alphanumeric());
    let types = ["u8", "u16", "u32", "u64", "usize", "i8", "i32", "i64", "f32", "f64", "struct", "enum", "tuple", "os"];
    for word in words {
        assert!(!types.contains(&word), "{word}: {message}");
        assert!(word.len() < 60, "{message}");
    }
    for phrase in ["target type", "digit found", "float literal", "panicked", "Sourced", "OpText"] {
        assert!(!message.contains(phrase), "{phrase}: {message}");
    }
    message
}

#[test]
fn every_mistake_in_a_file_is_said_in_words_and_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let texts = [("m.toml", MACHINE), ("w.toml", WORKLOAD), ("w.json", TASKS)];
    for (name, text) in texts {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    for workload in ["w.toml", "w.json"] {
        let good = sim(folder.path(), workload, "./m.toml");
        assert!(good.status.success(), "{}", String::from_utf8_lossy(&good.stderr));
    }
    for ((name, cases), (_, text)) in BAD.iter().zip(texts) {
        for (part, instead) in *cases {
            assert!(text.contains(part), "{name} has no {part}");
            std::fs::write(
                folder.path().join("bad-").with_file_name(format!("bad-{name}")),
                text.replacen(part, instead, 1),
            )
            .unwrap();
            let bad = format!("./bad-{name}");
            let output =
                if *name == "m.toml" { sim(folder.path(), "w.toml", &bad) } else { sim(folder.path(), &bad, "m.toml") };
            let message = complaint(&output);
            assert!(message.contains(&format!("bad-{name}:")), "{part} -> {instead}: {message}");
        }
    }
}

#[test]
fn every_mistake_in_an_option_says_what_was_expected() {
    let folder = tempfile::tempdir().unwrap();
    for (command, option) in [
        ("sim", &["--seed", "x"][..]),
        ("sim", &["--seed", "-1"]),
        ("sim", &["--seed", "99999999999999999999999"]),
        ("sim", &["--delay", "x"]),
        ("sim", &["--delay", "99999999999999999999h"]),
        ("sim", &["--max-time", "1e400s"]),
        ("sim", &["--max-events", "0"]),
        ("sim", &["--max-events", "1.5"]),
        ("sim", &["--governor", "userspace:1e400GHz"]),
        ("sim", &["--host", "run", "--oracle"]),
        ("compare", &["--host", "run", "--baseline", "oracle"]),
        ("compare", &["--seeds", "x"]),
        ("compare", &["--seeds", "-1"]),
        ("compare", &["--seeds", "99999999999999999999999"]),
    ] {
        let mut args = vec![command, "radix", "--machine", "2B2S", "--policy", "cfs"];
        args.extend(option);
        let message = complaint(&evenkeel(folder.path(), &args));
        assert!(message.contains("expected"), "{option:?}: {message}");
    }
}

#[test]
fn an_operating_point_has_two_numbers_and_cores_may_be_ranges() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("w.toml"), WORKLOAD).unwrap();
    let with = |part: &str, instead: &str| {
        std::fs::write(folder.path().join("m.toml"), MACHINE.replacen(part, instead, 1)).unwrap();
        sim(folder.path(), "w.toml", "m.toml")
    };
    let message = complaint(&with("[[800, 1]]", "[[800, 0.7, 3]]"));
    assert!(message.contains("m.toml:7: a list of 3: expected a pair [MHz, volts]"), "{message}");
    let output = with("[0, 1]", "\"0-1022, 1023\"");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1023"));
}

#[test]
fn directories_devices_and_pipes() {
    let folder = tempfile::tempdir().unwrap();
    for (args, expected) in [
        (["sim", "./", "--machine", "2B2S", "--policy", "cfs"], "cannot read ./: it is a directory"),
        (["sim", "radix", "--machine", "./", "--policy", "cfs"], "cannot read ./: it is a directory"),
        (
            ["sim", "/dev/zero", "--machine", "2B2S", "--policy", "cfs"],
            "cannot read /dev/zero: it is longer than 64 MiB",
        ),
        (
            ["sim", "radix", "--machine", "/dev/zero", "--policy", "cfs"],
            "cannot read /dev/zero: it is longer than 64 MiB",
        ),
    ] {
        let message = complaint(&evenkeel(folder.path(), &args));
        assert!(message.contains(expected), "{message}");
    }
    for (text, machine) in [(WORKLOAD, "2B2S"), (TASKS, "2B2S")] {
        std::fs::write(folder.path().join("input"), text).unwrap();
        let command = format!(
            "{} sim <(cat input) --machine {machine} --policy cfs",
            assert_cmd::cargo::cargo_bin!("evenkeel").display()
        );
        let output = Command::new("bash").args(["-c", &command]).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A seed changes something, or is refused.
#[test]
fn a_seed_is_for_what_draws_from_it() {
    let kratos = "workloads/complaints/kratos-12924.toml";
    let sim = |more: &[&str]| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
        command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
        command.args(["sim", kratos, "--machine", "i9-13900k", "--policy", "cfs"]).args(more).output().unwrap()
    };
    assert!(sim(&[]).status.success());
    let refused = sim(&["--seed", "7"]);
    let text = String::from_utf8_lossy(&refused.stderr);
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0), "{text}");
    assert!(text.contains("draws nothing from a seed") && text.contains("--noise"), "{text}");
    let [seven, eight] = ["7", "8"].map(|seed| sim(&["--noise", "--seed", seed]));
    assert!(seven.status.success() && seven.stdout != eight.stdout);
}

/// Numbers of cores in an rt-app file mean the machine's own.
#[test]
fn workloads_that_name_cores_keep_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        |cpus: &str| format!(r#"{{"tasks": {{"t": {{"loop": 3, {cpus} "run": 1000}}}}, "global": {{"duration": 1}}}}"#);
    let orders = |cpus: &str, more: &[&str]| {
        let path = folder.path().join("x.json");
        std::fs::write(&path, text(cpus)).unwrap();
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
        command.arg("compare").arg(&path).args(["--machine", "2B2S", "--policy", "cfs", "--seeds", "1"]);
        let output = command.args(["--format", "json"]).args(more).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let runs = report["runs"].as_array().unwrap().iter();
        runs.map(|run| run["order"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(orders("", &[]), ["big-first", "little-first"]);
    assert_eq!(orders(r#""cpus": [0],"#, &[]), ["declared"]);
    assert_eq!(orders(r#""cpus": [0],"#, &["--orders", "little-first"]), ["little-first"]);
}
