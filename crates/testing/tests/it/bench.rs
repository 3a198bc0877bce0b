//! Benchmarks in Python, with stand-ins for what they call.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
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

/// A row of `vm bench`, whose differences are all the same.
fn row(host: &str, bench: &str, value: f64, error: f64) -> String {
    let difference = format!(r#"{{"value": {value}, "error": {error}}}"#);
    let names = ["against_stock", "h_antt_against_stock", "predicted_against_stock", "h_antt_predicted_against_stock"];
    let differences = names.map(|name| format!(r#""{name}": {difference}"#)).join(", ");
    let policy = if host == "stock" { "stock" } else { "colab" };
    format!(
        r#"{{"host": "{host}", "bench": "{bench}", "policy": "{policy}", "failed": 0, "over_ideal": 2.0, {differences}}}"#
    )
}

/// What `vm bench` prints of a machine on which it has measured three mixes.
fn mixes_measured() -> String {
    let rows = [row("stock", "sync-1", 0.0, 0.0), row("scx", "sync-1", -0.5, 0.03), row("scx", "comp-1", 0.28, 0.0)];
    let machine = format!(
        r#"{{"machine": "2B2S:3", "repetitions": 1, "repetitions_wanted": 1, "rows": [{}], "accuracy": [], "totals": []}}"#,
        rows.join(", ")
    );
    format!(r#"{{"machines": [{machine}]}}"#)
}

#[test]
fn means_over_mixes_are_geometric_and_say_of_how_many() {
    if skips(&[&python]) {
        return;
    }
    let checkout = checkout(&["bench/mixes"]);
    let file = checkout.path().join("measured.json");
    let mixes = |document: String, files: &[&Path]| {
        fs::write(&file, document).unwrap();
        let mut mixes = Command::new("python3");
        said(&mixes.arg(checkout.path().join("bench/mixes")).args(files).output().unwrap())
    };
    let document = mixes_measured();
    // The root of a half times 1.28 is 0.8; the error of the first is 6 % of it, and half of that of the mean.
    let (code, text) = mixes(document.clone(), &[&file]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("| few (four threads) | -20 % | -20.0 % ± 2.4 (2 of 4) | -20.0 % ± 2.4 (2 of 4) |"),
        "{text}"
    );
    assert!(text.contains("scx: H_ANTT more than 5 % worse in 1 of 2, at most +28.0 % (comp-1 on 2B2S:3)"), "{text}");
    for (document, files) in [(document, vec![&*file; 2]), ("{}".to_owned(), vec![&*file])] {
        let (code, text) = mixes(document, &files);
        assert!(code == Some(2) && text.contains("measured.json") && text.contains("expected"), "{text}");
    }
}

#[test]
fn what_was_measured_of_mixes_is_kept_by_policy_until_there_is_something_else() {
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
        said(&mixes.env("CARGO_TARGET_DIR", checkout.path()).output().unwrap())
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
    let (code, text) = mixes(&prints, &["--policy", "pfs,colab"]);
    assert!(code == Some(2) && text.contains("--policy is one policy"), "{text}");
}
