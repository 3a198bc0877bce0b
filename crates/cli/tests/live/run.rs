//! `evenkeel run` with real programs: their status and streams are their own, and whatever happens to Evenkeel, no
//! affinity mask stays changed.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

pub(super) fn evenkeel(args: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
    command.args(args);
    command
}

/// The same, ignoring no signal, even if these tests were started by something that does: `nohup`, or a shell's `&`.
pub(super) fn evenkeel_that_hears(args: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal").arg(assert_cmd::cargo::cargo_bin!("evenkeel")).args(args);
    command
}

pub(super) fn run(args: &[&str]) -> Output {
    evenkeel(args).output().unwrap()
}

/// A C program.
pub(super) fn compiled(folder: &std::path::Path, text: &str) -> std::path::PathBuf {
    let (source, program) = (folder.join("program.c"), folder.join("program"));
    fs::write(&source, text).unwrap();
    assert!(Command::new("cc").args(["-pthread", "-o"]).args([&program, &source]).status().unwrap().success());
    program
}

/// A shell whose child processes are busy, and which writes its own process number first. The limit ends them if the test is killed.
const BUSY: &str = "ulimit -t 120; echo $$; for i in 1 2 3; do sh -c 'while :; do :; done' & done; wait";

/// The mask of a process.
pub(super) fn mask(process: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("Cpus_allowed_list:"))?;
    Some(line.split_whitespace().nth(1)?.to_owned())
}

/// Waits for something that must happen, on however slow a machine.
pub(super) fn eventually(what: &str, mut happens: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if happens() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{what} did not happen");
}

/// The names of the CPUs that these tests may use.
pub(super) fn cpus() -> Vec<String> {
    let set = mask("self").unwrap();
    let ranges = set.split(',').map(|range| range.split_once('-').unwrap_or((range, range)));
    ranges
        .flat_map(|(from, to)| from.parse::<u32>().unwrap()..=to.parse::<u32>().unwrap())
        .map(|cpu| cpu.to_string())
        .collect()
}

/// [`BUSY`] under Evenkeel. All of it is killed at the end of the test.
pub(super) struct Busy {
    pub(super) evenkeel: Child,
    /// The shell and its children.
    pub(super) processes: Vec<String>,
}

impl Busy {
    pub(super) fn start(args: &[&str]) -> Self {
        Self::start_by(&[], args)
    }

    /// The same, with Evenkeel started by some words.
    pub(super) fn start_by(by: &[&str], args: &[&str]) -> Self {
        let own = evenkeel(args);
        let mut words = by.iter().map(std::ffi::OsStr::new).chain([own.get_program()]).chain(own.get_args());
        let mut command = Command::new(words.next().unwrap());
        command.args(words).args(["--", "sh", "-c", BUSY]);
        let mut evenkeel = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(evenkeel.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let shell = line.trim();
        let mut processes = Vec::new();
        eventually("the start of all processes", || {
            let children = fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
            processes = std::iter::once(shell).chain(children.split_whitespace()).map(str::to_owned).collect();
            processes.len() == 4
        });
        Self { evenkeel, processes }
    }

    pub(super) fn masks(&self) -> Vec<String> {
        self.processes.iter().filter_map(|process| mask(process)).collect()
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let state = self.evenkeel.try_wait();
            let evenkeel = fs::read_to_string(format!("/proc/{}/stat", self.evenkeel.id()));
            eprintln!("{:?} may use {:?}; Evenkeel: {state:?}, {evenkeel:?}", self.processes, self.masks());
        }
        let _ = self.evenkeel.kill();
        evenkeel_testing::kill("-9", &self.processes);
        let _ = self.evenkeel.wait();
    }
}

