//! Defaults from a file: what is wrong with one, and how they give way to what is typed.

use std::path::Path;

use assert_cmd::Command;

use crate::errors::{evenkeel, file, refused};

#[test]
fn mistakes_in_a_configuration_are_named_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let with = |text: &str| {
        let path = file(folder.path(), "config.toml", text);
        refused(&["--config", &path, "policies"]).replace(&path, "FILE")
    };
    assert_eq!(
        with("[rum]\npolicy = 'pfs'\n"),
        "error: FILE, [rum]: there is no command \"rum\": did you mean \"run\"?\n"
    );
    assert_eq!(
        with("[run]\npolcy = 'pfs'\n"),
        "error: FILE, [run]: there is no option `polcy`: did you mean \"policy\"?\n"
    );
    assert_eq!(
        with("[vm.bench]\nrepaet = 1\n"),
        "error: FILE, [vm.bench]: there is no option `repaet`: did you mean \"repeat\"?\n"
    );
    assert_eq!(
        with("[vm.bunch]\nrepeat = 1\n"),
        "error: FILE, [vm.bunch]: there is no command \"bunch\": did you mean \"bench\"?\n"
    );
    assert_eq!(
        with("[run.policy]\nname = 'pfs'\n"),
        "error: FILE, [run]: `policy` is { name = \"pfs\" }: expected a text or a number, as on the command line\n"
    );
    assert_eq!(
        with("[vm.bench]\nall = true\nprograms = ['equal']\n"),
        "error: FILE, [vm.bench]: `all` and `programs` exclude each other: expected one of them\n"
    );
    assert_eq!(with("[help]\nx = 1\n"), "error: FILE, [help]: there is no option `x`: this command has none\n");
    assert_eq!(
        with("[compare]\npolicy = []\n"),
        "error: FILE, [compare]: `policy` is an empty list: expected a value\n"
    );
    assert_eq!(with("[run]\nquiet = 1\n"), "error: FILE, [run]: `quiet` is 1: expected true or false\n");
    assert_eq!(with("[run]\npolicy = ['a', 'b']\n"), "error: FILE, [run]: `policy` is a list: expected one value\n");
    assert_eq!(
        with("[run]\npolicy = 1979-05-27\n"),
        "error: FILE, [run]: `policy` is 1979-05-27: expected a text or a number, as on the command line\n"
    );
    assert!(with("policy = 'pfs'\n").contains("FILE: `policy` belongs to no command: expected tables such as [run]"));
    assert_eq!(with("[run\n"), "error: FILE:1:5: unclosed table, expected `]`\n");
    assert_eq!(with("a.x = 1\na.x = 2\n"), "error: FILE:2:3: duplicate key\n");
    assert_eq!(
        with("[compare]\nseeds = 99999999999999999999\n"),
        "error: FILE:2:9: 99999999999999999999: expected a whole number from -2^63 to 2^63 - 1\n"
    );
    assert_eq!(with("[sim]\npolicy = ''\n"), "error: FILE, [sim]: `policy` is empty: expected a value\n");
    assert!(
        refused(&["--config", "/nowhere", "policies"]).starts_with("error: cannot read the configuration /nowhere: ")
    );
    // Never waited for: a pipe that nobody writes to, which stands for all that is no file.
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for place in [pipe.to_str().unwrap(), folder.path().to_str().unwrap(), "/dev/zero"] {
        let expected = format!("error: {place} is no file: expected a configuration in TOML\n");
        assert_eq!(refused(&["--config", place, "policies"]), expected);
    }
    assert_eq!(
        with("[policies]\nformat = 'xml'\n"),
        "error: FILE: invalid value 'xml' for '--format <FORMAT>': expected one of table, json\n"
    );
    let control = with("[policies]\nformat = \"x\\u001b[2J\"\n");
    assert!(control.starts_with(r"error: FILE: invalid value 'x\u{1b}[2J' for"), "{control}");
}

