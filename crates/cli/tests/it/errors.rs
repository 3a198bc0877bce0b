//! What is wrong with a request is said in one message on standard error, with exit code 2 and nothing on standard
//! output.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use assert_cmd::Command;
use evenkeel_linux::mask;

pub fn evenkeel(args: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
    command.args(args);
    command
}

/// The message of a command that must fail.
pub fn refused(args: &[&str]) -> String {
    let output = evenkeel(args).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
    assert!(output.stdout.is_empty(), "{args:?} printed a result");
    assert!(!message.contains("panicked"), "{args:?}: {message}");
    message
}

/// A file of this test.
pub fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_string()
}

#[test]
fn unknown_names_get_their_nearest_neighbour() {
    let sim = |workload, machine, policy| refused(&["sim", workload, "--machine", machine, "--policy", policy]);
    assert!(sim("Sync-2", "2B3S", "cfs").contains("unknown machine \"2B3S\": did you mean \"2B2S\"?"));
    let policy = sim("Sync-2", "2B2S", "colba");
    assert!(
        policy.contains("error: unknown policy \"colba\": did you mean \"colab\"?; `evenkeel policies` lists"),
        "{policy}"
    );
    assert!(sim("feret", "2B2S", "cfs").contains("did you mean \"ferret\"?"));
    assert!(sim("ferret:x", "2B2S", "cfs").contains("ferret:x"));
    assert!(refused(&["reproduce", "colba"]).contains("did you mean \"colab\"?"));
    let baseline = ["compare", "Sync-2", "--machine", "2B2S", "--policy", "gts", "--baseline", "cfz"];
    assert!(refused(&baseline).contains("did you mean \"cfs\"?"));
}

#[test]
fn workers_are_shown_no_speedups() {
    assert!(
        refused(&["reproduce", "aaws", "--oracle"]).contains("aaws has workers, which see none; leave out --oracle")
    );
}

#[test]
fn policies_refuse_machines_that_they_cannot_schedule() {
    let why = "policy iks cannot schedule 2B4S: it pairs each little core with a big one, and there are 2 big and 4 little ones";
    assert!(refused(&["sim", "radix", "--machine", "2B4S", "--policy", "iks"]).contains(why));
    assert!(refused(&["compare", "radix", "--machine", "2B2S,2B4S", "--policy", "cfs,iks"]).contains(why));
    // One CPU is a machine of one big core, whatever this machine is.
    let mut run = Command::new("taskset");
    run.args(["-c", "0"]).arg(assert_cmd::cargo::cargo_bin!("evenkeel")).args(["run", "--policy", "iks", "--", "true"]);
    let output = run.output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("policy iks cannot schedule this machine: it pairs"), "{message}");
}

#[test]
fn governors_and_parts_of_machines_are_checked() {
    let sim =
        |machine, governor| refused(&["sim", "radix", "--policy", "cfs", "--machine", machine, "--governor", governor]);
    assert!(sim("2B2S", "shedutil").contains("did you mean \"schedutil\"?"));
    assert!(sim("2B2S", "userspace").contains("userspace:800MHz"));
    assert!(sim("odroid-xu3:5+0", "performance").contains("has 4 big and 4 little cores"));
}

#[test]
fn a_policy_that_must_know_the_future_schedules_no_real_program() {
    for command in [
        &["run", "--policy", "oracle"][..],
        &["vm", "--policy", "oracle"],
        &["emulate", "1B1S:2", "--policy", "oracle"],
    ] {
        let message = refused(&[command, &["--", "true"]].concat());
        assert!(message.contains("policy oracle must know the future, which only the simulator knows"), "{message}");
    }
    assert!(refused(&["vm", "bench", "--policy", "oracle"]).contains("only the simulator"));
}

