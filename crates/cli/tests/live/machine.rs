//! `--machine`: this machine as a file has it.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::process::Command;

use serde_json::Value;

use super::run::{cpus, run};

/// The last CPU is big, whatever this machine says.
#[test(two_cpus)]
fn cores_of_a_file_are_cpus_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("this.toml");
    let file = file.to_str().unwrap();
    let online = evenkeel_linux::mask::online();
    let (usable, last) = (cpus(), online.last().unwrap().to_string());
    let saved = run(&["topology", "--big", &last, "--ratio", "2", "--save", file]);
    assert!(saved.status.success(), "{saved:?}");
    let account = |by: &[&str], on: &str| -> Value {
        let busy = format!("taskset -p -c {on} $$ >/dev/null; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done");
        let program = assert_cmd::cargo::cargo_bin!("evenkeel");
        let mut command = Command::new("env");
        command.args(by).arg(program).args(["run", "--policy", "cfs", "--machine", file, "--format", "json", "--"]);
        let output = command.args(["sh", "-c", &busy]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        serde_json::from_str(&said[said.find('{').unwrap()..]).unwrap()
    };
    let core_types = |account: &Value| account["core_types"].as_array().unwrap().len();
    for cpu in usable.iter().take(2).chain(usable.last()) {
        let whole = account(&[], cpu);
        let expected = if usable.contains(&last) { 2 } else { 1 };
        assert_eq!(core_types(&whole), expected, "{whole}");
        if expected == 2 {
            let [big, little] = [0, 1].map(|kind| whole["run_s"][kind].as_f64().unwrap());
            assert_eq!(*cpu == last, big > little, "CPU {cpu}: {whole}");
        }
        // The rest of the machine is left out.
        let part = account(&["taskset", "-c", cpu], cpu);
        assert_eq!(core_types(&part), 1, "{part}");
        let kind = if *cpu == last { "big" } else { "little" };
        assert_eq!(part["core_types"][0], kind, "{part}");
    }
}
