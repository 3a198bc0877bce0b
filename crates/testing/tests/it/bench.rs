//! Benchmarks in Python, with stand-ins for what they call.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;

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
    // The standard deviation of the ratios' logarithms is 0.4; that of the mean of four is half of it.
    let (code, text) = java(&[1.0, 1.0, 2.0, 2.0], 0, &[]);
    assert!(code == Some(0) && text.contains(" +41.4 % +-20.0\n"), "{text}");
    let (code, text) = java(&[2.0], 0, &[]);
    assert!(code == Some(0) && text.contains("+100.0 %\n"), "{text}");
    let (_, text) = java(&[2.0], 0, &["--format", "json"]);
    assert_eq!(text.matches("\"error\": null").count(), 3, "of the program, its class and all: {text}");
}

#[test]
fn rayon_is_not_measured_in_no_round_or_by_no_benchmark() {
    if skips(&[&python]) {
        return;
    }
    let checkout = checkout(&["bench/rayon"]);
    fs::create_dir_all(checkout.path().join("rayon-demo/src/nbody")).unwrap();
    let programs = Programs::none();
    programs.add("cargo", r#"echo "{\"executable\": \"${0%/*}/demo\"}""#);
    programs.add("demo", "echo 'sort::quick: benchmark'");
    let rayon = |arguments: &[&str]| {
        let mut rayon = programs.before_others("python3");
        rayon.arg(checkout.path().join("bench/rayon")).args(arguments).env("RAYON", checkout.path());
        said(&rayon.output().unwrap())
    };
    let (code, text) = rayon(&["--rounds", "0"]);
    assert!(code == Some(2) && text.contains("--rounds is 1 or more"), "{text}");
    let (code, text) = rayon(&["sort", "nosuch"]);
    assert!(code == Some(2) && text.contains("has 'nosuch' in its name"), "{text}");
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

#[test]
fn means_over_mixes_are_geometric_and_say_of_how_many() {
    if skips(&[&python]) {
        return;
    }
    let checkout = checkout(&["bench/mixes"]);
    let rows = [row("stock", "sync-1", 0.0, 0.0), row("scx", "sync-1", -0.5, 0.03), row("scx", "comp-1", 0.28, 0.0)];
    let machine = format!(
        r#"{{"machine": "2B2S:3", "repetitions": 1, "repetitions_wanted": 1, "rows": [{}], "accuracy": [], "totals": []}}"#,
        rows.join(", ")
    );
    let file = checkout.path().join("measured.json");
    let mixes = |document: String, files: &[&std::path::Path]| {
        fs::write(&file, document).unwrap();
        let mut mixes = std::process::Command::new("python3");
        said(&mixes.arg(checkout.path().join("bench/mixes")).args(files).output().unwrap())
    };
    let document = format!(r#"{{"machines": [{machine}]}}"#);
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