#[test]
fn status_and_streams_are_the_programs() {
    let output = run(&["run", "-q", "--", "sh", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
    assert_eq!(run(&["run", "-q", "--", "sh", "-c", "kill -9 $$"]).status.code(), Some(137));
}

#[test]
fn what_cannot_be_started_is_an_error_of_the_request() {
    let output = run(&["run", "--big", "0-9999", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    for period in ["0", "0s", "100us", "1h", "500 years"] {
        let output = run(&["run", "--period", period, "--", "echo", "started"]);
        assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{period}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("expected 1.000 ms to 10.000 s"), "{output:?}");
    }
    // One more than the highest number that Linux gives.
    let output = run(&["run", "--pid", "4194304"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no process 4194304"));
}

/// As `env` and `timeout` have them.
#[test(two_cpus)]
fn what_cannot_be_started_has_the_exit_code_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let [text, recording] = ["text", "app.ek"].map(|name| folder.path().join(name).display().to_string());
    fs::write(&text, "no program").unwrap();
    let place = folder.path().display().to_string();
    for words in [&["run"][..], &["record", "-o", &recording], &["emulate", "1B1L:2"]] {
        for (program, code, expected) in [
            ("no-such-command", 127, "no-such-command: no such command"),
            ("/no/such/command", 127, "/no/such/command: no such file"),
            (&text, 126, "not executable"),
            (&place, 126, "this is a directory"),
            (&format!("{text}/x"), 126, "Not a directory"),
            ("", 127, "the name of the command is empty"),
        ] {
            let output = run(&[words, &["--", program]].concat());
            let message = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.code() == Some(code) && message.contains(expected),
                "{words:?} {program}: {output:?}"
            );
        }
    }
    let full = run(&["run", "-o", "/dev/full", "--", "true"]);
    assert_eq!(full.status.code(), Some(125), "the program's own code would be 0: {full:?}");
}

/// Of two that move the same threads each would undo what the other does.
#[test(two_cpus)]
fn a_process_is_followed_by_one_evenkeel_at_a_time() {
    let busy = Busy::start(&["run", "-q", "--big", "0", "--little", "1"]);
    let holder = busy.evenkeel.id().to_string();
    let refused = |args: &[&str]| {
        let output = run(&[&["run", "--big", "0", "--little", "1"], args].concat());
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
        message
    };
    for process in &busy.processes {
        assert!(refused(&["--pid", process]).contains(&format!("by another Evenkeel already, process {holder}")));
    }
    let own = evenkeel(&[]);
    let program = own.get_program().to_str().unwrap();
    let nested = run(&["run", "-q", "--", "sh", "-c", "\"$0\" run -q -- true", program]);
    assert_eq!(nested.status.code(), Some(2), "{nested:?}");
    assert!(run(&["run", "-q", "--", "true"]).status.success(), "another process is none of its business");
}

/// A user that may not move a process sees a warning at once, and not only at the end.
#[test(two_cpus, ebpf)]
fn a_process_of_another_user_is_not_moved_and_that_is_said_at_once() {
    let mut other = Command::new("setpriv").args(["--reuid=65534", "--clear-groups", "sleep", "60"]).spawn().unwrap();
    eventually("the other user's process", || {
        fs::read_to_string(format!("/proc/{}/comm", other.id())).is_ok_and(|name| name == "sleep\n")
    });
    let own = evenkeel(&["run", "--big", "0", "--little", "1", "--pid", &other.id().to_string()]);
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-sys_nice", "--inh-caps=-all"]).arg(own.get_program());
    let mut running = command.args(own.get_args()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(running.stderr.take().unwrap());
    let mut line = String::new();
    told.read_line(&mut line).unwrap();
    assert!(line.contains("nothing can be moved: process") && line.contains("another user's"), "{line}");
    assert!(running.try_wait().unwrap().is_none(), "it follows the process all the same");
    // It keeps none from following that process who may move it. One that was refused would have ended by then.
    let mut able =
        evenkeel(&["run", "-q", "--big", "0", "--little", "1", "--pid", &other.id().to_string()]).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(able.try_wait().unwrap().is_none());
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(able.wait().unwrap().code(), Some(0));
    std::io::Read::read_to_string(&mut told, &mut line).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(125), "{line}");
}

/// As where containers or `taskset` keep both to CPUs of their own.
#[test(two_cpus)]
fn a_process_on_none_of_evenkeels_cpus_is_not_moved_and_that_is_said_at_once() {
    let cpus = cpus();
    let mut other = Command::new("taskset").args(["-c", &cpus[1], "sleep", "60"]).spawn().unwrap();
    eventually("its mask", || mask(&other.id().to_string()).as_ref() == Some(&cpus[1]));
    let own = evenkeel(&["run", "-q", "--pid", &other.id().to_string()]);
    let mut command = Command::new("taskset");
    command.args(["-c", &cpus[0]]).arg(own.get_program()).args(own.get_args());
    let mut running = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(running.stderr.take().unwrap());
    let mut line = String::new();
    told.read_line(&mut line).unwrap();
    assert!(line.contains("nothing can be moved: process") && line.contains("may only use CPU"), "{line}");
    other.kill().unwrap();
    other.wait().unwrap();
    std::io::Read::read_to_string(&mut told, &mut line).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(125), "{line}");
}

/// The shell that starts Evenkeel: that itself, and its guard, are none of what is followed.
#[test(two_cpus)]
fn a_shell_that_starts_evenkeel_on_none_of_its_cpus_is_told_so_at_once() {
    let cpus = cpus();
    let line = "taskset -pc $0 $$ >/dev/null; timeout 60 taskset -c $1 \"$2\" run -q --pid $$; :";
    let mut command = Command::new("sh");
    command.args(["-c", line, &cpus[1], &cpus[0]]).arg(evenkeel(&[]).get_program());
    let mut shell = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(shell.stderr.take().unwrap());
    let mut line = String::new();
    told.read_line(&mut line).unwrap();
    // Evenkeel ends with the shell.
    shell.kill().unwrap();
    shell.wait().unwrap();
    std::io::Read::read_to_string(&mut told, &mut line).unwrap();
    assert!(line.contains("nothing can be moved: process") && line.contains("may only use CPU"), "{line}");
}

/// What had been started before is followed with its process. What it had used by then is not in the account.
#[test(two_cpus, ebpf)]
fn what_a_process_has_started_before_is_followed_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("account");
    let line = "ulimit -t 120; sh -c 'while :; do :; done' & echo $!; wait";
    let mut shell = Command::new("sh").args(["-c", line]).stdout(Stdio::piped()).spawn().unwrap();
    let mut child = String::new();
    BufReader::new(shell.stdout.take().unwrap()).read_line(&mut child).unwrap();
    let child = child.trim().to_owned();
    let ran = || -> f64 {
        let text = fs::read_to_string(format!("/proc/{child}/schedstat")).unwrap();
        text.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1e9
    };
    eventually("a second of work", || ran() > 1.0);
    let (own, before) = (mask(&child), ran());
    let args = ["run", "--policy", "static", "--big", "0", "--little", "1", "--format", "json", "-o"];
    let mut follower = evenkeel(&args).arg(&file).args(["--pid", &shell.id().to_string()]).spawn().unwrap();
    eventually("its binding", || mask(&child) != own);
    let all = ran();
    assert!(evenkeel_testing::kill("-9", std::slice::from_ref(&child)));
    assert!(follower.wait().unwrap().success());
    shell.wait().unwrap();
    let account: serde_json::Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let threads = account["threads"].as_array().unwrap();
    let tid: u64 = child.parse().unwrap();
    assert!(threads.iter().any(|thread| thread["tid"] == tid), "{account}");
    let used = account["used_s"].as_f64().unwrap();
    assert!(used < all - before + 0.3, "{used} s, and {before} s of {all} s before: {account}");
}

/// The short-lived are not lost: what no sample saw is a line of its own.
#[test]
fn what_no_sample_saw_is_in_the_account() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("account");
    let line = "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done; times";
    let output = run(&["run", "--format", "json", "-o", file.to_str().unwrap(), "--", "sh", "-c", line]);
    let account: serde_json::Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    // `0m0.010s 0m0.020s` of the shell, then of its children.
    let seconds = |word: &str| -> f64 {
        let (minutes, seconds) = word.trim_end_matches('s').split_once('m').unwrap();
        60.0 * minutes.parse::<f64>().unwrap() + seconds.parse::<f64>().unwrap()
    };
    let own: f64 = String::from_utf8_lossy(&output.stdout).split_whitespace().map(seconds).sum();
    let number = |field: &str| account[field].as_f64().unwrap();
    let seen: f64 = account["run_s"].as_array().unwrap().iter().map(|run| run.as_f64().unwrap()).sum();
    assert!((seen + number("unseen_s") - number("used_s")).abs() < 1e-6, "{account}");
    // The shell counts in hundredths, of which each of its four numbers may lack one; it runs for a moment longer.
    assert!(number("used_s") > own - 0.001 && number("used_s") < own + 0.1, "{own}: {account}");
}

