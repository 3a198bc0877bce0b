//! Completions, manual pages and topics, by the programs that read them; other shells than bash are in `tests/live`.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;
use std::process::{Command, Output};

use evenkeel_sched::policy::POLICIES;

fn evenkeel(args: &[&str]) -> Output {
    Command::new(assert_cmd::cargo::cargo_bin!("evenkeel")).args(args).output().unwrap()
}

fn stdout(args: &[&str]) -> String {
    let output = evenkeel(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// As bash asks for them when someone presses the tabulator.
#[test]
fn bash_completes_commands_options_and_their_values() {
    let script = stdout(&["completions", "bash"]);
    let completed = |words: &[&str]| {
        let last = words.len() - 1;
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let ask = format!(
            "{script}\nCOMP_WORDS=({})\nCOMP_CWORD={last}\n_evenkeel evenkeel '{}' '{}'\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
            quoted.join(" "),
            words[last],
            words[last - 1]
        );
        let output = Command::new("bash").args(["--norc", "-c", &ask]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = String::from_utf8(output.stdout).unwrap();
        lines.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(completed(&["evenkeel", "sw"]), ["sweep"]);
    assert_eq!(completed(&["evenkeel", "sweep", "--sh"]), ["--shard"]);
    assert_eq!(completed(&["evenkeel", "sim", "--format", "j"]), ["json"]);
    assert_eq!(completed(&["evenkeel", "sim", "--policy", "cola"]), ["colab"]);
    assert_eq!(completed(&["evenkeel", "sim", "--machine", "rk"]), ["rk3588"]);
    assert_eq!(completed(&["evenkeel", "sim", "Sync-2"]), ["Sync-2"]);
    assert_eq!(completed(&["evenkeel", "help", "swe"]), ["sweep", "sweeps"]);
    assert_eq!(completed(&["evenkeel", "reproduce", "col"]), ["colab"]);
    assert_eq!(completed(&["evenkeel", "vm", "bench", "--policy", "cola"]), ["colab"]);
    assert_eq!(completed(&["evenkeel", "--ver"]), ["--version"]);
    // What a command refuses is not offered: real threads have no known future, and a real machine is so many cores.
    assert_eq!(completed(&["evenkeel", "sim", "--policy", "orac"]), ["oracle"]);
    for command in [&["run"][..], &["try"], &["scx"], &["top"], &["vm"], &["vm", "bench"], &["emulate"]] {
        let offered = completed(&[&["evenkeel"], command, &["--policy", "orac"]].concat());
        assert!(offered.is_empty(), "{command:?}: {offered:?}");
    }
    for machine in [&["emulate"][..], &["vm", "--machine"], &["vm", "bench", "--machine"]] {
        let offered = completed(&[&["evenkeel"], machine, &["apple"]].concat());
        assert!(offered.is_empty(), "{machine:?}: {offered:?}");
    }
    // What is for Evenkeel's own use is not offered.
    assert!(completed(&["evenkeel", "g"]).is_empty());
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("man1");
    stdout(&["man", folder.to_str().unwrap()]);
    let mut names: Vec<_> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let listed = |words: &[&str]| -> Vec<String> {
        let help = stdout(&[words, &["--help"]].concat());
        let (_, list) = help.split_once("\nCommands:\n").unwrap_or_default();
        let first = list.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
        first.map(str::to_owned).collect()
    };
    let mut expected = vec!["evenkeel.1".to_owned()];
    for command in listed(&[]) {
        expected.extend(listed(&[command.as_str()]).iter().map(|within| format!("evenkeel-{command}-{within}.1")));
        expected.push(format!("evenkeel-{command}.1"));
    }
    expected.sort();
    assert_eq!(names, expected, "those that the help lists, and no others");
    let page = fs::read_to_string(folder.join("evenkeel-sweep.1")).unwrap();
    assert!(page.contains(".TH evenkeel\\-sweep 1") || page.contains(".TH evenkeel-sweep 1"), "{page}");
    assert!(page.contains("Examples") && page.contains("shard"), "{page}");
    let output = evenkeel(&["man", "/proc/nowhere"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.contains("cannot make /proc/nowhere"), "{said}");
}

#[test]
fn help_knows_commands_and_pages() {
    let all = stdout(&["help"]);
    assert!(all.contains("Start here:") && all.contains("Pages of the guide") && all.contains("sweeps"), "{all}");
    assert_eq!(stdout(&["help", "sweep"]), stdout(&["sweep", "--help"]));
    assert!(stdout(&["help", "sweeps"]).starts_with("# Sweeps"));
    // A command and a page of one name are one topic.
    let both = stdout(&["help", "machines"]);
    assert!(both.contains("Usage: evenkeel machines") && both.contains("# Machines"), "{both}");
    // Each policy has a section, and a page may have several.
    for policy in POLICIES {
        let section = stdout(&["help", policy.name]);
        let heading = section.lines().next().unwrap().trim_start_matches('#').trim_start();
        assert!(heading == policy.name && section.contains("**Decides**"), "{section}");
        assert_eq!(section.matches("**Decides**").count(), 1, "{section}");
        assert!(!section.contains("<!--"), "{section}");
    }
    // Where a generator wrote its part concerns no reader.
    for page in ["complaints", "reproductions"] {
        let text = stdout(&["help", page]);
        assert!(text.contains("**") && !text.contains("<!--"), "{text}");
    }
    let nothing = String::from_utf8(evenkeel(&["help", ""]).stderr).unwrap();
    let (_, known) = nothing.trim_end().split_once("known are ").unwrap();
    let mut names: Vec<&str> = known.split(", ").collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert!(names.len() == all && names.contains(&"run") && names.contains(&"sweeps"), "{nothing}");
    let output = evenkeel(&["help", "sweps"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() == Some(2) && said.contains("unknown topic \"sweps\": did you mean \"sweeps\"?"),
        "{said}"
    );
}
