//! Where memory is, and what it can carry.

use crate::common::{compute, machine, play, program, thread, workload};
use crate::semantics::{exits, on};
use evenkeel_model::{ClusterId, CoreId, CoreSet, Counter, Ns};
use evenkeel_sim::Options;
use evenkeel_workload::program::{Memory, SchedParams};
use evenkeel_workload::{Op, Program, Thread};

/// Two nodes with a little core each, the other's memory three times as far away.
fn two_nodes() -> evenkeel_model::Machine {
    let mut machine = machine(0, 2);
    let mut other = machine.clusters[0].clone();
    (machine.clusters[0].cores, other.cores) = (CoreSet::EMPTY.with(CoreId(0)), CoreSet::EMPTY.with(CoreId(1)));
    other.node = 1;
    machine.clusters.push(other);
    machine.cores[1].cluster = ClusterId(1);
    machine.costs.remote_memory = 3.0;
    machine
}

#[test]
fn memory_stays_where_it_was_first_used_or_is_everywhere() {
    let to = |core| Op::Set(SchedParams { cpus: Some(vec![core]), ..SchedParams::default() });
    // As much time for memory as for the instructions themselves.
    let mut p = program("p", vec![thread("t", vec![compute(10), to(1), compute(10), to(0), compute(10)])]);
    p.phases[0].behaviour.memory_ns = 1000.0;
    p.threads[0].sched.cpus = Some(vec![0]);
    let ends = |p: &Program| {
        let options = Options { counters: true, ..Options::default() };
        let outcome = play(&two_nodes(), &workload(vec![p.clone()]), "cfs", &options).expect("runs");
        (outcome.makespan, outcome.threads[0].counters.expect("asked for").get(Counter::L2Refills))
    };
    let (local, requests) = ends(&p);
    assert_eq!(local, Ns::from_ms(20 + 40 + 20));
    p.memory = Memory::Interleaved;
    let (interleaved, same) = ends(&p);
    assert_eq!(interleaved, Ns::from_ms(3 * 30), "half near, half far: twice as long");
    assert!((requests / same - 1.0).abs() < 0.1, "{requests}, {same}: more time for each, not more of them");
    assert_eq!(
        on(&machine(0, 1), Program { threads: vec![thread("t", vec![compute(10)])], ..p }).makespan,
        Ns::from_ms(20)
    );
}

/// Code that takes a byte of memory an instruction, without waiting for it where there is enough.
fn streams(threads: Vec<Thread>) -> Program {
    let mut p = program("p", threads);
    p.phases[0].behaviour.memory_bytes = Some(1000.0);
    p
}

#[test]
fn memory_that_is_too_slow_for_all_is_shared() {
    let mut big = machine(2, 0);
    big.memory_gbps = Some(2.0);
    let both = streams(vec![thread("long", vec![compute(10)]), thread("short", vec![compute(5)])]);
    // Alone 5 ms and 2.5. Together half as fast each until the short one ends.
    assert_eq!(on(&big, both.clone()).threads[1].exited, Some(Ns::from_ms(5)));
    assert_eq!(on(&big, both.clone()).makespan, Ns::from_us(5_000 + 2_500));
    big.memory_gbps = None;
    assert_eq!(on(&big, both.clone()).makespan, Ns::from_ms(5));
    big.clusters[0].memory_gbps = Some(2.0);
    assert_eq!(on(&big, both).makespan, Ns::from_us(5_000 + 2_500));
    // What computes beside them does not wait.
    let beside = [streams(vec![thread("s", vec![compute(10)])]), program("p", vec![thread("c", vec![compute(10)])])];
    big.clusters[0].memory_gbps = Some(1.0);
    let outcome = play(&big, &workload(beside.into()), "cfs", &Options::default()).expect("runs");
    assert_eq!(exits(&outcome), [10, 5]);
}

#[test]
fn waits_for_memory_are_counted() {
    let mut machine = machine(1, 0);
    machine.memory_gbps = Some(1.0);
    let p = streams(vec![thread("t", vec![compute(10)])]);
    let options = Options { counters: true, ..Options::default() };
    let outcome = play(&machine, &workload(vec![p]), "cfs", &options).expect("runs");
    let counters = outcome.threads[0].counters.expect("asked for");
    // 10 ms at 2 GHz, half of them in vain.
    assert_eq!(outcome.makespan, Ns::from_ms(10));
    assert!((counters.get(Counter::Cycles) / 20e6 - 1.0).abs() < 0.1, "{counters:?}");
    assert!((counters.get(Counter::MemoryStallCycles) / 10e6 - 1.0).abs() < 0.1, "{counters:?}");
}