#[test]
fn a_large_configuration_is_refused_at_once_and_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    for (letter, length) in [("\0", 1 << 20), ("[", 1 << 20), ("\"", 1 << 20), ("a", 1 << 20), ("\0", 20_000_000)] {
        let path = file(folder.path(), "config.toml", &letter.repeat(length));
        let mut command = evenkeel(&["--config", &path, "policies"]);
        let output = command.timeout(std::time::Duration::from_secs(20)).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{letter:?}: {message}");
        assert!(message.len() < path.len() + 150 && message.lines().count() == 1, "{letter:?}: {message}");
    }
}

#[test]
fn a_wrong_configuration_that_the_environment_names_is_no_riddle() {
    let folder = tempfile::tempdir().unwrap();
    let said = |text: &str, args: &[&str]| {
        let path = file(folder.path(), "config.toml", text);
        let output = evenkeel(args).env("EVENKEEL_CONFIG", &path).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap().replace(&path, "FILE"))
    };
    let broken = said("[run\n", &["policies"]);
    assert_eq!(broken, (Some(2), "error: EVENKEEL_CONFIG: FILE:1:5: unclosed table, expected `]`\n".into()));
    let (code, value) = said("[policies]\nformat = 'xml'\n", &["policies"]);
    assert!(code == Some(2) && value.starts_with("error: EVENKEEL_CONFIG: FILE: invalid value 'xml'"), "{value}");
    for fine in [&["help", "sim"][..], &["help"], &["completions", "bash"], &["sim", "--help"], &["--version"]] {
        assert_eq!(said("[run\n", fine), (Some(0), String::new()), "{fine:?}");
    }
}

#[test]
fn what_makes_sense_only_with_something_else_is_refused_in_a_configuration_too() {
    let folder = tempfile::tempdir().unwrap();
    let of = |text: &str, args: &[&str]| {
        let path = file(folder.path(), "config.toml", text);
        refused(&[&["--config", &path], args].concat())
    };
    let with = |text: &str| of(text, &["vm", "--", "true"]);
    assert_eq!(
        with("[vm]\nscx = true\n"),
        "error: scx is set, and there is no policy that could schedule: expected --policy as well, or policy beside scx\n"
    );
    assert_eq!(
        with("[vm]\npolicy = 'pfs'\npath = 'kernel'\n"),
        "error: path is set, which is where a policy decides under scx: expected --scx as well, or scx = true beside path\n"
    );
    assert_eq!(
        of("[vm.bench]\npath = 'kernel'\n", &["vm", "bench"]),
        "error: path is set, which is where policies decide under scx: expected --scx as well, or scx = true beside path\n"
    );
    let bare = refused(&["vm", "bench", "--path", "kernel"]);
    assert!(bare.contains("--scx"), "{bare}");
}

#[test]
fn a_change_of_what_a_host_does_shows_nothing() {
    for change in [["--policy", "pfs"], ["--pin", "1=0"]] {
        for show in [["--every", "1s"], ["--sort", "run"], ["--filter", "a"], ["--format", "json"], ["--count", "2"]] {
            let message = refused(&["top", change[0], change[1], show[0], show[1]]);
            let says =
                message.contains("cannot be used with") && message.contains(change[0]) && message.contains(show[0]);
            assert!(says, "{message}");
        }
    }
}

#[test]
fn a_configuration_gives_defaults_which_the_command_line_overrules() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[compare]\npolicy = ['cfs', 'colab']\nmachine = '2B2S'\nformat = 'json'\nseeds = 2\n[policies]\nformat = 'json'\n";
    let path = file(folder.path(), "config.toml", text);
    let stdout = |args: &[&str], variable: &str| {
        let output = evenkeel(args).env("EVENKEEL_CONFIG", variable).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let timeless =
        |text: String| text.lines().filter(|line| !line.contains("\"seconds\"")).collect::<Vec<_>>().join("\n");
    let compared = |args: &[&str], variable: &str| timeless(stdout(args, variable));
    let whole = ["compare", "Sync-2", "--machine", "2B2S", "--policy", "cfs,colab", "--format", "json", "--seeds", "2"];
    let expected = compared(&whole, "");
    assert_eq!(compared(&["compare", "Sync-2", "--config", &path], ""), expected);
    assert_eq!(compared(&["compare", "Sync-2"], &path), expected, "named by the environment");
    let other = compared(&["compare", "Sync-2", "--policy", "cfs,gts"], &path);
    assert!(other.contains("gts") && !other.contains("colab"), "{other}");
    assert!(stdout(&["policies"], &path).starts_with('{'));
    assert!(!stdout(&["policies", "--format", "table"], &path).starts_with('{'));
}