/// What ends after the last sample counts once: its time is in the kernel's account, and was in the sample.
#[test]
fn no_time_is_counted_twice() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("account");
    let program = compiled(
        folder.path(),
        "#include <pthread.h>\n\
         static void *work(void *none) { for (volatile long i = 0; i < 10000000; i++); return none; }\n\
         int main(void) { pthread_t t[12]; for (int i = 0; i < 12; i++) pthread_create(t + i, 0, work, 0);\n\
         for (int i = 0; i < 12; i++) pthread_join(t[i], 0); }\n",
    );
    for _ in 0..8 {
        let before = children_time();
        run(&["run", "--format", "json", "-o", file.to_str().unwrap(), "--", program.to_str().unwrap()]);
        // The program and Evenkeel itself.
        let all = children_time() - before;
        let account: serde_json::Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let used = account["used_s"].as_f64().unwrap();
        assert!(used <= all, "{used} s of {all} s: {account}");
    }
}

/// The CPU time of all children that have been waited for, in seconds.
fn children_time() -> f64 {
    // SAFETY: all of a `rusage` are integers, for which zero is a value; the call writes to it and nothing else.
    #[allow(unsafe_code)]
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage), 0);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// A guard that is killed is replaced, so that what it is there for still happens.
#[test(two_cpus)]
fn a_killed_guard_is_replaced() {
    let before = mask("self").unwrap();
    let mut busy = Busy::start(&["run", "-q", "--policy", "static", "--big", "0", "--little", "1"]);
    eventually("all bindings", || busy.masks().iter().all(|mask| *mask != before));
    let evenkeel = busy.evenkeel.id();
    let guards = || -> Vec<String> {
        let children = fs::read_to_string(format!("/proc/{evenkeel}/task/{evenkeel}/children")).unwrap();
        let guard =
            |pid: &&str| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().contains("__guard");
        children.split_whitespace().filter(guard).map(str::to_owned).collect()
    };
    let first = guards();
    assert_eq!(first.len(), 1, "{first:?}");
    assert!(evenkeel_testing::kill("-9", &first));
    eventually("another guard", || guards().len() == 1 && guards() != first);
    busy.evenkeel.kill().unwrap();
    busy.evenkeel.wait().unwrap();
    eventually("giving back the masks", || busy.masks().iter().all(|mask| *mask == before));
}

