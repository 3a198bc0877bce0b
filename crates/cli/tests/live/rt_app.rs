//! rt-app files of other people.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use assert_cmd::Command;
use evenkeel_testing::needs::RT_APP_FILES;
use serde_json::Value;

#[test(rt_app_files)]
fn real_rt_app_files_run_under_every_policy() {
    let files = std::fs::read_dir(RT_APP_FILES).unwrap();
    let files: Vec<String> = files.map(|file| file.unwrap().path().to_str().unwrap().to_owned()).collect();
    for file in files.iter().filter(|file| file.ends_with(".json")) {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
        command.args([
            "compare",
            file,
            "--machine",
            "odroid-xu3",
            "--policy",
            "cfs,static,gts,wash,colab",
            "--seeds",
            "1",
        ]);
        let output = command.args(["--format", "json"]).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{file}: {errors}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["runs"].as_array().unwrap().len(), 5 * 2, "{file}");
    }
}
