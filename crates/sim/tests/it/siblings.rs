//! Hardware threads that share the pipelines of a core.

use evenkeel_model::{Class, CoreId, Machine, Ns};
use evenkeel_sim::{Event, Observer, Options, Outcome};
use evenkeel_workload::program::{PhaseId, SchedParams, Spread, Work};
use evenkeel_workload::{Op, Thread};
use proptest::prelude::*;

use crate::common::{compute, machine, play, policy, program, thread, with_memory_phase, workload};

/// So many equal cores of two hardware threads, which get 1.25 times as much done as one.
fn cores(count: u16) -> Machine {
    let mut machine = machine(0, 2 * count);
    machine.core_types[0].smt = 1.25;
    machine.siblings = (0..count).map(|core| [2 * core, 2 * core + 1].map(CoreId).into_iter().collect()).collect();
    machine
}

fn on(mut thread: Thread, cpu: u16) -> Thread {
    thread.sched = SchedParams { cpus: Some(vec![cpu]), ..SchedParams::default() };
    thread
}

fn run(machine: &Machine, policy: &str, threads: Vec<Thread>) -> Outcome {
    let workload = workload(vec![with_memory_phase(program("p", threads))]);
    play(machine, &workload, policy, &Options::default()).unwrap_or_else(|error| panic!("{policy}: {error}"))
}

fn exits(outcome: &Outcome) -> Vec<f64> {
    outcome.threads.iter().map(|thread| thread.exited.map_or(f64::NAN, Ns::as_secs_f64) * 1e3).collect()
}

#[track_caller]
fn same(outcome: &Outcome, expected: &[f64]) {
    let found = exits(outcome);
    let near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 0.01);
    assert!(near && found.len() == expected.len(), "{found:?} instead of {expected:?} ms");
}

#[test]
fn two_threads_of_a_core_get_more_done_than_one_and_less_than_two() {
    let pair = |first, second| {
        let threads = vec![on(thread("a", vec![compute(first)]), 0), on(thread("b", vec![compute(second)]), 1)];
        run(&cores(1), "cfs", threads)
    };
    same(&pair(10, 10), &[16.0, 16.0]);
    // From 8 ms on b has the core for itself.
    same(&pair(5, 10), &[8.0, 13.0]);
}

#[test]
fn who_waits_for_memory_leaves_the_pipelines_to_the_other() {
    let memory = Op::Compute { phase: PhaseId(1), work: Work::Instructions(100_000), spread: Spread::None };
    let waits = vec![on(thread("a", vec![memory.clone()]), 0), on(thread("b", vec![memory]), 1)];
    let outcome = run(&cores(1), "cfs", waits);
    assert!(exits(&outcome).iter().all(|ms| (10.0..10.2).contains(ms)), "{:?}", exits(&outcome));
}

#[test]
fn threads_get_cores_of_their_own_while_there_are_some() {
    for policy in ["cfs", "eevdf", "eas", "gts", "pfs", "fcf", "bias", "wash", "colab"] {
        let threads = (0..3).map(|i| thread(&format!("t{i}"), vec![compute(10)])).collect();
        let outcome = run(&cores(3), policy, threads);
        assert!(exits(&outcome).iter().all(|ms| (ms - 10.0).abs() < 0.01), "{policy}: {:?}", exits(&outcome));
    }
}

#[test]
fn real_time_threads_get_cores_of_their_own_while_there_are_some() {
    let real_time = |name| {
        let sched = SchedParams { class: Class::RealTime { priority: 1 }, ..SchedParams::default() };
        Thread { sched, ..thread(name, vec![compute(10)]) }
    };
    same(&run(&cores(3), "cfs", ["a", "b", "c"].map(real_time).into()), &[10.0; 3]);
}

/// Both would take 24 ms beside each other on the big core. It takes over b once it is free, after 15 ms.
#[test]
fn colab_leaves_a_busy_big_core_to_its_thread_while_little_ones_are_idle() {
    let mut machine = machine(2, 2);
    machine.core_types[0].smt = 1.25;
    machine.siblings = vec![[0, 1].map(CoreId).into_iter().collect()];
    let threads = ["a", "b"].map(|name| thread(name, vec![compute(30)])).into();
    same(&run(&machine, "colab", threads), &[15.0, 22.5]);
}