#[test]
fn a_program_of_ones_own_has_a_name_that_is_free_and_a_command() {
    for (own, expected) in [
        ("app", "expected NAME=COMMAND"),
        ("a+b=true", "expected a name of 1 to 32 letters"),
        ("app= ", "app: expected a command"),
        ("lu=true", "--own lu: a program or mix is named so"),
    ] {
        let message = refused(&["vm", "bench", "--own", own]);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn mistakes_on_the_command_line_exit_with_2() {
    refused(&[]);
    refused(&["smi"]);
    refused(&["sim", "Sync-2", "--machine", "2B2S"]);
    refused(&["compare", "--machine", "2B2S", "--policy", "cfs"]);
    refused(&["compare", "Sync-2", "--machine", "2B2S", "--policy", "cfs", "--seeds", "0"]);
    for (twice, expected) in [
        (&["--policy", "cfs,gts,cfs"][..], "--policy has \"cfs\" twice, as item 1 and as item 3: expected it once"),
        (&["--machine", "2B4S,2B2S", "--policy", "cfs"], "--machine has \"2B2S\" twice, as item 1 and as item 3"),
        (&["--policy", "cfs", "--orders", "declared,declared"], "--orders has \"declared\" twice"),
    ] {
        let message = refused(&[&["compare", "Sync-2", "--machine", "2B2S"], twice].concat());
        assert!(message.contains(expected), "{message}");
    }
    let message = refused(&["compare", "fft", "fft", "--machine", "2B2S", "--policy", "cfs"]);
    assert!(message.contains("the workloads have \"fft\" twice, as item 1 and as item 2"), "{message}");
    for (list, expected) in [
        (&["--policy", ","][..], "--policy has an empty name as item 1: expected a name"),
        (&["--policy", "cfs", "--machine", "4B4S,"], "--machine has an empty name as item 3"),
        (&["--policy", "cfs", ""], "the workloads have an empty name as item 2"),
    ] {
        let message = refused(&[&["compare", "Sync-2", "--machine", "2B2S"], list].concat());
        assert!(message.contains(expected), "{message}");
    }
    let seed = refused(&["sim", "Sync-2", "--machine", "2B2S", "--policy", "cfs", "--seed", "18446744073709551616"]);
    assert!(seed.contains("expected a whole number from 0 to 18446744073709551615"), "{seed}");
    let delay = |delay| refused(&["sim", "Sync-2", "--machine", "2B2S", "--policy", "cfs", "--delay", delay]);
    assert!(delay("500").contains("500us"), "says which unit");
    assert!(delay("-5ms").contains("500us"));
}

#[test]
fn an_argument_that_is_not_utf_8_is_shown() {
    let mut command = evenkeel(&["sim", "--machine", "2B2S", "--policy", "cfs"]);
    let output = command.arg(std::ffi::OsStr::from_bytes(b"caf\xe9.ek")).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains(r#""caf\xE9.ek" is not UTF-8"#), "{message}");
}

#[test]
fn files_are_named_with_the_line_of_the_mistake() {
    let folder = tempfile::tempdir().unwrap();
    let sim = |workload: &str| refused(&["sim", workload, "--machine", "2B2S", "--policy", "cfs"]);
    assert!(sim("./nowhere.json").contains("cannot read ./nowhere.json"));
    assert!(sim(&file(folder.path(), "bad.json", "{\n  \"tasks\": [\n}")).contains("bad.json:3"));
    assert!(sim(&file(folder.path(), "bad.toml", "[[program]\n")).contains("bad.toml:1"));
    let other = file(folder.path(), "other.yaml", "");
    assert!(sim(&other).contains("expected an rt-app file (.json)"));
}

/// What a command prints on standard output and standard error, and that a terminal obeys nothing of it but styles.
fn harmless(command: &mut Command) -> [String; 2] {
    let output = command.env("CLICOLOR_FORCE", "1").output().unwrap();
    [output.stdout, output.stderr].map(|bytes| {
        let text = String::from_utf8(bytes).unwrap();
        for (at, letter) in text.char_indices().filter(|(_, letter)| letter.is_control()) {
            let style = || {
                text[at..]
                    .strip_prefix("\u{1b}[")?
                    .trim_start_matches(|c: char| c.is_ascii_digit() || c == ';')
                    .chars()
                    .next()
            };
            assert!(matches!(letter, '\n' | '\t') || style() == Some('m'), "{text:?}");
        }
        text
    })
}

#[test]
fn a_terminal_obeys_nothing_of_what_a_message_quotes() {
    let said = |args: &[&str]| {
        let [_, styled] = harmless(&mut evenkeel(args));
        assert!(styled.contains("\u{1b}[1m\u{1b}[31merror:\u{1b}[0m "), "{styled:?}");
        // As it is without styles, where nothing may be lost.
        let plain = refused(args);
        assert!(plain.starts_with("error: "), "{plain:?}");
        plain
    };
    let policy = said(&["sim", "Sync-2", "--machine", "2B2S", "--policy", "cf\u{1b}[0ms"]);
    assert!(policy.starts_with(r#"error: unknown policy "cf\u{1b}[0ms": "#), "{policy}");
    let seed = said(&["sim", "Sync-2", "--machine", "2B2S", "--policy", "cfs", "--seed", "\u{1b}[31m1"]);
    assert!(seed.starts_with(r"error: invalid value '\u{1b}[31m1' for '--seed <SEED>'"), "{seed}");
    let command = said(&["si\u{1b}[31mm"]);
    assert!(command.starts_with(r"error: unrecognized subcommand 'si\u{1b}[31mm'"), "{command}");
    let tip = said(&["machines", "\u{1b}[31m"]);
    assert!(tip.starts_with(r"error: unexpected argument '\u{1b}[31m' found"), "{tip}");
    let option = said(&["machines", "--f\u{1b}[0mormat", "json"]);
    assert!(option.starts_with(r"error: unexpected argument '--f\u{1b}[0mormat' found"), "{option}");
    let path = said(&["sim", "./\u{1b}]0;x\u{7}.toml", "--machine", "2B2S", "--policy", "cfs"]);
    assert!(path.contains(r"cannot read ./\u{1b}]0;x\u{7}.toml"), "{path}");
}

#[test]
fn a_terminal_obeys_nothing_of_a_file_s_name() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[[program]]\nname = \"p\"\nphases.x = { ilp = 2.0 }\n[[program.threads]]\nname = \"t\"\ndo = [{ compute = \"1 kinst\" }]\n";
    let path = file(folder.path(), "a\u{1b}[2Jb\u{9b}c.toml", text);
    let args = ["sim", &path, "--machine", "2B2S", "--policy", "cfs"];
    let [table, _] = harmless(&mut evenkeel(&args));
    assert!(table.contains(r"a\u001b[2Jb\u009bc"), "{table}");
    let [json, _] = harmless(evenkeel(&args).args(["--format", "json"]));
    assert!(json.contains(r"a\u001b[2Jb\u009bc"), "the same as JSON has it: {json}");
}

#[test]
fn names_in_files_have_no_control_characters() {
    let folder = tempfile::tempdir().unwrap();
    let machine =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines/2B2S.toml")).unwrap();
    for name in ["name = \"2B2S\"", "name = \"big\"", "core = \"cortex-a57\""] {
        let line = machine.lines().position(|line| line == name).unwrap() + 1;
        let bad = format!("{} = \"a\\u001b[2J\"", name.split(' ').next().unwrap());
        let path = file(folder.path(), "m.toml", &machine.replacen(name, &bad, 1));
        let message = refused(&["sim", "Sync-2", "--policy", "cfs", "--machine", &path]);
        let expected = format!(r#"error: {path}:{line}: "a\u{{1b}}[2J": expected a name without control characters"#);
        assert_eq!(message.trim_end(), expected);
    }
}

#[test]
fn options_for_tasks_need_a_program_that_has_some() {
    let sim =
        |option: &str, value: &str| refused(&["sim", "ferret", "--machine", "2B2S", "--policy", "cfs", option, value]);
    let only = "is for programs made of tasks, and ferret has none; leave out";
    assert!(sim("--tasks", "cats").contains(&format!("a ready queue {only} --tasks")));
    assert!(sim("--main", "big").contains(&format!("a place for the main thread {only} --main")));
    assert!(sim("--tasks", "lifo").contains("fifo, steal, cats, heft"));
}

/// Two threads that take two locks in opposite orders.
const DEADLOCK: &str = r#"{
    "tasks": {
        "one": { "loop": 1, "lock": "a", "sleep": 1000, "lock2": "b", "unlock": "b", "unlock2": "a" },
        "two": { "loop": 1, "lock": "b", "sleep": 1000, "lock2": "a", "unlock": "a", "unlock2": "b" }
    }
}"#;

#[test]
fn runs_that_cannot_end_say_what_they_hang_on() {
    let folder = tempfile::tempdir().unwrap();
    let workload = file(folder.path(), "cross.json", DEADLOCK);
    let message = refused(&["sim", &workload, "--machine", "2B2S", "--policy", "cfs"]);
    assert!(message.contains("deadlock") && message.contains("one") && message.contains("two"), "{message}");
    let short = refused(&["sim", "Sync-2", "--machine", "2B2S", "--policy", "cfs", "--max-time", "1us"]);
    assert!(short.contains("still running after 1.000 us"), "{short}");
}

#[test]
fn machine_files_are_named_with_what_was_expected() {
    let folder = tempfile::tempdir().unwrap();
    let powers = |name: &str, args: &[&str]| {
        let output = evenkeel(args).env("EVENKEEL_POWERS", name).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        message
    };
    for args in [&["topology"][..], &["run", "--", "true"]] {
        let message = powers("/nowhere.toml", args);
        assert!(message.contains("EVENKEEL_POWERS=/nowhere.toml: cannot read /nowhere.toml"), "{message}");
        assert!(message.contains("expected a machine file"), "{message}");
        let message = powers(&file(folder.path(), "board.toml", "cores = 4"), args);
        assert!(message.contains("board.toml:1: "), "{message}");
    }
    let sim = |machine: &str| refused(&["sim", "Sync-2", "--machine", machine, "--policy", "cfs"]);
    assert!(sim("./nowhere.toml").contains("cannot read ./nowhere.toml"));
    assert!(sim(&file(folder.path(), "broken.toml", "name = \n")).contains("broken.toml:1"));
    assert!(sim(&file(folder.path(), "coreless.toml", "name = \"x\"\n")).contains("coreless.toml"));
}

#[test]
fn a_result_that_cannot_be_written_names_the_file() {
    let html = ["compare", "Sync-1", "--machine", "2B2S", "--policy", "cfs", "--html", "/nowhere/page.html"];
    assert!(refused(&html).contains("cannot write /nowhere/page.html"));
    let trace = ["sim", "Sync-1", "--machine", "2B2S", "--policy", "cfs", "--trace", "/nowhere/x.perfetto-trace"];
    assert!(refused(&trace).contains("cannot write /nowhere/x.perfetto-trace"));
}

#[test]
fn choices_of_cores_and_descriptions_of_machines_are_checked() {
    let topology = |args: &[&str]| refused(&[&["topology"], args].concat());
    assert!(topology(&["--big", "0-1023"]).contains("--big: there is no CPU"));
    assert!(topology(&["--big", "0", "--little", "0"]).contains("CPU 0 is both in --big and in --little"));
    assert!(topology(&["--big", "9999c:big"]).contains("such cores are left"));
    assert!(topology(&["--little", "0", "--ratio", "0"]).contains("1 to 100"));
    assert!(topology(&["--save", "/nowhere/x.toml"]).contains("cannot write /nowhere/x.toml"));
    assert!(topology(&["/nowhere.xml"]).contains("cannot read /nowhere.xml"));
    let folder = tempfile::tempdir().unwrap();
    let sim = |machine: &str| refused(&["sim", "Sync-1", "--machine", machine, "--policy", "cfs"]);
    assert!(sim(&file(folder.path(), "page.xml", "<html/>")).contains("page.xml: <html>: expected hwloc's <topology>"));
    assert!(sim(&file(folder.path(), "source.dtb", "/dts-v1/;")).contains("dtc"));
}

/// A file that says what this machine is, for the commands that schedule real threads.
#[test]
fn a_machine_that_is_not_this_one_is_refused() {
    let (usable, online) = (mask::own().unwrap().len(), mask::online().len());
    let sizes = [("2B2S", 4), ("2B4S", 6), ("4B4S", 8)];
    let (other, cores) = sizes.into_iter().find(|(_, cores)| ![usable, online].contains(cores)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let broken = file(folder.path(), "broken.toml", "name = \n");
    for command in ["run", "try", "scx"] {
        let said = |machine: &str| refused(&[command, "--machine", machine, "--", "true"]);
        assert!(said("./nowhere.toml").contains("cannot read ./nowhere.toml"));
        assert!(said(&broken).contains("broken.toml:1"));
        assert!(said("2B3S").contains("unknown machine \"2B3S\": did you mean \"2B2S\"?"));
        let message = said(other);
        let numbers = format!("machine {other} has {cores} cores, but the CPUs that this process may use are ");
        assert!(message.contains(&numbers) && message.contains("`evenkeel topology --save FILE.toml`"), "{message}");
        for beside in ["--big=0", "--little=0", "--ratio=2"] {
            let message = refused(&[command, "--machine", other, beside, "--", "true"]);
            assert!(message.contains("the argument '--machine <MACHINE>' cannot be used with"), "{message}");
        }
    }
    let defaults = file(folder.path(), "defaults.toml", "[run]\nmachine = './nowhere.toml'\n");
    let typed = refused(&["run", "--config", &defaults, "--big", "0-1023", "--", "true"]);
    assert!(typed.contains("--big: there is no CPU"), "what is typed wins: {typed}");
}

/// A run is not lost because its account cannot be written; the status is that of the outputs, as help says.
#[test]
fn results_that_cannot_be_written_are_a_failure_and_not_lost() {
    let output = evenkeel(&["run", "-o", "/dev/full", "--", "sh", "-c", "exit 4"]).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(125), "1 could be the program's own: {message}");
    assert!(message.contains("evenkeel run: pfs") && message.contains("cannot write /dev/full"), "{message}");
    let simulated = ["sim", "ferret:1", "--machine", "2B2S", "--policy", "cfs", "--trace", "/dev/full"];
    let compared = ["compare", "ferret:1", "--machine", "2B2S", "--policy", "cfs", "--html", "/dev/full"];
    for (args, report) in
        [(&["topology", "--save", "/dev/full"][..], "CPU"), (&simulated, "H_ANTT"), (&compared, "H_ANTT")]
    {
        let output = evenkeel(args).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && message.contains("cannot write /dev/full"), "{args:?}: {message}");
        assert!(String::from_utf8(output.stdout).unwrap().contains(report), "{args:?}");
    }
}

/// A name that nothing has, but a file: it is the file that is wrong.
#[test]
fn files_without_a_known_ending_are_named_as_files() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "r.bin", "x");
    for (workload, machine, expected) in [
        ("r.bin", "2B2S", "r.bin: expected an rt-app file"),
        ("ferret", "r.bin", "r.bin:1: "),
        (".", "2B2S", "it is a directory"),
    ] {
        let mut command = evenkeel(&["sim", workload, "--machine", machine, "--policy", "cfs"]);
        let output = command.current_dir(folder.path()).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && message.contains(expected), "{message}");
    }
}

