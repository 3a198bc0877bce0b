//! The help texts, which `docs/commands.md` repeats word for word. `SNAPSHOTS=overwrite cargo test` rewrites the page.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::process::Command;

use snapbox::{assert_data_eq, file};

const COMMANDS: [&str; 21] = [
    "machines",
    "policies",
    "workloads",
    "sim",
    "compare",
    "sweep",
    "merge",
    "reproduce",
    "train",
    "topology",
    "run",
    "try",
    "scx",
    "top",
    "record",
    "emulate",
    "vm",
    "vm bench",
    "help",
    "completions",
    "man",
];

fn help(args: &[&str]) -> String {
    let output = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"))
        .args(args)
        .arg("--help")
        .env_remove("COLUMNS")
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_command_reference_is_what_help_prints() {
    let mut page = String::from(
        "# Commands\n\nWhat `evenkeel COMMAND --help` prints. A test keeps this page and the help the same.\n\
         Fields of `--format json`: [json.md](json.md).\n\n## evenkeel\n\n",
    );
    page += &format!("```text\n{}```\n", help(&[]));
    for command in COMMANDS {
        page += &format!("\n## evenkeel {command}\n\n");
        page += &format!("```text\n{}```\n", help(&command.split(' ').collect::<Vec<_>>()));
    }
    assert_data_eq!(page, file!["../../../../docs/commands.md"].raw());
}

#[test]
fn every_command_shows_an_example_of_itself() {
    for command in COMMANDS {
        let help = help(&command.split(' ').collect::<Vec<_>>());
        assert!(help.contains("Examples:") && help.matches(&format!("evenkeel {command}")).count() >= 2, "{command}");
    }
}
