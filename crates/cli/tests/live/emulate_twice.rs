//! Two emulations with frequencies that can be set, at the same time: each has files of its own, and removes these alone.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

/// An emulation whose command is a shell that does what it is told.
struct Session {
    evenkeel: Child,
    shell: ChildStdin,
    said: BufReader<ChildStdout>,
    root: PathBuf,
    account: PathBuf,
}

impl Session {
    fn start(machine: &[&str], account: PathBuf) -> Self {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
        command.arg("emulate").args(machine).args(["--dvfs", "--format", "json", "-o"]).arg(&account);
        let errors = File::create(account.with_extension("err")).unwrap();
        let pipes = command.args(["--", "sh"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut evenkeel = pipes.spawn().unwrap();
        let (shell, said) = (evenkeel.stdin.take().unwrap(), BufReader::new(evenkeel.stdout.take().unwrap()));
        let mut session = Self { evenkeel, shell, said, root: PathBuf::new(), account };
        session.root = session.line("echo $EVENKEEL_SYSFS").into();
        assert!(session.root.is_absolute(), "the emulation does not start");
        session
    }

    /// What a command of one line prints.
    fn line(&mut self, command: &str) -> String {
        writeln!(self.shell, "{command}").unwrap();
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn cpufreq(&self, cpu: u16) -> PathBuf {
        self.root.join(format!("sys/devices/system/cpu/cpu{cpu}/cpufreq"))
    }

    /// What the files of a CPU say: the frequency that was written, and the one that it has.
    fn khz(&self, cpu: u16) -> [String; 2] {
        ["scaling_setspeed", "scaling_cur_freq"]
            .map(|file| fs::read_to_string(self.cpufreq(cpu).join(file)).unwrap().trim().to_owned())
    }

    /// Sets a frequency, and waits until the CPU has it.
    fn set(&mut self, cpu: u16, khz: u64) {
        let folder = self.cpufreq(cpu);
        let command = format!(
            "cd {} && echo {khz} > scaling_setspeed && while [ \"$(cat scaling_cur_freq)\" != {khz} ]; do :; done; echo set",
            folder.display()
        );
        assert_eq!(self.line(&command), "set");
    }

    /// Ends the command, and returns how often the frequency of each CPU was changed.
    fn finish(self) -> Vec<u64> {
        let Self { mut evenkeel, shell, root, account, .. } = self;
        drop(shell);
        assert!(evenkeel.wait().unwrap().success());
        assert!(!root.exists(), "{}", root.display());
        let account: Value = serde_json::from_slice(&fs::read(account).unwrap()).unwrap();
        account["clocks"].as_array().unwrap().iter().map(|clock| clock["changes"].as_u64().unwrap()).collect()
    }

    /// Kills Evenkeel, which leaves its files; what it started ends.
    fn kill(self) -> PathBuf {
        let Self { mut evenkeel, shell, root, .. } = self;
        evenkeel.kill().unwrap();
        evenkeel.wait().unwrap();
        drop(shell);
        root
    }
}

const NOMINAL: &str = "333000";

/// The first two CPUs that can be emulated.
fn cpus(folder: &Path) -> [u16; 2] {
    let session = Session::start(&["1B1L"], folder.join("cpus.json"));
    let cpus = fs::read_to_string(session.root.join("sys/devices/system/cpu/online")).unwrap();
    session.finish();
    let cpus = evenkeel_topology::list::parse(&cpus).unwrap();
    [cpus[0], cpus[1]]
}

#[test(emulation)]
fn what_is_written_in_one_changes_nothing_in_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let account = |name: &str| folder.path().join(name);
    let [big, little] = cpus(folder.path());
    // On the same CPUs.
    let mut one = Session::start(&["1B1L"], account("one.json"));
    let mut other = Session::start(&["1B1L"], account("other.json"));
    assert_ne!(one.root, other.root);
    one.set(big, 111_600);
    assert_eq!([one.khz(big), one.khz(little)], [["111600"; 2], [NOMINAL; 2]]);
    assert_eq!([other.khz(big), other.khz(little)], [[NOMINAL; 2], [NOMINAL; 2]]);
    other.set(little, 554_400);
    assert_eq!(one.khz(little), [NOMINAL; 2]);
    assert_eq!(one.finish(), [1, 0]);
    // The other continues.
    other.set(big, 222_300);
    assert_eq!(other.khz(little), ["554400"; 2]);
    assert_eq!(other.finish(), [1, 1]);
}

/// Each slows the other's cores down, so that speeds and powers are of neither.
#[test(emulation)]
fn two_on_the_same_cpus_say_that_their_figures_are_of_neither() {
    let folder = tempfile::tempdir().unwrap();
    let start = |name: &str| Session::start(&["1B1L"], folder.path().join(name));
    let (mut one, other) = (start("one.json"), start("other.json"));
    let process = other.evenkeel.id();
    assert_eq!(one.line("echo here"), "here");
    one.finish();
    other.finish();
    let said = fs::read_to_string(folder.path().join("one.err")).unwrap();
    let why = format!("slowed down by another `evenkeel emulate` as well (process {process})");
    assert!(
        said.contains(&why) && said.contains("its speed, energy and power are not those of this machine"),
        "{said}"
    );
}

/// It may not use SCHED_FIFO, so that it slows nothing down.
#[test(emulation)]
fn one_that_is_refused_spoils_no_figures() {
    let folder = tempfile::tempdir().unwrap();
    let one = Session::start(&["1B1L"], folder.path().join("one.json"));
    // Root loses the privilege with the bounding set.
    let line = "ulimit -r 0; [ $(id -u) != 0 ] || by='setpriv --bounding-set=-sys_nice'; \
                exec $by \"$0\" emulate 1B1L -- true";
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", line]).arg(assert_cmd::cargo::cargo_bin!("evenkeel")).output().unwrap();
    let refusal = String::from_utf8(output.stderr).unwrap();
    assert!(refusal.contains("may not use SCHED_FIFO"), "{refusal}");
    one.finish();
    let said = fs::read_to_string(folder.path().join("one.err")).unwrap();
    assert!(!said.contains("another `evenkeel emulate`"), "{said}");
}

#[test(emulation)]
fn each_has_only_its_own_cpus() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = cpus(folder.path());
    let on = |cpu: u16| {
        let cpu = cpu.to_string();
        Session::start(&["--big", &cpu, "--little", ""], folder.path().join(format!("{cpu}.json")))
    };
    let (mut one, mut other) = (on(first), on(second));
    one.set(first, 554_400);
    other.set(second, 111_600);
    assert_eq!([one.khz(first), other.khz(second)], [["554400"; 2], ["111600"; 2]]);
    assert!(!one.cpufreq(second).exists() && !other.cpufreq(first).exists());
    assert_eq!((one.finish(), other.finish()), (vec![1], vec![1]));
}

/// The machine is one CPU of several; the command starts a process that outlives it.
#[test(emulation)]
fn what_outlives_the_command_may_use_every_cpu_again() {
    let folder = tempfile::tempdir().unwrap();
    let [first, _] = cpus(folder.path());
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
    command.args(["emulate", "--dvfs", "--quiet", "--big", &first.to_string(), "--little", ""]);
    let script = "sleep 60 >/dev/null 2>&1 & echo $!; grep Cpus_allowed_list /proc/$!/status";
    let output = command.args(["--", "sh", "-c", script]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let mut lines = said.lines();
    let process = lines.next().unwrap().to_owned();
    assert_eq!(lines.next().unwrap().split_whitespace().nth(1), Some(&*first.to_string()), "{said}");
    let now = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    Command::new("kill").arg(&process).status().unwrap();
    let own = fs::read_to_string("/proc/self/status").unwrap();
    let allowed = |text: &str| text.lines().find(|line| line.starts_with("Cpus_allowed_list")).map(str::to_owned);
    assert_eq!(allowed(&now), allowed(&own));
}

#[test(emulation)]
fn one_that_is_killed_leaves_its_files_to_the_next_and_the_other_alone() {
    let folder = tempfile::tempdir().unwrap();
    let start = |name: &str| Session::start(&["1B1L"], folder.path().join(name));
    let [big, _] = cpus(folder.path());
    let (killed, mut other) = (start("killed.json"), start("other.json"));
    let left = killed.kill();
    assert!(left.exists(), "{}", left.display());
    other.set(big, 111_600);
    let next = start("next.json");
    assert!(!left.exists() && other.root.exists(), "{}", left.display());
    assert_eq!(other.khz(big), ["111600"; 2]);
    other.set(big, 554_400);
    assert_eq!((other.finish(), next.finish()), (vec![2, 0], vec![0, 0]));
}
