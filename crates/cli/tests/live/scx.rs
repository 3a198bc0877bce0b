//! `evenkeel scx`: policies schedule a real kernel, the one of a guest, and give it back. What is done there is in scx.sh.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What a guest says to standard output, and to standard error.
fn guest(folder: &Path, what: &str, words: &[&str]) -> (String, String) {
    let (script, source, programs) = (folder.join("scx.sh"), folder.join("scx.c"), folder.join("programs"));
    fs::write(&script, include_str!("scx.sh")).unwrap();
    fs::write(&source, include_str!("scx.c")).unwrap();
    let mut compiler = Command::new("cc");
    assert!(compiler.args(["-O1", "-pthread", "-o"]).args([&programs, &source]).status().unwrap().success());
    let program = assert_cmd::cargo::cargo_bin!("evenkeel");
    let mut vm = Command::new(program);
    // Of unequal cores: their virtual ones run at the same time, and the guest is several times faster.
    vm.args(["vm", "-q", "-m", "2B2S:3", "--accel", "tcg", "--", "sh"]).arg(&script).arg(what);
    let output = vm.arg(program).arg(&programs).args(words).current_dir(folder).output().unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// What a kernel refuses of the programs inside it, it refuses here: every policy, by every path, in every kernel that can be had, and
/// knobs that are constants to the verifier, which skips what they switch off.
#[test(slow, vm, other_kernels)]
fn every_kernel_accepts_every_policy() {
    let folder = tempfile::tempdir().unwrap();
    let program = assert_cmd::cargo::cargo_bin!("evenkeel");
    let paths = policies_and_paths(&[]);
    let knobs = ["colab:deal=load/kernel", "colab:takeover=blamed/kernel", "pfs:lag=10ms/kernel"];
    let paths: Vec<&str> = paths.iter().map(String::as_str).chain(knobs).collect();
    for kernel in evenkeel_linux::vm::kernel::others() {
        let script = format!(
            "for p; do {} scx -q --big 0-1 --little 2-3 --ratio 3 --policy ${{p%/*}} --path ${{p#*/}} -- seq 5 | tail -n 1; \
             echo $p $(cat /sys/kernel/sched_ext/state); done",
            program.display()
        );
        let mut vm = Command::new(program);
        vm.args(["vm", "--symmetric", "-q", "-m", "2B2S:3", "--accel", "tcg", "--kernel"]).arg(&kernel);
        let output =
            vm.args(["--", "sh", "-c", &script, "sh"]).args(&paths).current_dir(folder.path()).output().unwrap();
        let expected: String = paths.iter().map(|path| format!("5\n{path} disabled\n")).collect();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{}: {errors}", kernel.display());
    }
}

/// Threads that compute, processes that come and go, a pipe, a mask: each ends, and none runs where it may not. The exit status
/// is the command's, the kernel has its own scheduler back, and a container, as a kernel without sched_ext, is an error that says
/// what to do.
#[test(vm)]
fn policies_schedule_a_kernel_and_give_it_back() {
    let folder = tempfile::tempdir().unwrap();
    let program = assert_cmd::cargo::cargo_bin!("evenkeel");
    let scx = format!("{} scx -q --big 0-1 --little 2-3 --ratio 3 --policy", program.display());
    let programs = "busy() { i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done; }; for p in 1 2 3 4 5; do busy & done; \
                    seq 500 | sort -n | tail -n 1; taskset -c 1 cut -d' ' -f39 /proc/self/stat; wait; \
                    grep -h EXITING /sys/kernel/sched_ext/root/events; exit 7";
    let script = format!(
        "for p in pfs colab; do {scx} $p -- sh -c \"$0\"; echo $?; cat /sys/kernel/sched_ext/state; done; \
         unshare --pid --fork {scx} pfs -- true; echo $?; mount -t tmpfs none /sys/kernel; {scx} pfs -- true; echo $?"
    );
    let output = Command::new(program)
        .args(["vm", "--symmetric", "-q", "-m", "2B2S:3", "--accel", "tcg", "--", "sh", "-c", &script, programs])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let gone = "SCX_EV_ENQ_SKIP_EXITING 0";
    let expected = format!("500\n1\n{gone}\n7\ndisabled\n500\n1\n{gone}\n7\ndisabled\n125\n125\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{errors}");
    assert!(errors.contains("this container's PID namespace numbers threads otherwise"), "{errors}");
    assert!(errors.contains("this kernel has no sched_ext: expected one with CONFIG_SCHED_CLASS_EXT"), "{errors}");
}

/// However it ends, the machine is given back and the command goes on: by a signal, after a time, when the process is killed or
/// does not answer, and while programs run and a core goes and comes back.
#[test(vm, reservations)]
fn however_it_ends_the_machine_is_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let (output, errors) = guest(folder.path(), "ends", &[]);
    let expected = "second: 125 enabled\n\
                    error: the kernel is scheduled by \"evenkeel\" already: expected no other scheduler of sched_ext; \
                    end that one first\n\
                    first: 7 disabled\n\
                    killed: 137 disabled\n\
                    stopped: 125 disabled\n\
                    the kernel took the machine back: scx_bpf_error: the process that decides has stopped\n\
                    command interrupted: 130 disabled\n\
                    command's time: 7 disabled\n\
                    interrupted: 0 disabled\n\
                    interrupted: 0 disabled\n\
                    hotplug: 7 disabled\n\
                    done\n";
    assert_eq!(output, expected, "{errors}");
}

