//! What must hold for every workload on every machine under every policy: no work is lost, every core is busy or idle,
//! energy is the sum of its parts, and the same seed gives the same run.

mod common;

use common::{compute, machine, play, policy, program, thread, with_costs, with_memory_phase, workload};
use evenkeel_model::{Instructions, Ns};
use evenkeel_sim::{Ended, Options, Outcome, run};
use evenkeel_workload::program::{
    Barrier, BarrierId, LockId, PhaseId, Queue, QueueId, Semaphore, SemaphoreId, Spread, Start, ThreadIndex, Work,
};
use evenkeel_workload::{Op, Workload};
use proptest::prelude::*;

/// `make test-full` sets EVENKEEL_SLOW.
fn cases() -> u32 {
    if std::env::var_os("EVENKEEL_SLOW").is_some() { 20_000 } else { 300 }
}

/// What a thread of a random program does in each of its rounds.
#[derive(Clone, Copy, Debug)]
enum Act {
    Compute(u64),
    Memory(u64),
    Spin(u64),
    Locked(u64),
    Sleep(u64),
    Yield,
    Post,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        (1..5_000_000u64).prop_map(Act::Compute),
        (1..1_000_000u64).prop_map(Act::Memory),
        (1..200_000u64).prop_map(Act::Spin),
        (1..300_000u64).prop_map(Act::Locked),
        (1..3_000_000u64).prop_map(Act::Sleep),
        Just(Act::Yield),
        Just(Act::Post),
    ]
}

fn instructions(count: u64) -> Op {
    Op::Compute { phase: PhaseId(0), work: Work::Instructions(count), spread: Spread::None }
}

fn ops(act: Act) -> Vec<Op> {
    match act {
        Act::Compute(count) => vec![instructions(count)],
        Act::Memory(count) => {
            vec![Op::Compute { phase: PhaseId(1), work: Work::Instructions(count), spread: Spread::None }]
        }
        Act::Spin(ns) => vec![Op::Spin(Ns(ns))],
        Act::Locked(count) => vec![Op::Lock(LockId(0)), instructions(count), Op::Unlock(LockId(0))],
        Act::Sleep(ns) => vec![Op::Sleep { span: Ns(ns), spread: Spread::None }],
        Act::Yield => vec![Op::Yield],
        // As many posts as acquires, the post first: never blocks for ever.
        Act::Post => vec![Op::Post(SemaphoreId(0)), Op::Acquire(SemaphoreId(0))],
    }
}

/// Threads that do random things, meet at a barrier after each round, and hand items to a consumer that is spawned and
/// joined by the first of them.
fn random_workload() -> impl Strategy<Value = (Workload, u64)> {
    let threads = prop::collection::vec(prop::collection::vec(act(), 1..6), 1..7);
    let programs = prop::collection::vec((threads, 1..4u64), 1..3);
    programs.prop_map(|programs| {
        let mut work = 0;
        let build = |(index, (threads, rounds)): (usize, (Vec<Vec<Act>>, u64))| {
            let parties = threads.len() as u32;
            let producer = |(index, acts): (usize, Vec<Act>)| {
                for act in &acts {
                    if let Act::Compute(count) | Act::Memory(count) | Act::Locked(count) = act {
                        work += count * rounds;
                    }
                }
                let mut body: Vec<Op> = acts.into_iter().flat_map(ops).collect();
                body.push(Op::Put(QueueId(0)));
                body.push(Op::Barrier(BarrierId(0)));
                let mut all = vec![Op::Repeat { times: Some(rounds), body }, Op::Close(QueueId(0))];
                if index == 0 {
                    all.insert(0, Op::Spawn(ThreadIndex(parties)));
                    all.push(Op::Join(ThreadIndex(parties)));
                }
                thread(&format!("t{index}"), all)
            };
            let mut threads: Vec<_> = threads.into_iter().enumerate().map(producer).collect();
            work += u64::from(parties) * rounds * 1_000_000;
            let mut consumer = thread("consumer", vec![Op::Drain { queue: QueueId(0), body: vec![compute(1)] }]);
            consumer.start = Start::Spawned;
            threads.push(consumer);
            let mut p = with_memory_phase(program(&format!("p{index}"), threads));
            p.locks.push("lock".into());
            p.barriers.push(Barrier { name: "barrier".into(), parties });
            p.queues.push(Queue { name: "queue".into(), capacity: 2, filled: 0, producers: parties });
            p.semaphores.push(Semaphore { name: "semaphore".into(), count: 0 });
            p
        };
        let programs = programs.into_iter().enumerate().map(build).collect();
        (workload(programs), work)
    })
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
        (workload, work) in random_workload(),
        (big, little) in (0..4u16, 0..4u16).prop_filter("a machine has cores", |(big, little)| big + little > 0),
        delay in prop_oneof![Just(0u64), 1..500_000u64],
        noise: bool, costly: bool, nodes: bool, seed: u64,
    ) {
        let mut machine = if costly { with_costs(machine(big, little)) } else { machine(big, little) };
        if nodes {
            machine.clusters.last_mut().expect("a machine has cores").node = 1;
            machine.costs.remote_memory = 1.5;
        }
        let options = Options { seed, noise, delay: Ns(delay), oracle: true, ..Options::default() };
        let spun = workload.programs.iter().flat_map(|p| &p.threads).flat_map(|t| &t.ops).any(|op| {
            matches!(op, Op::Repeat { body, .. } if body.iter().any(|op| matches!(op, Op::Spin(_))))
        });
        for name in common::policies(&machine) {
            let outcome = play(&machine, &workload, name, &options)
                .unwrap_or_else(|error| panic!("{name} on {}: {error}", machine.name));
            check_books(&outcome, spun, work);
            let again = run(&machine, &workload, policy(name), None, &options, &mut ()).expect("as before");
            prop_assert_eq!(&outcome, &again, "same seed, same run, under {}", name);
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
