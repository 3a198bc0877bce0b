//! `scripts/setup` and `scripts/tally`, with stand-ins for what they call.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts")
}

/// A folder of programs, the only ones that a script sees.
struct Programs(tempfile::TempDir);

impl Programs {
    /// All that `scripts/setup test` looks for but `make`, on a machine without a virtual one. `apt-get` writes down what it
    /// is to do, and installs `make`.
    fn without_make() -> Self {
        let programs = Self(tempfile::tempdir().unwrap());
        for name in ["bash", "cat", "dirname", "env", "grep", "head", "id", "sed", "sort"] {
            symlink(which(name), programs.path(name)).unwrap();
        }
        for name in ["cc", "c++", "chromium", "clang", "javac", "pkg-config", "python3"] {
            programs.add(name, "");
        }
        programs.add("cargo", "echo cargo 1.999.0");
        programs.add("uname", "echo m68k");
        programs.add("sudo", "[ \"$1\" != -n ] || shift; exec \"$@\"");
        programs.add("apt-cache", "");
        programs.add("dpkg-query", "");
        let install = "case $* in *--simulate*) ;; *install*) echo \"$*\" >>\"${0%/*}/log\"; echo '#!/bin/sh' \
                       >\"${0%/*}/make\"; chmod +x \"${0%/*}/make\" ;; esac";
        symlink(which("chmod"), programs.path("chmod")).unwrap();
        programs.add("apt-get", install);
        programs
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn add(&self, name: &str, line: &str) {
        let path = self.path(name);
        fs::write(&path, format!("#!{}\n{line}\n", which("bash").display())).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The log says what was to be installed. Tools are noted as cargo notes them, below the folder that it is given.
    fn without_tools() -> Self {
        let programs = Self::without_make();
        for name in ["make", "dh", "dpkg-buildpackage", "lintian"] {
            programs.add(name, "");
        }
        symlink(which("mkdir"), programs.path("mkdir")).unwrap();
        let install = "if [ \"$1\" = install ]; then echo \"$*\" >>\"${0%/*}/log\"; mkdir -p \"$5\"; \
                       echo \"\\\"${6%@*} ${6#*@} (elsewhere)\\\" = []\" >>\"$5/.crates.toml\"; fi; echo cargo 1.999.0";
        programs.add("cargo", install);
        programs
    }

    fn setup(&self, input: Stdio) -> (Option<i32>, String) {
        self.setup_for("test", &scripts().join("setup"), input)
    }

    fn setup_for(&self, job: &str, script: &Path, input: Stdio) -> (Option<i32>, String) {
        let mut command = Command::new(which("bash"));
        command.arg(script).arg(job).stdin(input);
        command.env_clear().env("PATH", self.0.path()).env("HOME", self.0.path());
        said(&command.output().unwrap())
    }

    /// What was to be installed.
    fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }
}

/// Where this machine has a program.
fn which(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.exists()).unwrap()
}

fn said(output: &Output) -> (Option<i32>, String) {
    let text = [&output.stdout[..], &output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn without_a_terminal_what_is_missing_is_installed_and_named() {
    let programs = Programs::without_make();
    let (code, text) = programs.setup(Stdio::null());
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("make, which builds libbpf") && text.contains("From apt: make"), "{text}");
    assert!(programs.log().ends_with(" make\n"), "{}", programs.log());
    let (code, text) = programs.setup(Stdio::null());
    assert_eq!((code, text.as_str()), (Some(0), ""), "with all of it there is nothing to say");
}

#[test]
fn what_checks_a_release_is_installed_below_the_checkout_once() {
    let checkout = tempfile::tempdir().unwrap();
    fs::create_dir(checkout.path().join("scripts")).unwrap();
    for file in ["scripts/setup", "Cargo.toml"] {
        fs::copy(scripts().join("..").join(file), checkout.path().join(file)).unwrap();
    }
    let setup = checkout.path().join("scripts/setup");
    let programs = Programs::without_tools();
    let (code, text) = programs.setup_for("release", &setup, Stdio::null());
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("By cargo, into target/tools: cargo-deny@"), "{text}");
    let log = programs.log();
    let tools = fs::canonicalize(checkout.path()).unwrap().join("target/tools");
    assert!(log.lines().all(|line| line.contains(&format!("--root {} cargo-", tools.display()))), "{log}");
    assert!(log.contains(" cargo-about@") && log.contains("--features cli"), "{log}");
    // One that is older than what is needed is replaced, and no other.
    let noted = tools.join(".crates.toml");
    let old = fs::read_to_string(&noted).unwrap().replace("\"cargo-deny 0", "\"cargo-deny 00");
    fs::write(noted, old).unwrap();
    let (code, text) = programs.setup_for("release", &setup, Stdio::null());
    assert!(code == Some(0) && text.contains("into target/tools: cargo-deny@") && !text.contains("about"), "{text}");
    let (code, text) = programs.setup_for("release", &setup, Stdio::null());
    assert_eq!((code, text.as_str()), (Some(0), ""), "with all of it there is nothing to say");
}

#[test]
fn on_a_terminal_nothing_is_installed_against_a_no() {
    for (answer, expected) in [("n\n", 1), ("\n", 0)] {
        let programs = Programs::without_make();
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, vec![]).unwrap();
        let input = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        File::from(terminal.try_clone().unwrap()).write_all(answer.as_bytes()).unwrap();
        let (code, text) = programs.setup(input.into());
        assert_eq!(code, Some(expected), "{text}");
        assert_eq!(programs.log().is_empty(), expected == 1, "{text}");
    }
}

/// What `scripts/tally` makes of what `cargo test` prints, below that.
fn tally(text: &str) -> String {
    let mut command = Command::new(scripts().join("tally"));
    let mut running = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    running.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = running.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().strip_prefix(text).unwrap().trim().to_owned()
}

#[test]
fn what_was_not_run_is_not_counted_as_passed() {
    let passed = "test a ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
    assert_eq!(tally(passed), "1 passed, 0 failed, 0 skipped");
    let skipped = "test m::a ... ignored, needs ebpf: no types\ntest b ... ok\n\
                   test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n";
    let reason = "Not run:\n  m::a: needs ebpf: no types\n\n";
    assert_eq!(tally(skipped), format!("{reason}1 passed, 0 failed, 1 skipped"));
    // A harness of its own, which writes results below each other.
    let aligned = "test m::a          ... ignored (needs ebpf: no types)\ntest m::ignored ... ok\n\
                   test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n";
    assert_eq!(tally(aligned), format!("{reason}1 passed, 0 failed, 1 skipped"));
    // The compiler's harness calls it passed.
    let told = "test b ... test m::a ... ignored, needs ebpf: no types\nok\ntest m::a ... ok\n\
                test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
    assert_eq!(tally(told), format!("{reason}1 passed, 0 failed, 1 skipped"));
    assert_eq!(tally(&[told, passed, skipped].concat()).lines().last(), Some("3 passed, 0 failed, 2 skipped"));
}

#[test]
fn what_ended_without_a_result_is_a_failure() {
    let failed = "test a ... FAILED\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n\
                  error: test failed, to rerun pass `--lib`\n";
    assert_eq!(tally(failed), "0 passed, 1 failed, 0 skipped");
    assert_eq!(tally("running 2 tests\nerror: test failed, to rerun pass `--lib`\n"), "0 passed, 1 failed, 0 skipped");
    assert_eq!(tally("error: could not compile `x` (lib)\n"), "0 passed, 1 failed, 0 skipped");
}