#[test]
fn outputs_do_not_overwrite_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let [one, same] = ["one", "./one"].map(|name| folder.path().join(name).display().to_string());
    let message = refused(&["run", "-o", &one, "--html", &same, "--", "true"]);
    assert!(message.contains("are the same file"), "{message}");
}

#[test]
fn a_closed_or_full_standard_output_is_no_success() {
    for line in ["\"$0\" policies >&-", "\"$0\" policies >/dev/full", "\"$0\" --help >/dev/full", "\"$0\" --help >&-"] {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).arg(assert_cmd::cargo::cargo_bin!("evenkeel"));
        let output = shell.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("cannot write the result"), "{line}");
    }
    assert!(evenkeel(&["--help"]).output().unwrap().status.success());
}

/// Before the machine is taken over.
#[test]
fn figures_that_have_no_place_to_go_to_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let ran = folder.path().join("ran");
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "\"$0\" scx --stats -- touch \"$1\" >&-"])
        .arg(assert_cmd::cargo::cargo_bin!("evenkeel"))
        .arg(&ran);
    let output = shell.output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(message, "error: cannot write the result: standard output is closed\n");
    assert!(output.status.code() == Some(125) && !ran.exists());
}

/// The write fails instead of ending Evenkeel; the program has the signal as ever.
/// An account that cannot be written is not lost silently; a program whose account is not wanted has its own status.
#[test]
fn a_full_standard_error_is_no_success() {
    for (options, status) in [("", 125), ("--format json", 125), ("-q", 4)] {
        let line = format!("\"$0\" run {options} -- sh -c 'exit 4' 2>/dev/full");
        let mut command = Command::new("sh");
        let output = command.arg("-c").arg(&line).arg(assert_cmd::cargo::cargo_bin!("evenkeel")).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{line}");
    }
}