/// What the shell could start, and the kernel cannot.
fn a_script_without_its_interpreter(words: &[&str]) {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script").display().to_string();
    fs::write(&script, "#!/no/such/interpreter -x\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let output = evenkeel(words).args(["--", &script]).current_dir(folder.path()).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(127), "{words:?}: {message}");
    assert!(message.contains("its interpreter /no/such/interpreter does not exist"), "{message}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "of a launcher there is no recording");
}

#[test]
fn a_script_without_its_interpreter_is_not_run() {
    a_script_without_its_interpreter(&["run"]);
}

#[test(ebpf)]
fn a_script_without_its_interpreter_is_not_recorded() {
    a_script_without_its_interpreter(&["record", "-o", "app.ek"]);
}

#[test(emulation)]
fn a_script_without_its_interpreter_is_not_run_on_an_emulated_machine() {
    a_script_without_its_interpreter(&["emulate", "1B1L:2"]);
}

#[test]
fn a_process_that_has_ended_is_not_followed() {
    let mut zombie = Command::new("true").spawn().unwrap();
    let status = || fs::read_to_string(format!("/proc/{}/status", zombie.id())).unwrap();
    eventually("its end", || status().contains("State:\tZ"));
    let output = run(&["run", "--pid", &zombie.id().to_string()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("has ended (it is a zombie"), "{output:?}");
    zombie.wait().unwrap();
}

/// The first thread ends; the other one reports it, and ends when its input does.
const WITHOUT_ITS_FIRST: &str = r#"
#include <pthread.h>
#include <stdio.h>
static pthread_t first;
static void *other(void *unused) {
    pthread_join(first, 0);
    puts("alone"), fflush(stdout);
    getchar();
    return 0;
}
int main(void) {
    pthread_t thread;
    first = pthread_self();
    pthread_create(&thread, 0, other, 0);
    pthread_exit(0);
}"#;

#[test]
fn a_process_is_followed_to_the_end_of_its_last_thread() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(compiled(folder.path(), WITHOUT_ITS_FIRST));
    let mut program = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    BufReader::new(program.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let account = folder.path().join("account");
    let path = account.to_str().unwrap();
    let mut follower =
        evenkeel(&["run", "--pid", &program.id().to_string(), "--format", "json", "-o", path]).spawn().unwrap();
    // It has found the process to be alive, and opened what it samples threads with.
    let samples = |link: std::path::PathBuf| ["bpf", "/task/"].iter().any(|part| link.to_string_lossy().contains(part));
    eventually("following", || {
        let open = fs::read_dir(format!("/proc/{}/fd", follower.id())).into_iter().flatten().flatten();
        open.filter_map(|fd| fs::read_link(fd.path()).ok()).any(samples)
    });
    assert!(follower.try_wait().unwrap().is_none(), "a thread is still there");
    drop(program.stdin.take());
    // Before the program's parent has reaped it.
    assert!(follower.wait().unwrap().success());
    program.wait().unwrap();
    let account: serde_json::Value = serde_json::from_str(&fs::read_to_string(&account).unwrap()).unwrap();
    assert!(account["threads"].as_array().unwrap().len() <= 1, "the first one had ended: {account}");
}

/// Killed in the middle, the program runs on and has its own masks again, whatever had been changed.
fn kill_9(command: &[&str]) {
    let before = mask("self").unwrap();
    let mut busy = Busy::start(command);
    eventually("all bindings", || busy.masks().iter().all(|mask| *mask != before));
    busy.evenkeel.kill().unwrap();
    busy.evenkeel.wait().unwrap();
    eventually("giving back the masks", || busy.masks().iter().all(|mask| *mask == before));
    assert_eq!(busy.masks().len(), 4, "{command:?}: the program runs on");
}

#[test(two_cpus)]
fn kill_9_leaves_no_changed_mask() {
    for policy in ["static", "bind-vm", "iks"] {
        kill_9(&["run", "-q", "--policy", policy, "--big", "0", "--little", "1"]);
    }
}

/// There is no second process that would live on when the one that started it is killed.
#[test(emulation)]
fn kill_9_of_a_policy_on_an_emulated_machine_leaves_no_changed_mask() {
    kill_9(&["emulate", "1B1L:2", "-q", "--policy", "static"]);
}

/// What an emulated machine does not have is given back to all of the command.
#[test(three_cpus, emulation)]
fn kill_9_of_an_emulation_leaves_no_changed_mask() {
    let before = mask("self").unwrap();
    let mut busy = Busy::start(&["emulate", "1B1L:3", "-q"]);
    assert!(busy.masks().iter().all(|mask| *mask != before), "{:?}", busy.masks());
    busy.evenkeel.kill().unwrap();
    busy.evenkeel.wait().unwrap();
    eventually("giving back the masks", || busy.masks().iter().all(|mask| *mask == before));
    assert_eq!(busy.masks().len(), 4, "the program runs on");
}

#[test]
fn the_account_is_json_for_programs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("account.json");
    let output = run(&["run", "--format", "json", "-o", file.to_str().unwrap(), "--", "sh", "-c", "true"]);
    assert!(output.status.success());
    let account: serde_json::Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(account["policy"], "pfs");
    assert!(account["elapsed_s"].as_f64().unwrap() > 0.0);
    assert!(!account["threads"].as_array().unwrap().is_empty());
}
