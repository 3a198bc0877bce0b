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