#[test]
fn a_limit_of_file_sizes_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Command::new("bash");
    shell.args(["-c", "ulimit -f 1; exec \"$0\" run -q --html page.html -- true"]);
    let output = shell.arg(assert_cmd::cargo::cargo_bin!("evenkeel")).current_dir(folder.path()).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(125), "{message}");
    assert!(message.contains("cannot write page.html: File too large"), "{message}");
}

#[test]
fn loops_are_split_only_with_the_library_and_in_a_program_that_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let named = |library: &Path| {
        let mut command = evenkeel(&["run", "--openmp", "--", "true"]);
        let output = command.env("EVENKEEL_OMP_LIBRARY", library).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
        String::from_utf8(output.stderr).unwrap()
    };
    let nowhere = folder.path().join("nowhere.so");
    let message = named(&nowhere);
    assert_eq!(message, format!("error: EVENKEEL_OMP_LIBRARY: there is no file {}\n", nowhere.display()));
    let spaced = file(folder.path(), "a b.so", "");
    assert!(named(Path::new(&spaced)).contains("a b.so: the loader takes no path with a space or a colon"));
    let running = refused(&["run", "--openmp", "--pid", "1"]);
    assert!(running.contains("'--openmp' cannot be used with '--pid <PID>'"), "{running}");
}
