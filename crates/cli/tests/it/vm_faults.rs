//! What `evenkeel vm` does where QEMU or its file server fails. Both are mocks here (`tests/mock`), so that each failure comes
//! when it should, on every machine.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

/// A cache folder with the mocks in the place of what `scripts/qemu` and `scripts/kernel` fetch.
struct Setting(tempfile::TempDir);

impl Setting {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mock = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mock").join(name);
        let bin = folder.path().join("evenkeel/qemu/usr/bin");
        fs::create_dir_all(&bin).unwrap();
        symlink(mock("qemu"), bin.join("qemu-system-x86_64")).unwrap();
        symlink(mock("virtiofsd"), bin.join("virtiofsd")).unwrap();
        fs::write(folder.path().join("vmlinuz"), "a mock of a kernel").unwrap();
        Self(folder)
    }

    fn command(&self, qemu: &str, virtiofsd: &str, args: &[&str]) -> Command {
        let path = self.0.path();
        let bin = path.join("evenkeel/qemu/usr/bin");
        // The shell that started these tests may ignore signals (`nohup`).
        let mut command = Command::new("env");
        command.arg("--default-signal").arg(assert_cmd::cargo::cargo_bin!("evenkeel")).args(["vm", "--symmetric"]);
        command.args(args).current_dir(path).env("XDG_CACHE_HOME", path).env("EVENKEEL_KERNEL", path.join("vmlinuz"));
        command.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
        command.env("MOCK_QEMU", qemu).env("MOCK_VIRTIOFSD", virtiofsd).env("MOCK_LOG", path.join("log"));
        command
    }

    fn run(&self, qemu: &str, virtiofsd: &str, args: &[&str]) -> (Option<i32>, String) {
        let Output { status, stderr, .. } = self.command(qemu, virtiofsd, args).output().unwrap();
        (status.code(), String::from_utf8_lossy(&stderr).into_owned())
    }

    /// The accelerator of each start, and whether its process is there.
    fn starts(&self) -> Vec<(String, bool)> {
        let log = fs::read_to_string(self.0.path().join("log")).unwrap_or_default();
        let start = |line: &str| {
            let (accelerator, process) = line.split_once(' ').unwrap();
            (accelerator.to_owned(), Path::new("/proc").join(process).exists())
        };
        log.lines().map(start).collect()
    }

    /// Started this often, with this, and nothing of it is left.
    fn ended(&self, starts: usize, accelerator: &str) {
        assert_eq!(self.starts(), vec![(accelerator.to_owned(), false); starts]);
    }
}

const TRUE: [&str; 4] = ["--accel", "tcg", "--", "true"];

/// QEMU pauses a guest whose KVM fails, and stays. That is seen when it happens.
#[test]
fn a_guest_that_qemu_stops_is_an_error_at_once() {
    let setting = Setting::new();
    let (code, errors) = setting.run("kvm-dies", "", &["--accel", "kvm", "--", "true"]);
    assert_eq!(code, Some(125), "{errors}");
    assert!(errors.contains("was stopped by QEMU: KVM internal error. Suberror: 1"), "{errors}");
    setting.ended(1, "kvm");
}

#[test]
fn a_crash_of_qemu_before_the_command_begins_leads_to_another_boot() {
    for when in ["crash-once", "crash-before"] {
        let setting = Setting::new();
        let (code, errors) = setting.run(when, "", &TRUE);
        assert_eq!(code, Some(7), "{when}: {errors}");
        assert!(errors.contains("iotlb_to_section"), "{when}: {errors}");
        assert!(errors.contains("booting it again (2 of 5)"), "{when}: {errors}");
        setting.ended(2, "tcg");
    }
}

#[test]
fn a_qemu_that_always_crashes_is_given_up() {
    let setting = Setting::new();
    let (code, errors) = setting.run("crash", "", &TRUE);
    assert_eq!((code, errors.matches("booting it again").count()), (Some(125), 4), "{errors}");
    assert!(errors.contains("error: the guest ended with a crash of QEMU (signal 6)"), "{errors}");
    setting.ended(5, "tcg");
}

/// A command may have had effects: it does not run twice.
#[test]
fn a_crash_of_qemu_after_the_command_began_is_an_error() {
    let setting = Setting::new();
    let (code, errors) = setting.run("crash-after", "", &TRUE);
    assert_eq!(code, Some(125), "{errors}");
    assert!(errors.contains("crash of QEMU") && errors.contains("start it again"), "{errors}");
    setting.ended(1, "tcg");
}

#[test]
fn what_qemu_and_its_file_server_say_is_passed_on() {
    for (qemu, virtiofsd, expected) in [
        ("no-start", "", "could not load kernel"),
        ("silent", "dies", "has lost its file server, virtiofsd: no such source"),
        ("command-hangs", "dies-later", "has lost its file server, virtiofsd: gone"),
    ] {
        let (code, errors) = Setting::new().run(qemu, virtiofsd, &TRUE);
        assert_eq!(code, Some(125), "{expected}: {errors}");
        assert!(errors.contains(expected), "{errors}");
    }
}

#[test]
fn a_timeout_ends_a_command_as_timeout_does() {
    let setting = Setting::new();
    let args = [&["--timeout", "100ms"], &TRUE[..]].concat();
    let (code, errors) = setting.run("command-hangs", "", &args);
    assert_eq!(code, Some(124), "{errors}");
    setting.ended(1, "tcg");
}

/// In every phase, a signal ends it: sent to Evenkeel, and to its process group as a terminal does, where QEMU gets it, too.
#[test]
fn a_signal_ends_every_phase() {
    for (qemu, virtiofsd, starts) in [("silent", "silent", 0), ("silent", "", 1), ("command-hangs", "", 1)] {
        for to_the_group in [false, true] {
            let setting = Setting::new();
            let mut command = setting.command(qemu, virtiofsd, &TRUE);
            let mut running = command.stderr(Stdio::null()).process_group(0).spawn().unwrap();
            while setting.starts().len() < starts {
                thread::sleep(Duration::from_millis(10));
            }
            // Its handlers are there before QEMU is; where there is none, soon.
            thread::sleep(Duration::from_millis(300));
            let target = format!("{}{}", if to_the_group { "-" } else { "" }, running.id());
            assert!(evenkeel_testing::kill("-INT", &[target]));
            assert_eq!(running.wait().unwrap().code(), Some(130), "{qemu} {virtiofsd} {to_the_group}");
            setting.ended(starts, "tcg");
        }
    }
}

#[test]
fn a_machine_that_qemu_has_not_is_a_mistake() {
    let setting = Setting::new();
    let (code, errors) = setting.run("crash", "", &["-m", "200B56S", "--", "true"]);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("\"200B56S\": a guest has at most 255 cores"), "{errors}");
    setting.ended(0, "tcg");
}

#[test]
fn exit_statuses_are_those_of_env() {
    let setting = Setting::new();
    fs::write(setting.0.path().join("data"), "no program").unwrap();
    for (command, expected, says) in [
        ("no-such-command", 127, "no-such-command: no such command"),
        ("./missing", 127, "./missing: no such file"),
        ("./data", 126, "./data: not executable"),
        ("/tmp", 126, "/tmp"),
    ] {
        let (code, errors) = setting.run("crash", "", &["--", command]);
        assert_eq!(code, Some(expected), "{command}: {errors}");
        assert!(errors.contains(says), "{command}: {errors}");
    }
    setting.ended(0, "tcg");
}