/// Without that a would share its core with c up to its end, 160 ms after it began. Balancing has an idle core wait for three intervals.
#[test]
fn balancing_parts_threads_that_share_a_core_of_a_cluster_where_another_one_is_idle() {
    for policy in ["cfs", "eevdf"] {
        let work = [("a", 100), ("b", 10), ("c", 300)];
        let threads = work.map(|(name, million)| thread(name, vec![compute(million)])).into();
        let outcome = run(&cores(2), policy, threads);
        assert!(exits(&outcome)[0] < 125.0, "{policy}: {:?}", exits(&outcome));
    }
}

/// a and c share the first core until b leaves the other one at 10 ms: each has done 6.25 then.
#[test]
fn a_core_that_goes_idle_takes_over_a_thread_that_shares_another_one() {
    for policy in ["pfs", "fcf", "bias"] {
        let work = [("a", 10), ("b", 10), ("c", 30)];
        let threads = work.map(|(name, million)| thread(name, vec![compute(million)])).into();
        same(&run(&cores(2), policy, threads), &[13.75, 10.0, 33.75]);
    }
}

/// The power that is shown, since when, and what has been used until then.
#[derive(Default)]
struct Shown(f64, Ns, f64);

impl Observer for Shown {
    fn observe(&mut self, at: Ns, event: &Event<'_>) {
        if let Event::Power { power, .. } = event {
            *self = Self(power.0, at, self.2 + self.0 * at.since(self.1).as_secs_f64());
        }
    }
}

/// For 5 ms both get 0.625 instructions a nanosecond done, then a alone gets 1 done for 6 ms.
#[test]
fn what_spins_or_is_switched_to_beside_another_uses_as_much_as_is_shown() {
    let mut machine = cores(1);
    machine.costs.context_switch = Ns::from_ms(1);
    let spins = |name, ms, cpu| on(thread(name, vec![Op::Spin(Ns::from_ms(ms))]), cpu);
    let workload = workload(vec![program("p", vec![spins("a", 10, 0), spins("b", 4, 1)])]);
    let mut shown = Shown::default();
    let outcome = evenkeel_sim::run(&machine, &workload, policy("cfs"), None, &Options::default(), &mut shown)
        .unwrap_or_else(|error| panic!("{error}"));
    same(&outcome, &[11.0, 5.0]);
    let expected = 0.005 * (2.0 * 0.625 + 0.1) + 0.006 * (1.0 + 0.1);
    assert!((outcome.energy.0 - expected).abs() < 1e-6, "{} instead of {expected} J", outcome.energy.0);
    assert!((shown.2 - expected).abs() < 1e-6, "{} instead of {expected} J", shown.2);
    assert_eq!(outcome.threads[1].instructions.0, 2_500_000);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    /// Whenever b begins or ends to run it is looked how far a is. Here that takes nothing from a.
    #[test]
    fn a_thread_takes_as_long_however_often_one_looks_how_far_it_is(
        turns in prop::collection::vec((1..2_000u64, 1..20_000u64), 1..200),
    ) {
        let mut machine = cores(1);
        machine.core_types[0].smt = 2.0;
        let work = |phase, amount| Op::Compute { phase, work: Work::Instructions(amount), spread: Spread::None };
        let a = || on(thread("a", vec![work(PhaseId(1), 100_000)]), 0);
        let sleep = |span| Op::Sleep { span: Ns(span), spread: Spread::None };
        let turn = |(amount, span)| [work(PhaseId(0), amount), sleep(span)];
        let b = on(thread("b", turns.into_iter().flat_map(turn).collect()), 1);
        let end = |threads| run(&machine, "cfs", threads).threads[0].exited.map_or(0, |at| at.0);
        let (alone, beside) = (end(vec![a()]), end(vec![a(), b]));
        prop_assert!(alone.abs_diff(beside) <= 1, "{} and {} ns", alone, beside);
    }
}
