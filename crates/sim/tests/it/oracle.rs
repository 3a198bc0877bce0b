//! The oracle: schedules that can be worked out by hand, the proven optimum where there is one, and no policy that does
//! much better where there is none.

use crate::common;
use crate::common::random::random_workload;
use crate::common::{compute, machine, play, program, thread, with_costs, with_memory_phase, workload};
use evenkeel_model::{Machine, Ns};
use evenkeel_sim::{Options, Outcome};
use evenkeel_workload::program::{Barrier, BarrierId, LockId, PhaseId, Queue, QueueId, Spread, Work};
use evenkeel_workload::{Op, Program, Workload};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const MAKESPAN: &str = "oracle:goal=makespan";

fn on(machine: &Machine, workload: &Workload, policy: &str) -> Outcome {
    play(machine, workload, policy, &Options::default()).expect("runs")
}

fn independent(work_ms: &[u64]) -> Workload {
    let threads = work_ms.iter().enumerate().map(|(i, ms)| thread(&format!("t{i}"), vec![compute(*ms)])).collect();
    workload(vec![program("p", threads)])
}

fn ms(outcome: &Outcome) -> f64 {
    outcome.makespan.as_secs_f64() * 1000.0
}

/// The earliest end of independent threads that may be interrupted, on cores that differ by a factor: as much as the k
/// longest need of the k fastest cores, or all of all (Horvath, Lam and Sethi, JACM 24(1), 1977, theorem 1).
fn optimum(work_ms: &[u64], big: u16, little: u16) -> f64 {
    let mut longest = work_ms.to_vec();
    longest.sort_by(|a, b| b.cmp(a));
    let speeds: Vec<f64> = (0..big).map(|_| 2.0).chain((0..little).map(|_| 1.0)).collect();
    let least =
        |count: usize, cores: usize| longest[..count].iter().sum::<u64>() as f64 / speeds[..cores].iter().sum::<f64>();
    let few = (1..longest.len().min(speeds.len())).map(|k| least(k, k));
    few.fold(least(longest.len(), speeds.len().min(longest.len())), f64::max)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn independent_threads_end_within_a_tick_of_the_optimum(
        work in prop::collection::vec(1..80u64, 1..12), big in 1..4u16, little in 0..4u16,
    ) {
        let machine = machine(big, little);
        let best = optimum(&work, big, little);
        let found = ms(&on(&machine, &independent(&work), "oracle"));
        let tick = machine.costs.tick.as_secs_f64() * 1000.0;
        prop_assert!(found >= best - 1e-6 && found <= best + tick + 1e-6, "{} for {}", found, best);
    }
}