/// A default that conflicts with what is typed gives way, and one that something else needs is there.
#[test]
fn what_is_typed_wins_over_a_default_that_conflicts_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let of = |text: &str, args: &[&str]| {
        let path = file(folder.path(), "config.toml", text);
        refused(&[&["--config", &path], args].concat())
    };
    let all = of("[vm.bench]\nall = true\n", &["vm", "bench", "--programs", "nosuch"]);
    assert!(all.contains("\"nosuch\""), "{all}");
    let both = of("[vm.bench]\nall = true\nprograms = ['equal']\n", &["vm", "bench", "--programs", "nosuch"]);
    assert!(both.contains("\"nosuch\""), "what is typed excludes the one, and stands for the other: {both}");
    let not_all = of("[vm.bench]\nall = false\nprograms = ['nosuch']\n", &["vm", "bench"]);
    assert!(not_all.contains("\"nosuch\""), "{not_all}");
    let pin = of("[top]\npolicy = 'colab'\n", &["top", "1", "--pin", "1=x"]);
    assert!(pin.contains("--pin"), "{pin}");
    let kernel = of("[vm]\npolicy = 'pfs'\n", &["vm", "--scx", "--path", "kernel", "--kernel", "/no", "--", "true"]);
    assert!(kernel.starts_with("error: /no: no such kernel"), "{kernel}");
    let path = of("[vm]\nscx = true\npolicy = 'pfs'\n", &["vm", "--path", "kernel", "--kernel", "/no", "--", "true"]);
    assert!(path.starts_with("error: /no: no such kernel"), "{path}");
    let cores = of("[emulate]\nbig = '0'\nlittle = '0'\n", &["emulate", "--", "true"]);
    assert!(!cores.contains("MACHINE is missing") && !cores.contains("required"), "{cores}");
    let none = refused(&["emulate", "--", "true"]);
    assert_eq!(none, "error: MACHINE is missing: expected one such as 2B2L:3, or --big and --little\n");
}

/// By whatever name it is known.
#[test]
fn the_file_that_defaults_come_from_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let defaults = file(folder.path(), "defaults.toml", "[sim]\nseed = 1\n");
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&defaults, &link).unwrap();
    for page in [Path::new(&defaults), &link] {
        let mut command = evenkeel(&["sim", "blackscholes", "--machine", "2B2S", "--policy", "cfs", "--html"]);
        let output = command.arg(page).env("EVENKEEL_CONFIG", &defaults).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("the defaults of options are read from it"), "{said}");
    }
    assert_eq!(std::fs::read_to_string(&defaults).unwrap(), "[sim]\nseed = 1\n");
}

#[test]
fn what_a_default_or_a_variable_has_a_command_read_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let board = file(folder.path(), "board.toml", "of mine");
    let defaults = file(folder.path(), "defaults.toml", &format!("[compare]\nmachine = [{board:?}]\n"));
    let before = std::fs::read(&board).unwrap();
    let refused = |command: &mut Command, says: &str| {
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(says), "{said}");
        assert_eq!(std::fs::read(&board).unwrap(), before);
    };
    let compare = ["compare", "blackscholes", "--policy", "cfs", "--html", &board];
    refused(evenkeel(&compare).env("EVENKEEL_CONFIG", &defaults), "it is named twice");
    refused(evenkeel(&["topology", "--save", &board]).env("EVENKEEL_POWERS", &board), "EVENKEEL_POWERS names it");
}