/// A process, or a control group with what joins it later, on cores that others leave free; nice values stay what they are, and groups' weights count.
#[test(vm, reservations)]
fn only_some_are_scheduled_and_weights_count() {
    let folder = tempfile::tempdir().unwrap();
    let (output, errors) = guest(folder.path(), "only", &[]);
    let expected = "process: 7 nice 5, 0 nice 0\n\
                    process: 0 disabled\n\
                    group: 7 nice 5, 7 nice 3, 0 nice 0\n\
                    group: 0 disabled\n\
                    beside others, kernel: 0 disabled\n\
                    it had a core\n\
                    beside others, daemon: 0 disabled\n\
                    it had a core\n\
                    weights, kernel: 0 disabled\n\
                    heavy had more\n\
                    weights, daemon: 0 disabled\n\
                    heavy had more\n";
    assert_eq!(output, expected, "{errors}");
}

/// What a thread of a real-time class leaves behind on its core is not lost, nor what would be put there: sched_ext itself says
/// nothing of that.
#[test(vm, reservations)]
fn threads_go_on_elsewhere_when_a_real_time_thread_has_their_core() {
    let folder = tempfile::tempdir().unwrap();
    let policies = ["pfs/daemon", "pfs/kernel", "colab/daemon", "colab/kernel"];
    let (output, errors) = guest(folder.path(), "real-time", &policies);
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines.len(), 3 * policies.len(), "{output}\n{errors}");
    for (told, policy) in lines.chunks(3).zip(policies) {
        assert_eq!(told[..2], ["it goes on".to_owned(), format!("{policy} 0 disabled")], "{output}\n{errors}");
    }
}

/// A mock only in that the guest's cores have no frequencies: the calls are the kernel's, which would end a scheduler that makes them
/// where it may not.
#[test(vm, reservations)]
fn the_governor_of_frequencies_is_told_how_much_cores_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let policies = ["pfs/kernel", "eas/kernel", "pfs/daemon"];
    let (output, errors) = guest(folder.path(), "governor", &policies);
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines.len(), 2 * policies.len(), "{output}\n{errors}");
    for (told, policy) in lines.chunks(2).zip(policies) {
        assert_eq!(told[0], format!("{policy} 0 disabled"), "{output}\n{errors}");
        let told: Value = serde_json::from_str(told[1]).unwrap();
        assert!(told["frequencies"].as_u64().is_some_and(|times| times > 4), "{told}");
    }
}

/// Every policy for real kernels but these, with each place where it can decide: `pfs/daemon`, `pfs/kernel`.
pub(super) fn policies_and_paths(but: &[&str]) -> Vec<String> {
    let policies = evenkeel_sched::POLICIES.iter().filter(|policy| !policy.foresight && !but.contains(&policy.name));
    let paths = |policy: &&'static evenkeel_sched::Description| {
        let kernel = policy.in_kernel.is_some().then(|| format!("{}/kernel", policy.name));
        [Some(format!("{}/daemon", policy.name)), kernel]
    };
    policies.flat_map(paths).flatten().collect()
}