#[test]
fn each_node_carries_what_is_at_home_there() {
    let mut machine = two_nodes();
    machine.costs.remote_memory = 1.0;
    machine.memory_gbps = Some(1.0);
    let to = |core| Op::Set(SchedParams { cpus: Some(vec![core]), ..SchedParams::default() });
    let mut here = thread("here", vec![compute(10)]);
    let mut there = thread("there", vec![compute(10), to(0), compute(10)]);
    (here.sched.cpus, there.sched.cpus) = (Some(vec![0]), Some(vec![1]));
    let mut p = streams(vec![here, there]);
    assert_eq!(exits(&on(&machine, p.clone())), [10, 20]);
    // Both at home on node 0.
    p.threads[1].ops = vec![compute(10)];
    p.threads[1].sched.cpus = Some(vec![0]);
    p.threads[0].ops = vec![compute(1), to(1), compute(10)];
    let exited = exits(&on(&machine, p.clone()));
    assert!(exited.iter().all(|at| *at >= 20), "{exited:?}: one carries for both");
    p.memory = Memory::Interleaved;
    let exited = exits(&on(&machine, p));
    assert!(exited.iter().all(|at| *at < 13), "{exited:?}: both do");
}

/// Code that takes as long for misses on a big core as for the instructions themselves, and uses so much again and again.
fn reuses(kb: f64, threads: Vec<Thread>) -> Program {
    let mut p = program("p", threads);
    (p.phases[0].behaviour.memory_ns, p.phases[0].behaviour.reuse_kb) = (500.0, kb);
    p
}

#[test]
fn programs_that_share_a_cache_miss_more_often() {
    let mut big = machine(2, 0);
    big.clusters[0].cache_mb = Some(2.0);
    let one = |work| reuses(1440.0, vec![thread("t", vec![compute(work)])]);
    let options = Options { counters: true, ..Options::default() };
    let both = |machine: &evenkeel_model::Machine| {
        play(machine, &workload(vec![one(20), one(10)]), "cfs", &options).expect("runs")
    };
    // Together they use 1.44 times as much as there is: 1.2 times as many misses, until the short one ends.
    let outcome = both(&big);
    assert_eq!(exits(&outcome), [21, 11]);
    let refills = |thread: usize| outcome.threads[thread].counters.expect("asked for").get(Counter::L2Refills);
    assert!((refills(0) / refills(1) / (22.0 / 12.0) - 1.0).abs() < 0.1, "{} and {}", refills(0), refills(1));
    // Not where all fits, nor where nothing says how much the cache holds, nor between threads of one program.
    big.clusters[0].cache_mb = Some(2.88);
    assert_eq!(exits(&both(&big)), [20, 10]);
    big.clusters[0].cache_mb = None;
    assert_eq!(exits(&both(&big)), [20, 10]);
    big.clusters[0].cache_mb = Some(0.1);
    let threads = reuses(1440.0, vec![thread("t", vec![compute(20)]), thread("u", vec![compute(10)])]);
    assert_eq!(exits(&on(&big, threads)), [20, 10]);
}

#[test]
fn what_misses_more_often_takes_more_bytes_and_what_it_streams_is_the_same() {
    let mut big = machine(2, 0);
    big.clusters[0].cache_mb = Some(2.0);
    let one = |work| {
        let mut p = reuses(1440.0, vec![thread("t", vec![compute(work)])]);
        p.phases[0].behaviour.memory_bytes = Some(1000.0);
        p
    };
    let mut ends = |gbps| {
        big.memory_gbps = Some(gbps);
        let outcome = play(&big, &workload(vec![one(20), one(10)]), "cfs", &Options::default()).expect("runs");
        [0, 1].map(|thread| outcome.threads[thread].exited.map(|at| at.0 / 1000))
    };
    // 1.2 times as many misses: 1.1 ns an instruction, and 0.064 bytes of lines beside the byte that it streams. Together 1.93 bytes a ns.
    assert_eq!(ends(2.0), [Some(21_000), Some(11_000)]);
    assert_eq!(ends(1.9), [Some(21_200), Some(11_200)], "1.12 ns: they wait for each other");
}

#[test]
fn clusters_of_two_types_share_the_cache_that_they_have_in_common() {
    let mut both = machine(1, 1);
    for cluster in &mut both.clusters {
        (cluster.cache, cluster.cache_mb) = (0, Some(2.0));
    }
    let bound = |core, work| {
        let mut t = thread("t", vec![compute(work)]);
        t.sched.cpus = Some(vec![core]);
        reuses(1440.0, vec![t])
    };
    let run = |machine: &evenkeel_model::Machine| {
        exits(&play(machine, &workload(vec![bound(0, 30), bound(1, 10)]), "cfs", &Options::default()).expect("runs"))
    };
    // 1 ns and 0.5 ns an instruction, and 0.5 ns for misses: 16 ms together, of which the big core has 1.1 ns for each of 30 million.
    assert_eq!(run(&both)[1], 16);
    (both.clusters[1].cache, both.clusters[1].cache_mb) = (1, Some(2.0));
    assert_eq!(run(&both), [30, 15]);
}
