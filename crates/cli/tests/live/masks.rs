//! Masks that programs give themselves, and those that they inherit, under `evenkeel run`.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::run::{compiled, cpus, evenkeel, eventually, mask, run};

/// A mask that the program gives itself stays, and Evenkeel keeps to it.
#[test(two_cpus)]
fn masks_of_the_programs_own_are_respected() {
    for policy in ["static", "pfs"] {
        let line = "taskset -p -c 1 $$ >/dev/null; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; taskset -p -c $$";
        let args = ["run", "-q", "--policy", policy, "--big", "0", "--little", "1", "--", "sh", "-c", line];
        let output = run(&args);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.trim_end().ends_with("affinity list: 1"), "{policy}: {text}");
    }
}

/// Works, idles, works again, says which process it is, and idles until its input ends.
const BY_TURNS: &str = r#"
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static void work(void) {
    clock_t begin = clock();
    while (clock() - begin < CLOCKS_PER_SEC / 2)
        ;
}
int main(void) {
    work(), sleep(1), work();
    printf("%d\n", getpid()), fflush(stdout);
    getchar();
    return 0;
}"#;

/// A policy that binds threads and moves them at once: its binding to the one core is no reason to stay there.
#[test(two_cpus)]
fn a_binding_is_not_taken_for_a_mask_of_the_programs_own() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), BY_TURNS);
    let mut command = evenkeel(&["run", "-q", "--policy", "iks", "--big", "0", "--little", "1", "--"]);
    let mut running = command.arg(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut process = String::new();
    BufReader::new(running.stdout.take().unwrap()).read_line(&mut process).unwrap();
    eventually("its return to the little core", || mask(process.trim()).as_deref() == Some("1"));
    drop(running.stdin.take());
    assert!(running.wait().unwrap().success());
}

/// Works for half a second on one CPU of its own choice, and for two more seconds on both.
const WIDENS: &str = r#"
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>
static void work(int halves) {
    clock_t begin = clock();
    while (clock() - begin < halves * CLOCKS_PER_SEC / 2)
        ;
}
int main(void) {
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(1, &own);
    sched_setaffinity(0, sizeof own, &own);
    work(1);
    CPU_SET(0, &own);
    sched_setaffinity(0, sizeof own, &own);
    work(4);
    return 0;
}"#;

#[test(two_cpus)]
fn a_mask_that_the_program_widens_again_is_used_without_ebpf() {
    let folder = tempfile::tempdir().unwrap();
    let (program, file) = (compiled(folder.path(), WIDENS), folder.path().join("account"));
    let own = evenkeel(&["run", "--big", "0", "--little", "1", "--format", "json", "-o"]);
    let mut command = Command::new(WITHOUT_EBPF[0]);
    command.args(&WITHOUT_EBPF[1..]).arg(own.get_program()).args(own.get_args());
    assert!(command.arg(&file).arg("--").arg(program).status().unwrap().success());
    let account: serde_json::Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    assert!(account["run_s"][0].as_f64().unwrap() > 0.5, "on the big core: {account}");
}

/// Forks and clones in all orders, from a seed, while masks change. The shell ends, and Evenkeel with it, before the storm is
/// over; the rest reports at the end whether its mask is the one that the program wants.
#[test(ebpf, two_cpus)]
fn no_thread_keeps_a_mask_that_the_program_does_not_want() {
    storms(&[], |lost| lost == 0);
}

/// What starts a command that may not use eBPF.
pub(super) const WITHOUT_EBPF: [&str; 3] =
    ["setpriv", "--bounding-set=-bpf,-perfmon,-sys_admin,-sys_resource", "--inh-caps=-all"];

/// Without eBPF a chosen mask may be taken for an inherited one, but no inherited one for a chosen one.
#[test(two_cpus)]
fn no_thread_stays_bound_without_ebpf() {
    storms(&WITHOUT_EBPF, |_| true);
}

/// Storms under all kinds of policies, Evenkeel started by some words. How many masks may be lost depends.
fn storms(by: &[&str], may_be_lost: impl Fn(usize) -> bool) {
    let cpus = cpus();
    let [big, little] = [&cpus[0], &cpus[1]];
    let folder = tempfile::tempdir().unwrap();
    let storm = compiled(folder.path(), include_str!("storm.c"));
    let line = "exec 3<&0; \"$0\" \"$@\" <&3 & sleep 0.3";
    for (seed, policy) in (1..).zip(["pfs", "static", "colab", "pfs", "static", "wash"]) {
        let own = evenkeel(&["run", "-q", "--policy", policy, "--big", big, "--little", little]);
        let mut words = by.iter().map(std::ffi::OsStr::new).chain([own.get_program()]).chain(own.get_args());
        let mut command = Command::new(words.next().unwrap());
        command.args(words).args(["--", "sh", "-c", line]).arg(&storm).arg(seed.to_string()).args(&cpus);
        let mut running = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (gate, mut told) = (running.stdin.take().unwrap(), running.stdout.take().unwrap());
        assert!(running.wait().unwrap().success(), "{by:?} {policy}");
        drop(gate);
        let mut text = String::new();
        std::io::Read::read_to_string(&mut told, &mut text).unwrap();
        let count = |beginning| text.lines().filter(|line| line.starts_with(beginning)).count();
        assert!(count("wanted") > 10, "seed {seed}, {policy}: {text}");
        assert_eq!(count("smaller"), 0, "seed {seed}, {policy}: {text}");
        assert!(may_be_lost(count("larger")), "seed {seed}, {policy}: {text}");
    }
}

/// Threads that keep to CPUs of their own choice from the first moment on, as pools of threads do, and how many lost it.
const PINNED: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
static int lost;
static void *pinned(void *number) {
    cpu_set_t own, now;
    struct timespec begin, end;
    CPU_ZERO(&own);
    CPU_SET((long)number % 2, &own);
    sched_setaffinity(0, sizeof own, &own);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        clock_gettime(CLOCK_MONOTONIC, &end);
    } while (end.tv_sec * 1000L + end.tv_nsec / 1000000 < begin.tv_sec * 1000L + begin.tv_nsec / 1000000 + 300);
    sched_getaffinity(0, sizeof now, &now);
    if (!CPU_EQUAL(&own, &now))
        __atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
    return 0;
}
int main(void) {
    pthread_t threads[6];
    for (long i = 0; i < 6; i++)
        pthread_create(&threads[i], 0, pinned, (void *)i);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], 0);
    printf("%d lost\n", lost);
}"#;

/// With eBPF a chosen mask is not taken for an inherited one.
#[test(two_cpus, ebpf)]
fn masks_that_new_threads_give_themselves_are_respected() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), PINNED);
    for policy in ["static", "wash", "pfs"] {
        for _ in 0..3 {
            let args =
                ["run", "-q", "--policy", policy, "--big", "0", "--little", "1", "--", program.to_str().unwrap()];
            assert_eq!(String::from_utf8_lossy(&run(&args).stdout), "0 lost\n", "{policy}");
        }
    }
}