/// Programs that compute, wait for locks, barriers and pipes, fork, and change their masks, all at the same time: each ends
/// well, none starves, and while a thread could use a core none is left idle.
fn programs_of_all_kinds_end(policies: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let (output, errors) = guest(folder.path(), "policies", &[&["50"], policies].concat());
    let mut lines = output.lines();
    for policy in policies {
        assert_eq!(lines.next(), Some(format!("{policy} 0 disabled").as_str()), "{output}\n{errors}");
        let told: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
        let seconds = |field: &str| told[field].as_f64().unwrap();
        // 10 programs with at least 20 threads, and those that they start.
        assert!(told["threads"].as_u64().unwrap() > 40, "{policy}: {told}");
        // Some of them hold locks and come last to barriers.
        assert!(seconds("blamed_s") > 0.0, "{policy}: {told}");
        // The kernel itself would end it after 5 s.
        assert!(seconds("longest_wait_s") < 5.0, "{policy}: {told}");
        // A second is far beyond what any policy intends, and what this machine may be late by.
        assert!(policy.starts_with("static/") || seconds("longest_idle_s") < 1.0, "{policy}: {told}");
        assert!(
            !["pfs", "colab"].iter().any(|best| policy.starts_with(best)) || seconds("longest_misplaced_s") < 1.0,
            "{policy}: {told}"
        );
    }
    assert_eq!(lines.next(), None, "{output}\n{errors}");
}

#[test(vm, reservations)]
fn programs_of_all_kinds_end_under_pfs_and_colab() {
    programs_of_all_kinds_end(&["pfs/daemon", "pfs/kernel", "colab/daemon", "colab/kernel"]);
}

/// All other policies, wherever they decide.
#[test(slow, vm, reservations)]
fn programs_of_all_kinds_end_under_every_policy() {
    let others = policies_and_paths(&["pfs", "colab"]);
    programs_of_all_kinds_end(&others.iter().map(String::as_str).collect::<Vec<_>>());
}

/// Thousands of threads and processes that do to a scheduler what stress-ng has for it.
fn stress_ng_ends(policies: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let (output, errors) = guest(folder.path(), "stress", policies);
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines.len(), 2 * policies.len(), "{output}\n{errors}");
    for (told, policy) in lines.chunks(2).zip(policies) {
        assert_eq!(told[0], format!("{policy} 0 disabled"), "{output}\n{errors}");
        let told: Value = serde_json::from_str(told[1]).unwrap();
        assert!(told["longest_wait_s"].as_f64().unwrap() < 5.0, "{told}");
        // Policies that leave cores out, as `iks` does, get less far than those: some more than it starts with.
        let least = if ["pfs", "colab"].iter().any(|name| policy.starts_with(name)) { 100 } else { 20 };
        assert!(told["threads"].as_u64().unwrap() > least, "{told}");
    }
}

#[test(vm, reservations, stress_ng)]
fn stress_ng_ends_under_colab() {
    stress_ng_ends(&["colab/kernel"]);
}

/// All other policies, wherever they decide, and `colab` in the process.
#[test(slow, vm, reservations, stress_ng)]
fn stress_ng_ends_under_every_policy() {
    let others = policies_and_paths(&["colab"]);
    stress_ng_ends(&others.iter().map(String::as_str).chain(["colab/daemon"]).collect::<Vec<_>>());
}

/// 10,000 threads that come and go; and more that never sleep than there are cores, beside one that does: it goes on, and of
/// the others those that are nice have less.
#[test(slow, vm, reservations)]
fn storms_and_hogs_starve_no_thread() {
    let folder = tempfile::tempdir().unwrap();
    let (output, errors) = guest(folder.path(), "storms", &["2500"]);
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines.len(), 8, "{output}\n{errors}");
    for (told, (expected, threads)) in lines.chunks(2).zip([("storm", 10_000), ("hogs", 10)].into_iter().cycle()) {
        assert_eq!(told[0], format!("{expected} 0 disabled"), "{output}\n{errors}");
        let told: Value = serde_json::from_str(told[1]).unwrap();
        assert!(told["longest_wait_s"].as_f64().unwrap() < 5.0, "{told}");
        assert!(told["threads"].as_u64().unwrap() >= threads, "{told}");
    }
}
