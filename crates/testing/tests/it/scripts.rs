//! Scripts, with stand-ins for what they call.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use evenkeel_testing::needs::NAMES;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn scripts() -> PathBuf {
    root().join("scripts")
}

/// A checkout with these files only.
pub fn checkout(files: &[&str]) -> tempfile::TempDir {
    let checkout = tempfile::tempdir().unwrap();
    for file in files {
        let copy = checkout.path().join(file);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(root().join(file), copy).unwrap();
    }
    checkout
}

/// A folder of programs, most of them stand-ins.
pub struct Programs(tempfile::TempDir);

impl Programs {
    pub fn none() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// All that `scripts/setup test` looks for but `make`, on a machine without a virtual one. `apt-get` writes down what it
    /// is to do, and installs `make`.
    fn without_make() -> Self {
        let programs = Self::none();
        for name in ["bash", "cat", "dirname", "env", "grep", "head", "id", "sed", "sort"] {
            symlink(which(name), programs.path(name)).unwrap();
        }
        for name in ["cc", "c++", "chromium", "clang", "fish", "javac", "pkg-config", "python3", "zsh"] {
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

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn add(&self, name: &str, line: &str) {
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

    /// A command that sees these, and then those of the machine.
    pub fn before_others(&self, program: &str) -> Command {
        let others = std::env::var_os("PATH").unwrap();
        let folders = std::iter::once(self.0.path().to_owned()).chain(std::env::split_paths(&others));
        let mut command = Command::new(program);
        command.env("PATH", std::env::join_paths(folders).unwrap());
        command
    }

    /// A line of a script that has `scripts/debian.bash`, with this folder's `root` as home.
    fn debian(&self, line: &str) -> Command {
        let mut bash = self.before_others("bash");
        bash.args(["-euo", "pipefail", "-c", &format!(". \"$0\"; {line}")]).arg(scripts().join("debian.bash"));
        bash.env("HOME", self.path("root")).env_remove("XDG_CACHE_HOME");
        bash
    }

    /// `scripts/setup test`, which sees no others.
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

pub fn said(output: &Output) -> (Option<i32>, String) {
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
    let checkout = checkout(&["scripts/setup", "Cargo.toml"]);
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
fn what_apt_does_not_know_is_said() {
    let programs = Programs::without_make();
    let fails = "case $* in *--simulate*) echo 'E: Unable to locate package make' >&2; exit 100 ;; esac";
    programs.add("apt-get", fails);
    let (code, text) = programs.setup(Stdio::null());
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("\nsetup: E: Unable to locate package make\n"), "{text}");
}

#[test]
fn root_by_sudo_has_the_cache_of_the_caller_unless_it_has_one() {
    let programs = Programs::none();
    programs.add("id", "echo 0");
    let users = "[ \"$*\" = 'passwd 1000' ] && echo \"user:x:1000:1000:A user:${0%/*}/user:/bin/sh\"";
    programs.add("getent", users);
    let cache = |home: &str| programs.path(home).join(".cache/evenkeel");
    let found = |caller: &str| said(&programs.debian("echo \"$cache\"").env("SUDO_UID", caller).output().unwrap());
    let is = |home: &str| (Some(0), format!("{}\n", cache(home).display()));
    assert_eq!(found("1000"), is("root"), "neither has anything");
    fs::create_dir_all(cache("user").join("qemu")).unwrap();
    assert_eq!(found("1000"), is("user"));
    assert_eq!(found("1001"), is("root"), "there is no such user");
    fs::create_dir_all(cache("root")).unwrap();
    fs::write(cache("root").join("vmlinuz-7.0"), "").unwrap();
    assert_eq!(found("1000"), is("root"));
}

#[test]
fn a_package_that_was_unpacked_in_part_is_not_there() {
    let programs = Programs::none();
    programs.add("apt-get", "touch a.deb");
    programs.add("dpkg-deb", "exit 2");
    let mut unpack = programs.debian("apt=(); unpack a || echo failed");
    assert_eq!(said(&unpack.current_dir(programs.0.path()).output().unwrap()), (Some(0), "failed\n".to_owned()));
}

#[test]
fn what_cargo_has_built_elsewhere_is_run_from_there() {
    let checkout = checkout(&["scripts/live"]);
    let programs = Programs::none();
    programs.add("id", "echo 0");
    programs.add("evenkeel", "echo \"evenkeel $1\"");
    let built = checkout.path().join("elsewhere/release");
    fs::create_dir_all(&built).unwrap();
    symlink(programs.path("evenkeel"), built.join("evenkeel")).unwrap();
    let mut live = programs.before_others("bash");
    live.arg(checkout.path().join("scripts/live")).env("CARGO_TARGET_DIR", "elsewhere");
    let (code, text) = said(&live.output().unwrap());
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("evenkeel compare\n") && text.contains("evenkeel vm\n"), "{text}");
    let mut make = Command::new("make");
    make.args(["--dry-run", "run", "--directory"]).arg(root()).env("CARGO_TARGET_DIR", "/elsewhere");
    let (_, text) = said(&make.env_remove("MAKEFLAGS").output().unwrap());
    assert!(text.contains("\n/elsewhere/release/evenkeel compare ") && !text.contains("target/release"), "{text}");
}

#[test]
fn a_dry_run_of_the_tests_runs_none() {
    let checkout = checkout(&["Makefile"]);
    let programs = Programs::none();
    programs.add("cargo", "echo \"$*\" >>\"${0%/*}/log\"");
    let mut make = programs.before_others("make");
    make.args(["--dry-run", "test", "--directory"]).arg(checkout.path()).env("HOME", checkout.path());
    let (code, text) = said(&make.env_remove("MAKEFLAGS").output().unwrap());
    assert!(code == Some(0) && text.contains("cargo test --workspace --locked --no-fail-fast"), "{text}");
    assert_eq!(programs.log(), "");
}

#[test]
fn lints_beside_the_tests_look_for_no_job_server() {
    let checkout = checkout(&["Makefile"]);
    let programs = Programs::none();
    programs.add("tally", "exec cat");
    for stub in ["cargo", "python", "setup", "sleep"] {
        programs.add(stub, "");
    }
    fs::create_dir(checkout.path().join("scripts")).unwrap();
    for script in ["python", "setup", "tally"] {
        symlink(programs.path(script), checkout.path().join("scripts").join(script)).unwrap();
    }
    let mut make = programs.before_others("make");
    make.args(["-j2", "test", "--directory"]).arg(checkout.path()).env("HOME", checkout.path());
    let (code, text) = said(&make.env_remove("MAKEFLAGS").env_remove("CARGO_TARGET_DIR").output().unwrap());
    assert!(code == Some(0) && text.contains("== make lint\ncargo fmt --all --check\n"), "{text}");
    assert!(!text.contains("jobserver"), "{text}");
}

#[test]
fn processes_end_that_are_in_a_namespace_of_this_boot() {
    let checkout = checkout(&["scripts/fresh", "scripts/debian.bash"]);
    let programs = Programs::none();
    programs.add("readlink", "[ \"$1\" = \"/proc/$INSIDE/ns/mnt\" ] && echo 'mnt:[1]' || echo 'mnt:[2]'");
    let folder = checkout.path().join("target/fresh");
    let ends = |boot: &str| {
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("namespace"), format!("{boot} mnt:[1]\n")).unwrap();
        let mut inside = Command::new("sleep").arg("60").spawn().unwrap();
        let mut clean = programs.before_others("bash");
        clean.arg(checkout.path().join("scripts/fresh")).arg("--clean").env("INSIDE", inside.id().to_string());
        let cleaned = said(&clean.output().unwrap());
        let ended = inside.try_wait().unwrap().is_some();
        inside.kill().unwrap();
        inside.wait().unwrap();
        assert_eq!(cleaned, (Some(0), String::new()));
        assert!(!folder.exists());
        ended
    };
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert!(ends(boot.trim()));
    assert!(!ends("another"), "it has the number by chance");
}

#[test]
fn a_qemu_that_cannot_run_is_none() {
    let programs = Programs::none();
    programs.add("qemu-system-x86_64", "exit 127");
    let mut qemu = programs.before_others("bash");
    qemu.arg(scripts().join("qemu")).arg("--found").env("XDG_CACHE_HOME", programs.path("cache"));
    // By which system this is, there is something to fetch or not.
    let (code, text) = said(&qemu.output().unwrap());
    assert!(matches!(code, Some(0 | 1)) && text.is_empty(), "{code:?} {text}");
}

#[test]
fn crates_are_listed_of_the_command_and_of_the_python_package() {
    let checkout = checkout(&["scripts/sbom", "Cargo.toml", "crates/cli/Cargo.toml", "crates/python/Cargo.toml"]);
    let tools = checkout.path().join("target/tools/bin");
    fs::create_dir_all(&tools).unwrap();
    let listed = |hashes: &str| {
        let programs = Programs::none();
        programs.add("git", "echo 0");
        programs.add("rustc", "echo host: m68k");
        let of = format!(
            r#"[{{"name": "a", "bom-ref": "registry+a", "version": "1", "licenses": [{{}}], "hashes": {hashes}}}]"#
        );
        let lists = format!(
            "echo '{{\"components\": {of}}}' | tee crates/cli/evenkeel_bin.cdx.json >crates/python/_native_cdylib.cdx.json"
        );
        programs.add("cargo-cyclonedx", &lists);
        let tool = tools.join("cargo-cyclonedx");
        let _ = fs::remove_file(&tool);
        symlink(programs.path("cargo-cyclonedx"), tool).unwrap();
        said(&programs.before_others("bash").arg(checkout.path().join("scripts/sbom")).output().unwrap())
    };
    let version = env!("CARGO_PKG_VERSION");
    let file = |name: &str| format!("out/sbom/{name}-{version}.cdx.json: 1 crates\n");
    assert_eq!(listed("[{}]"), (Some(0), file("evenkeel") + &file("evenkeel-python")));
    assert!(!checkout.path().join("crates/python/_native_cdylib.cdx.json").exists());
    let (code, text) = listed("[]");
    assert!(code == Some(1) && text.ends_with("lacks a version, licence or checksum: a\n"), "{code:?} {text}");
}

#[test]
fn notices_are_also_of_crates_that_no_build_has_fetched() {
    let checkout = checkout(&["scripts/notices"]);
    let programs = Programs::none();
    programs.add("cargo", "[ \"$1\" = fetch ] && touch fetched");
    programs.add("cargo-about", "[ -e fetched ] && echo -----");
    let tools = checkout.path().join("target/tools/bin");
    fs::create_dir_all(&tools).unwrap();
    symlink(programs.path("cargo-about"), tools.join("cargo-about")).unwrap();
    let notices = programs.before_others("bash").arg(checkout.path().join("scripts/notices")).output();
    assert_eq!(said(&notices.unwrap()), (Some(0), "out/notices/NOTICES: 1 texts\n".to_owned()));
}

#[test]
fn fuzzing_of_nothing_does_not_pass() {
    let checkout = checkout(&["fuzz/run"]);
    let programs = Programs::none();
    programs.add("cargo", "[ \"$2\" != list ]");
    let run = programs.before_others("bash").arg(checkout.path().join("fuzz/run")).output();
    assert_eq!(said(&run.unwrap()), (Some(1), String::new()));
    for seconds in ["0", "abc"] {
        let run = programs.before_others("bash").arg(checkout.path().join("fuzz/run")).arg(seconds).output();
        assert_eq!(said(&run.unwrap()), (Some(2), "usage: fuzz/run [SECONDS]\n".to_owned()));
    }
}

#[test]
fn ci_requires_all_that_a_machine_can_be_made_to_have() {
    // By its size, its kernel, time, or files that are not ours.
    let others = [
        "three_cpus",
        "programs_of_32_bits",
        "slow",
        "rt_app_files",
        "library_calls",
        "switched_back",
        "other_kernels",
    ];
    let script = fs::read_to_string(root().join(".ci/run")).unwrap();
    let required = script.lines().find_map(|line| line.strip_prefix("export EVENKEEL_REQUIRE=")).unwrap();
    let mut found: Vec<&str> = required.split(',').chain(others).collect();
    let mut all = NAMES.to_vec();
    found.sort_unstable();
    all.sort_unstable();
    assert_eq!(found, all);
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
    // The one by a signal, the other one in Python.
    let both = "error: test failed, to rerun pass `-p a --lib`\ntest result: FAILED. 9 passed; 1 failed; 0 ignored\n";
    assert_eq!(tally(both), "9 passed, 2 failed, 0 skipped");
    let documentation = "test result: FAILED. 0 passed; 1 failed; 0 ignored\ntest result: ok. 1 passed; 0 failed; 0 ignored\n\
                         error: doctest failed, to rerun pass `-p a --doc`\n";
    assert_eq!(tally(documentation), "1 passed, 1 failed, 0 skipped");
    assert_eq!(tally("error: doctest failed, to rerun pass `--doc`\n"), "0 passed, 1 failed, 0 skipped");
}
