//! Benchmarks in Python, with stand-ins for what they call.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use evenkeel_testing::needs::python;
use evenkeel_testing::skips;

use crate::scripts::{Programs, checkout, said};

/// Knows one policy, and writes the measured times into the file that `bench/java` names.
const EVENKEEL: &str = r#"case " $* " in
*" --machine 2B2X "*) echo wrong machine >&2; exit 2 ;;
*" --policy pfs "*) exit 127 ;;
*" --policy "*) echo wrong policy >&2; exit 2 ;;
*" --inside "*)
    while [ "$1" != --inside ]; do shift; done
    cat "${0%/*}/runs" >>"$2"
    exit "$ENDED"
    ;;
esac"#;

/// `bench/java` where a program takes 1 s under the guest's own scheduler and this long under `pfs`, and the guest ends with
/// this status.
fn java(seconds: &[f64], ended: u8, arguments: &[&str]) -> (Option<i32>, String) {
    let checkout = checkout(&["bench/java"]);
    let programs = Programs::none();
    for name in ["java", "javac"] {
        programs.add(name, "");
    }
    programs.add("evenkeel", EVENKEEL);
    let line = |scheduler: &str, round: usize, seconds: f64| {
        let place = format!(r#""program": "Matrix", "scheduler": "{scheduler}", "round": {round}"#);
        format!("{{{place}, \"seconds\": {seconds}}}\n")
    };
    let rounds = seconds.iter().enumerate();
    let runs: String = rounds.map(|(round, own)| line("stock", round, 1.0) + &line("pfs", round, *own)).collect();
    fs::write(programs.path("runs"), runs).unwrap();
    let mut java = programs.before_others("python3");
    java.arg(checkout.path().join("bench/java")).args(["--policies", "pfs"]).args(arguments);
    java.env("EVENKEEL", programs.path("evenkeel")).env("ENDED", ended.to_string());
    said(&java.output().unwrap())
}

#[test]
fn a_wrong_request_is_not_taken_for_a_machine_without_virtual_ones() {
    if skips(&[&python]) {
        return;
    }
    assert_eq!(java(&[1.0], 0, &["--machine", "2B2X"]), (Some(2), "wrong machine\n".to_owned()));
    assert_eq!(java(&[1.0], 0, &["--policies", "pfs,nosuch"]), (Some(2), "wrong policy\n".to_owned()));
    for twice in [["--policies", "pfs,pfs"], ["--programs", "Matrix,Trees,Matrix"]] {
        let (code, text) = java(&[1.0], 0, &twice);
        assert!(code == Some(2) && text.contains(" is named twice"), "{text}");
    }
}

#[test]
fn a_guest_that_broke_off_is_a_failure() {
    if skips(&[&python]) {
        return;
    }
    let (code, text) = java(&[2.0], 125, &[]);
    assert!(code == Some(1) && text.contains("2.00 (2.00-2.00)"), "what was measured is shown: {text}");
    let (code, text) = java(&[], 0, &[]);
    assert!(code == Some(1) && text.contains("before anything was measured"), "{text}");
}

#[test]
fn the_standard_error_of_a_mean_takes_two_rounds() {
    if skips(&[&python]) {
        return;
    }
    // The standard deviation of the ratios' logarithms is 0.4; that of the mean of four is half of it, of 141.4 %.
    let (code, text) = java(&[1.0, 1.0, 2.0, 2.0], 0, &[]);
    assert!(code == Some(0) && text.contains(" +41.4 % +-28.3\n"), "{text}");
    let (code, text) = java(&[2.0], 0, &[]);
    assert!(code == Some(0) && text.contains("+100.0 %\n"), "{text}");
    let (_, text) = java(&[2.0], 0, &["--format", "json"]);
    assert_eq!(text.matches("\"error\": null").count(), 3, "of the program, its class and all: {text}");
}

#[test]
fn rayon_is_not_measured_in_no_round_by_no_benchmark_or_on_other_cores() {
    if skips(&[&python]) {
        return;
    }
    let checkout = checkout(&["bench/rayon"]);
    fs::create_dir_all(checkout.path().join("rayon-demo/src/nbody")).unwrap();
    let programs = Programs::none();
    programs.add("cargo", r#"echo "{\"executable\": \"${0%/*}/demo\"}""#);
    programs.add("demo", "echo 'sort::quick: benchmark'");
    programs.add("evenkeel", "echo \"$*\"");
    fs::create_dir(checkout.path().join("release")).unwrap();
    symlink(programs.path("evenkeel"), checkout.path().join("release/evenkeel")).unwrap();
    let rayon = |arguments: &[&str]| {
        let mut rayon = programs.before_others("python3");
        rayon.arg(checkout.path().join("bench/rayon")).args(arguments).env("RAYON", checkout.path());
        said(&rayon.env("CARGO_TARGET_DIR", checkout.path()).output().unwrap())
    };
    let (code, text) = rayon(&["--rounds", "0"]);
    assert!(code == Some(2) && text.contains("--rounds is 1 or more"), "{text}");
    let (code, text) = rayon(&["sort", "nosuch"]);
    assert!(code == Some(2) && text.contains("has 'nosuch' in its name"), "{text}");
    let (_, text) = rayon(&["--uneven", "0"]);
    assert!(text.contains("emulate 1B1L:0 -- "), "it is evenkeel's to refuse: {text}");
}

/// A row of `vm bench`, whose differences are all the same; predicted only where one of Evenkeel's hosts carries a policy out.
fn row(host: &str, policy: &str, bench: &str, value: f64, error: f64) -> String {
    let difference = format!(r#"{{"value": {value}, "error": {error}}}"#);
    let predicted = if host == "peer" { "null" } else { &difference };
    let metrics = ["", "h_antt_", "h_stp_"];
    let differences = metrics.map(|metric| {
        format!(r#""{metric}against_stock": {difference}, "{metric}predicted_against_stock": {predicted}"#)
    });
    let names = format!(r#""host": "{host}", "policy": "{policy}", "bench": "{bench}""#);
    format!(r#"{{{names}, "failed": 0, "over_ideal": 2.0, {}}}"#, differences.join(", "))
}

/// What `vm bench` prints of a machine on which it has measured three mixes.
fn measured_on(machine: &str, rows: &[String]) -> String {
    let machine = format!(
        r#"{{"machine": "{machine}", "repetitions": 1, "repetitions_wanted": 1, "rows": [{}], "accuracy": [], "totals": []}}"#,
        rows.join(", ")
    );
    format!(r#"{{"machines": [{machine}]}}"#)
}

fn mixes_measured() -> String {
    let scx = |bench, value, error| row("scx", "colab", bench, value, error);
    measured_on(
        "2B2S:3",
        &[row("stock", "stock", "sync-1", 0.0, 0.0), scx("sync-1", -0.5, 0.03), scx("comp-1", 0.28, 0.0)],
    )
}

/// What `bench/mixes` prints of documents.
fn mixes_of(documents: &[String]) -> (Option<i32>, String) {
    let checkout = checkout(&["bench/mixes"]);
    let mut mixes = Command::new("python3");
    mixes.arg(checkout.path().join("bench/mixes"));
    for (number, document) in documents.iter().enumerate() {
        let file = checkout.path().join(format!("measured-{number}.json"));
        fs::write(&file, document).unwrap();
        mixes.arg(file);
    }
    said(&mixes.output().unwrap())
}

#[test]
fn means_over_mixes_are_geometric_and_say_of_how_many() {
    if skips(&[&python]) {
        return;
    }
    let document = mixes_measured();
    // The root of a half times 1.28 is 0.8; the error of the first is 6 % of it, and half of that of the mean.
    let (code, text) = mixes_of(std::slice::from_ref(&document));
    assert_eq!(code, Some(0), "{text}");
    for published in ["-20 %", "+35 %", ""] {
        let few = format!("| few (four threads) | {published} | -20.0 % ± 2.4 (2 of 4) | -20.0 % ± 2.4 (2 of 4) |\n");
        assert_eq!(text.matches(&few).count(), 1, "{text}");
    }
    assert!(text.contains("scx: H_ANTT more than 5 % worse in 1 of 2, at most +28.0 % (comp-1 on 2B2S:3)"), "{text}");
    for documents in [vec![document.clone(), document], vec!["{}".to_owned()]] {
        let (code, text) = mixes_of(&documents);
        assert!(code == Some(2) && text.contains("measured-") && text.contains("expected"), "{text}");
    }
}

#[test]
fn mixes_that_an_older_version_measured_have_no_table_of_what_it_did_not_say() {
    if skips(&[&python]) {
        return;
    }
    let older = mixes_measured().replace("\"h_stp_", "\"unknown_");
    let (code, text) = mixes_of(std::slice::from_ref(&older));
    assert!(code == Some(0) && text.contains(": makespan against EEVDF") && !text.contains("H_STP"), "{text}");
    let newer = mixes_measured().replace("2B2S:3", "2B4S:3");
    let (code, text) = mixes_of(&[older, newer]);
    let few = |mixes| format!("| few (four threads) | +35 % | -20.0 % ± 2.4 ({mixes}) | -20.0 % ± 2.4 ({mixes}) |");
    assert!(
        code == Some(0) && text.contains("all machines, `colab`: H_STP") && text.contains(&few("2 of 8")),
        "{text}"
    );
}

#[test]
fn each_policy_has_tables_of_its_own_with_the_other_schedulers_beside_it() {
    if skips(&[&python]) {
        return;
    }
    let one = |host, policy, value| row(host, policy, "sync-1", value, 0.01);
    let rows = [
        one("stock", "stock", 0.0),
        one("scx", "colab", -0.4),
        one("scx daemon", "colab", -0.3),
        one("scx", "pfs", -0.2),
        one("peer", "scx_rusty", 0.1),
    ];
    let (code, text) = mixes_of(&[measured_on("2B2S:3", &rows)]);
    assert_eq!(code, Some(0), "{text}");
    for lines in [
        "| 2B2S:3, `colab`: H_STP against EEVDF | EEVDF's time, of the ideal | `scx` | `scx daemon` | `scx_rusty` | \
         `scx`, predicted | `scx daemon`, predicted |\n|---|---|---|---|---|---|---|\n\
         | `sync-1` | 2.00 | -40.0 % ± 1.0 | -30.0 % ± 1.0 | +10.0 % ± 1.0 | -40.0 % | -30.0 % |\n",
        "| 2B2S:3, `pfs`: H_ANTT against EEVDF | EEVDF's time, of the ideal | `scx` | `scx_rusty` | `scx`, predicted |\n\
         |---|---|---|---|---|\n| `sync-1` | 2.00 | -20.0 % ± 1.0 | +10.0 % ± 1.0 | -20.0 % |\n",
        "colab, scx daemon: H_ANTT more than 5 % worse in 0 of 1\n",
        "\nscx_rusty: H_ANTT more than 5 % worse in 1 of 1, at most +10.0 % (sync-1 on 2B2S:3)\n",
    ] {
        assert!(text.contains(lines), "{lines}\n{text}");
    }
    let (code, text) = mixes_of(&[measured_on("2B2S:3", &rows[..1])]);
    assert!(code == Some(2) && text.contains("has no policy"), "{text}");
}

#[test]
fn mixes_are_measured_as_asked_beside_the_schedulers_that_can_be_had() {
    if skips(&[&python]) {
        return;
    }
    let checkout = checkout(&["bench/mixes", "bench/peers/install"]);
    let programs = Programs::none();
    programs.add("clang", "echo 19.1.7");
    programs.add("cargo", "case $* in install*scx_lavd) echo 'error: libelf was not found' >&2; exit 101 ;; esac");
    fs::create_dir(checkout.path().join("release")).unwrap();
    symlink(programs.path("evenkeel"), checkout.path().join("release/evenkeel")).unwrap();
    fs::write(programs.path("measured"), mixes_measured()).unwrap();
    let log = programs.path("log");
    let prints = programs.path("measured");
    programs.add("evenkeel", &format!("echo \"$*\" >>'{}'; cat '{}'", log.display(), prints.display()));
    let mixes = |arguments: &[&str], schedulers: &str| {
        let mut mixes = programs.before_others("python3");
        mixes.arg(checkout.path().join("bench/mixes")).args(["--machine", "2B2S:3"]).args(arguments);
        mixes.env("CARGO_TARGET_DIR", checkout.path()).env("SCHEDULERS", schedulers).env_remove("BPF_CLANG");
        said(&mixes.output().unwrap())
    };
    let asked = || fs::read_to_string(&log).unwrap().lines().last().unwrap().to_owned();
    let (code, text) = mixes(&["--path", "both", "--mixes", "sync-1,comp-1", "--boots", "1"], "scx_lavd scx_rusty");
    assert!(code == Some(0) && text.contains("without scx_lavd: error: libelf was not found"), "{text}");
    assert_eq!(
        asked(),
        "vm bench --scx --machine 2B2S:3 --policy colab --programs sync-1,comp-1 --peer scx_rusty=bench/peers/sched_ext \
         --boots 1 --repeat 1 --seconds 1.5 --format json"
    );
    let (code, text) = mixes(&["--path", "daemon", "--policy", "pfs,colab"], "");
    assert!(
        code == Some(0) && asked().contains(" --policy pfs,colab ") && asked().contains(" --path daemon "),
        "{text}"
    );
    let files = ["mixes-2B2S:3-colab-both-scx_rusty-sync-1,comp-1-boots=1.json", "mixes-2B2S:3-pfs,colab-daemon.json"];
    assert!(files.iter().all(|file| checkout.path().join("bench/.build").join(file).exists()), "{text}");
    let (code, text) = mixes(&["--mixes", "sync-1,rand-1"], "");
    assert!(code == Some(2) && text.contains("'rand-1': expected some of sync-1, "), "{text}");
}

#[test]
fn what_was_measured_of_mixes_is_kept_by_what_was_asked_until_there_is_something_else() {
    if skips(&[&python]) {
        return;
    }
    let checkout = checkout(&["bench/mixes"]);
    let programs = Programs::none();
    programs.add("cargo", "");
    fs::create_dir(checkout.path().join("release")).unwrap();
    symlink(programs.path("evenkeel"), checkout.path().join("release/evenkeel")).unwrap();
    fs::write(programs.path("measured"), mixes_measured()).unwrap();
    let prints = format!("cat '{}'", programs.path("measured").display());
    let mixes = |evenkeel: &str, arguments: &[&str]| {
        programs.add("evenkeel", evenkeel);
        // What a shell runs in the background is not interrupted otherwise.
        let mut mixes = programs.before_others("env");
        mixes.args(["--default-signal=INT", "python3"]).arg(checkout.path().join("bench/mixes")).args(arguments);
        said(&mixes.env("CARGO_TARGET_DIR", checkout.path()).env_remove("SCHEDULERS").output().unwrap())
    };
    let kept = || -> Vec<PathBuf> {
        let files = fs::read_dir(checkout.path().join("bench/.build")).unwrap();
        files.map(|file| file.unwrap().path()).filter(|file| !file.ends_with("evenkeel")).collect()
    };
    // It is left to print what it has, and the second machine is not begun.
    let interrupted = format!("kill -INT $PPID; sleep 0.5; {prints}");
    let (code, text) = mixes(&interrupted, &["--machine", "2B2S:3,2B4S:3"]);
    assert!(code == Some(1) && text.contains("-20.0 %") && !text.contains("expected"), "{text}");
    let files = kept();
    let [file] = &files[..] else { panic!("{files:?}") };
    let before = fs::read(file).unwrap();
    let (code, text) = mixes("exit 2", &["--machine", "2B2S:3"]);
    assert_eq!((code, text.as_str()), (Some(1), ""));
    assert_eq!((kept(), fs::read(file).unwrap()), (vec![file.clone()], before));
    let (code, text) = mixes(&prints, &["--machine", "2B2S:3", "--policy", "colab:culprit=a/b"]);
    assert!(code == Some(0) && kept().len() == 2 && kept().contains(file), "{text}");
}