/// How long the oracle takes on random workloads and machines, and how long each other policy does, in ms. Always the same
/// ones: a heuristic has no bound that holds for every workload.
fn samples(costly: bool) -> impl Iterator<Item = (f64, Vec<(&'static str, f64)>)> {
    let mut runner = TestRunner::deterministic();
    let cases = (random_workload(), 1..4u16, 0..4u16);
    (0..200).map(move |_| {
        let ((workload, _), big, little) = cases.new_tree(&mut runner).expect("a case").current();
        let machine = if costly { with_costs(machine(big, little)) } else { machine(big, little) };
        let others = common::policies(&machine).filter(|name| *name != "oracle");
        let others = others.map(|name| (name, ms(&on(&machine, &workload, name)))).collect();
        (ms(&on(&machine, &workload, MAKESPAN)), others)
    })
}

#[test]
fn no_policy_is_much_faster_on_random_workloads() {
    for (oracle, others) in samples(false).chain(samples(true)) {
        for (name, other) in others {
            assert!(oracle <= 4.0 / 3.0 * other + 2.0, "{name}: {other} and the oracle {oracle}");
        }
    }
}

#[test]
fn on_average_it_is_as_fast_as_the_best_of_all_others() {
    let best = |others: Vec<(_, f64)>| others.into_iter().map(|(_, ms)| ms).fold(f64::INFINITY, f64::min);
    let mean = (samples(false).map(|(oracle, others)| (oracle / best(others)).ln()).sum::<f64>() / 200.0).exp();
    assert!(mean <= 1.0, "geometric mean of 200 random workloads: {mean}");
}

#[test]
fn the_longest_gets_the_big_core() {
    for order in [[30, 10], [10, 30]] {
        assert_eq!(ms(&on(&machine(1, 1), &independent(&order), "oracle")), 15.0, "30 at twice the speed, beside 10");
    }
}

#[test]
fn a_big_core_that_is_done_takes_over_what_is_left() {
    // 24 on the big core take 12 ms; 14 on the little one are at 12 then, and the rest of it goes at twice the speed.
    assert_eq!(ms(&on(&machine(1, 1), &independent(&[24, 14]), "oracle")), 13.0);
}

#[test]
fn equal_threads_take_turns_at_what_is_scarce() {
    let at = |big, little, threads| ms(&on(&machine(big, little), &independent(&vec![60; threads]), "oracle"));
    assert!((at(0, 2, 3) - 90.0).abs() <= 1.0, "three on two cores: {}", at(0, 2, 3));
    assert!((at(2, 2, 4) - 40.0).abs() <= 1.0, "four on two big and two little ones: {}", at(2, 2, 4));
}

/// So much memory time, which no core shortens, and a hundredth of it to compute.
fn memory(ms: u64) -> Op {
    Op::Compute { phase: PhaseId(1), work: Work::Instructions(10_000 * ms), spread: Spread::None }
}

#[test]
fn who_gains_nothing_leaves_the_big_core_to_who_does() {
    let p = with_memory_phase(program("p", vec![thread("a", vec![memory(50)]), thread("b", vec![compute(100)])]));
    for threads in [[0, 1], [1, 0]] {
        let mut p = p.clone();
        p.threads = threads.map(|i: usize| p.threads[i].clone()).to_vec();
        let found = ms(&on(&machine(1, 1), &workload(vec![p]), "oracle"));
        assert!(found < 51.0, "each on its core: {found}");
    }
}

/// Threads that meet after so much work each, so many rounds.
fn rounds(work: &[u64], rounds: u64) -> Program {
    let round =
        |ms: &u64| vec![Op::Repeat { times: Some(rounds), body: vec![compute(*ms), Op::Barrier(BarrierId(0))] }];
    let threads = work.iter().enumerate().map(|(i, ms)| thread(&format!("t{i}"), round(ms))).collect();
    let mut p = program("p", threads);
    p.barriers.push(Barrier { name: "b".into(), parties: work.len() as u32 });
    p
}

#[test]
fn the_thread_that_a_barrier_waits_for_gets_the_big_core() {
    let outcome = on(&machine(1, 3), &workload(vec![rounds(&[5, 20, 6, 7], 10)]), "oracle");
    assert_eq!(ms(&outcome), 100.0, "20 at twice the speed, ten times");
}

#[test]
fn the_longest_stage_of_a_pipeline_gets_the_big_core() {
    let stage = |from: u32, ms, to| {
        let body = vec![compute(ms), Op::Put(QueueId(to))];
        vec![Op::Drain { queue: QueueId(from), body }, Op::Close(QueueId(to))]
    };
    let source =
        vec![Op::Repeat { times: Some(20), body: vec![compute(1), Op::Put(QueueId(0))] }, Op::Close(QueueId(0))];
    let sink = vec![Op::Drain { queue: QueueId(2), body: vec![compute(1)] }];
    let threads = [("source", source), ("short", stage(0, 2, 1)), ("long", stage(1, 8, 2)), ("sink", sink)];
    let mut p = program("p", threads.map(|(name, ops)| thread(name, ops)).to_vec());
    for name in ["a", "b", "c"] {
        p.queues.push(Queue { name: name.into(), capacity: 2, filled: 0, producers: 1 });
    }
    let outcome = on(&machine(1, 3), &workload(vec![p]), "oracle");
    let long = &outcome.threads[2].on_type;
    assert!(long[0].0 as f64 > 0.95 * long.iter().map(|time| time.0).sum::<u64>() as f64, "{long:?}");
    assert!(ms(&outcome) < 85.0, "20 x 8 at twice the speed, and a little to fill and to empty: {}", ms(&outcome));
}

#[test]
fn the_holder_of_a_lock_goes_before_a_longer_thread_that_waits_for_none() {
    // The waiter waits for the holder and has yet to do 20: its path is 10 + 20, longer than the other one's 25.
    let section = |ms, then| vec![Op::Lock(LockId(0)), compute(ms), Op::Unlock(LockId(0)), compute(then)];
    let mut p = program(
        "p",
        vec![thread("holder", section(10, 1)), thread("waiter", section(1, 20)), thread("other", vec![compute(25)])],
    );
    p.locks.push("m".into());
    let outcome = on(&machine(1, 1), &workload(vec![p]), "oracle");
    assert!(outcome.threads[0].on_type[0] >= Ns::from_ms(4), "{:?}", outcome.threads[0]);
}

#[test]
fn the_goal_decides_between_programs() {
    let two = |first: u64, second: u64| {
        let one = |name: &str, ms| program(name, vec![thread("t", vec![compute(ms)])]);
        workload(vec![one("a", first), one("b", second)])
    };
    let turnarounds = |policy: &str, work: [u64; 2]| {
        let outcome = on(&machine(0, 1), &two(work[0], work[1]), policy);
        [0, 1].map(|i| outcome.programs[i].turnaround.expect("ended").as_secs_f64() * 1000.0)
    };
    for (short, work) in [(0, [10, 100]), (1, [100, 10])] {
        let [a, b] = turnarounds("oracle", work);
        assert!([a, b][short] <= 11.0 && [a, b][1 - short] == 110.0, "the short one first: {a} and {b}");
        let [a, b] = turnarounds(MAKESPAN, work);
        assert!(a.min(b) >= 109.0, "both need the core to the end: {a} and {b}");
    }
}

#[test]
fn threads_that_share_out_work_as_they_run_are_no_harm() {
    // Four threads take iterations as they come; on big cores they do more of them than was rehearsed.
    let taker = |i: u32| thread(&format!("t{i}"), vec![Op::Drain { queue: QueueId(0), body: vec![compute(2)] }]);
    let mut p = program("p", (0..4).map(taker).collect());
    p.queues.push(Queue { name: "iterations".into(), capacity: 120, filled: 120, producers: 0 });
    let outcome = on(&machine(2, 2), &workload(vec![p]), "oracle");
    assert!(ms(&outcome) <= 42.0, "240 at 6 a ms is 40: {}", ms(&outcome));
}
