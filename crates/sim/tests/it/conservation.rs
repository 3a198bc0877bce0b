//! What must hold for every workload on every machine under every policy: no work is lost, every core is busy or idle,
//! energy is the sum of its parts, and the same seed gives the same run.

use crate::common;
use crate::common::random::random_workload;
use crate::common::{compute, machine, play, policy, program, thread, with_costs, workload};
use evenkeel_model::{Instructions, Ns};
use evenkeel_sim::{Ended, Options, Outcome, run};
use evenkeel_workload::Op;
use evenkeel_workload::program::{PhaseId, Queue, QueueId, Spread, Work};
use proptest::prelude::*;

/// `make test-full` sets EVENKEEL_SLOW.
fn cases() -> u32 {
    if std::env::var_os("EVENKEEL_SLOW").is_some() { 20_000 } else { 300 }
}

fn check_books(outcome: &Outcome, spun: bool, work: u64) {
    assert_eq!(outcome.ended, Ended::Finished);
    let done: Instructions = outcome.threads.iter().map(|thread| thread.instructions).sum();
    // A spin retires instructions of its own on top.
    assert!(if spun { done.0 >= work } else { done.0 == work }, "no work lost: {} of {work}", done.0);
    for core in &outcome.cores {
        assert_eq!(core.busy + core.idle, outcome.makespan, "busy + idle = time on core {}", core.id.0);
        assert!(core.overhead <= core.busy);
    }
    let busy: Ns = outcome.cores.iter().map(|core| core.busy).sum();
    let on_cores: Ns = outcome.threads.iter().flat_map(|thread| thread.on_type.iter().copied()).sum();
    assert_eq!(busy, on_cores, "a core is busy exactly while a thread is on it");
    let energy: f64 = outcome.cores.iter().map(|core| core.energy.0).sum();
    assert!((energy - outcome.energy.0).abs() <= 1e-9 * energy);
    assert!(outcome.threads.iter().all(|thread| thread.exited.is_some()));
    let last = outcome.threads.iter().filter_map(|thread| thread.exited).max();
    assert_eq!(last, Some(outcome.makespan));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases()) })]

    #[test]
    fn the_books_balance(
        (mut workload, work) in random_workload(),
        (big, little) in (0..4u16, 0..4u16).prop_filter("a machine has cores", |(big, little)| big + little > 0),
        delay in prop_oneof![Just(0u64), 1..500_000u64],
        noise: bool, costly: bool, nodes: bool, narrow: bool, crowded: bool, seed: u64,
    ) {
        let mut machine = if costly { with_costs(machine(big, little)) } else { machine(big, little) };
        if nodes {
            machine.clusters.last_mut().expect("a machine has cores").node = 1;
            machine.costs.remote_memory = 1.5;
        }
        machine.memory_gbps = narrow.then_some(0.5);
        machine.clusters.iter_mut().for_each(|cluster| cluster.cache_mb = crowded.then_some(1.0));
        for phase in workload.programs.iter_mut().flat_map(|program| &mut program.phases) {
            phase.behaviour.reuse_kb = phase.behaviour.memory_ns;
        }
        let options = Options { seed, noise, delay: Ns(delay), oracle: true, ..Options::default() };
        let spun = workload.programs.iter().flat_map(|p| &p.threads).flat_map(|t| &t.ops).any(|op| {
            matches!(op, Op::Repeat { body, .. } if body.iter().any(|op| matches!(op, Op::Spin(_))))
        });
        for name in &common::setups(&machine) {
            let outcome = play(&machine, &workload, name, &options)
                .unwrap_or_else(|error| panic!("{name} on {}: {error}", machine.name));
            check_books(&outcome, spun, work);
            let again = run(&machine, &workload, policy(name), None, &options, &mut ()).expect("as before");
            prop_assert_eq!(&outcome, &again, "same seed, same run, under {}", name);
        }
    }
}

/// Also where it is queued anew while it waits, or late decisions find that they are too late.
#[test]
fn a_thread_that_never_blocks_runs_or_waits_for_a_core() {
    let machine = with_costs(machine(2, 2));
    let turns = |times| vec![Op::Repeat { times: Some(times), body: vec![compute(1), Op::Yield] }];
    let threads = (0..7).map(|i| thread(&format!("t{i}"), turns(5 + 3 * i)));
    let workload = workload(vec![program("p", threads.collect())]);
    for delay in [0, 30, 700].map(Ns::from_us) {
        let options = Options { delay, oracle: true, ..Options::default() };
        for name in &common::setups(&machine) {
            let outcome = play(&machine, &workload, name, &options).expect("runs");
            for thread in &outcome.threads {
                let ran: Ns = thread.on_type.iter().copied().sum();
                assert_eq!(Some(ran + thread.waited), thread.exited, "{} under {name}, {delay} late", thread.name);
            }
        }
    }
}

#[test]
fn a_program_gets_the_same_draws_under_every_policy() {
    let varied = Op::Compute { phase: PhaseId(0), work: Work::Instructions(1_000_000), spread: Spread::Uniform(0.5) };
    let body = vec![varied, Op::Yield];
    let threads = (0..6).map(|i| thread(&format!("t{i}"), vec![Op::Repeat { times: Some(20), body: body.clone() }]));
    let workload = workload(vec![program("p", threads.collect())]);
    let work = |name: &str, seed: u64| {
        let options = Options { seed, ..Options::default() };
        let outcome = play(&machine(2, 2), &workload, name, &options).expect("runs");
        outcome.threads.iter().map(|thread| thread.instructions).collect::<Vec<_>>()
    };
    assert!(common::policies(&machine(2, 2)).all(|name| work(name, 7) == work("cfs", 7)));
    assert_ne!(work("cfs", 7), work("cfs", 8));
}

/// Also after them a thread's own draws are the same, however many items it has taken.
#[test]
fn an_item_of_a_queue_is_as_long_whichever_thread_takes_it() {
    let shared = |spread| {
        let varied = Op::Compute { phase: PhaseId(0), work: Work::Instructions(1_000_000), spread };
        let ops = vec![Op::Drain { queue: QueueId(0), body: vec![varied.clone()] }, varied];
        let mut p = program("p", (0..3).map(|i| thread(&format!("t{i}"), ops.clone())).collect());
        p.queues.push(Queue { name: "q".into(), capacity: 40, filled: 40, producers: 0 });
        workload(vec![p])
    };
    let play = |name: &str, big, seed, spread| {
        let options = Options { seed, ..Options::default() };
        play(&machine(big, 2), &shared(spread), name, &options).expect("runs")
    };
    let work = |name: &str, big, seed| play(name, big, seed, Spread::Uniform(0.5)).programs[0].instructions;
    assert!(common::policies(&machine(1, 2)).all(|name| work(name, 1, 7) == work("cfs", 0, 7)));
    assert_ne!(work("cfs", 1, 7), work("cfs", 1, 8));
    assert!(play("cfs", 1, 7, Spread::Uniform(0.5)).drawn && !play("cfs", 1, 7, Spread::None).drawn);
}
