//! Schedules against what theory says of them: Equation 4, Graham's bound, fairness within a slice, queueing theory.

use crate::common;
use crate::common::{compute, machine, play, program, thread, workload};
use evenkeel_model::Ns;
use evenkeel_sched::Class;
use evenkeel_sched::policy::parts::fair;
use evenkeel_sim::{Options, Outcome};
use evenkeel_workload::program::{PhaseId, Queue, QueueId, Spread, Work};
use evenkeel_workload::{Op, Workload};
use proptest::prelude::*;

fn independent(work_ms: &[u64]) -> Workload {
    let threads = work_ms.iter().enumerate().map(|(i, ms)| thread(&format!("t{i}"), vec![compute(*ms)])).collect();
    workload(vec![program("p", threads)])
}

fn makespan(outcome: &Outcome) -> f64 {
    outcome.makespan.as_secs_f64() * 1000.0
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    /// Equation 4 of "Exploiting Asymmetric Multi-Core Processors with Flexible System Software": no policy is faster
    /// than all cores busy to the end, nor than the longest thread on a big core.
    #[test]
    fn no_policy_beats_equation_4(work in prop::collection::vec(1..80u64, 1..12), big in 1..4u16, little in 0..4u16) {
        let rate = f64::from(big) * 2.0 + f64::from(little);
        let ideal = work.iter().sum::<u64>() as f64 / rate;
        let longest = *work.iter().max().expect("not empty") as f64 / 2.0;
        let machine = machine(big, little);
        for name in common::policies(&machine) {
            let outcome = play(&machine, &independent(&work), name, &Options::default()).expect("runs");
            prop_assert!(makespan(&outcome) >= ideal.max(longest) - 1e-3, "{}: {} < {}", name, makespan(&outcome), ideal);
        }
    }

    /// Graham's bound for schedules that leave no core idle while a thread waits: W/m + (1 - 1/m) of the longest, plus
    /// a tick until an idle core learns of a waiting thread.
    #[test]
    fn equal_cores_stay_within_grahams_bound(work in prop::collection::vec(1..80u64, 1..12), cores in 1..6u16) {
        let m = f64::from(cores);
        let bound = work.iter().sum::<u64>() as f64 / m + (1.0 - 1.0 / m) * *work.iter().max().expect("not empty") as f64;
        let machine = machine(0, cores);
        for name in common::policies(&machine) {
            let outcome = play(&machine, &independent(&work), name, &Options::default()).expect("runs");
            prop_assert!(makespan(&outcome) <= bound + 1.0, "{}: {} > {}", name, makespan(&outcome), bound);
        }
    }

    /// Equal threads on one core get the same time, to within the slice that one of them is having: counted after a
    /// second, since new threads start a slice behind (place_entity), and in slices as ticks can end them.
    #[test]
    fn cfs_is_fair_within_a_slice(threads in 2..12usize, rounds in 1..40u64) {
        let machine = machine(0, 1);
        let tick = machine.costs.tick.0;
        let sched = evenkeel_sched::Scheduler::new(machine.clone(), common::policy("cfs"), None);
        let least = fair::min_granularity(sched.state()).0 * threads as u64;
        let slice = (fair::latency(sched.state()).0.max(least) / threads as u64).div_ceil(tick) * tick;
        let ran = |until: Ns| {
            let mut workload = independent(&vec![10_000; threads]);
            workload.duration = Some(until);
            let outcome = play(&machine, &workload, "cfs", &Options::default()).expect("runs");
            outcome.threads.iter().map(|thread| thread.on_type[0].0).collect::<Vec<_>>()
        };
        let from = Ns::from_secs(1);
        let (before, after) = (ran(from), ran(from + Ns(rounds * threads as u64 * slice)));
        let got: Vec<u64> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
        let spread = got.iter().max().expect("threads") - got.iter().min().expect("threads");
        prop_assert!(spread <= slice, "{:?} in {} rounds of slices of {}", got, rounds, slice);
    }

    /// Under EEVDF no thread is further from its share than the longest request, here a tick (Stoica and Abdel-Wahab, 1995,
    /// theorem 1), whatever the weights, at any time.
    #[test]
    fn eevdf_is_fair_within_a_request_at_any_time(
        nice in prop::collection::vec(-10..10i8, 2..8), from in 100..2000u64, ms in 1..1000u64,
    ) {
        let machine = machine(0, 1);
        let weight = |nice: i8| match Class::fair(nice) { Class::Fair { weight } => weight as f64, _ => 0.0 };
        let ran = |until: Ns| {
            let mut workload = independent(&vec![10_000; nice.len()]);
            for (thread, nice) in workload.programs[0].threads.iter_mut().zip(&nice) {
                thread.sched.class = Class::fair(*nice);
            }
            workload.duration = Some(until);
            let outcome = play(&machine, &workload, "eevdf", &Options::default()).expect("runs");
            outcome.threads.iter().map(|thread| thread.on_type[0].0 as f64 / 1e6).collect::<Vec<_>>()
        };
        let (before, after) = (ran(Ns::from_ms(from)), ran(Ns::from_ms(from + ms)));
        let all: f64 = nice.iter().map(|nice| weight(*nice)).sum();
        for (thread, nice) in nice.iter().enumerate() {
            let got = after[thread] - before[thread];
            let share = weight(*nice) / all * ms as f64;
            // A lag of up to a tick at the begin and at the end.
            prop_assert!((got - share).abs() <= 2.0, "thread {} got {} ms of {} in {}", thread, got, share, ms);
        }
    }
}

/// Under EEVDF a thread more than cores can share evenly does not stay with one of them: all have their turns, within clusters
/// and between them.
#[test]
fn eevdf_rotates_what_is_left_over() {
    for (threads, big, little) in [(3, 0, 2), (9, 0, 4), (3, 1, 1), (9, 2, 2)] {
        let mut workload = independent(&vec![100_000; threads]);
        workload.duration = Some(Ns::from_secs(20));
        let outcome = play(&machine(big, little), &workload, "eevdf", &Options::default()).expect("runs");
        let share = 20.0 * f64::from(big + little) / threads as f64;
        for (thread, outcome) in outcome.threads.iter().enumerate() {
            let got = outcome.on_type.iter().map(|time| time.0 as f64 / 1e9).sum::<f64>();
            let machine = format!("{big} and {little} cores");
            assert!((got / share - 1.0).abs() < 0.1, "{threads} on {machine}: thread {thread} got {got} s of {share}");
        }
    }
}

/// A busy core balances half as often under CFS: on two cores every 64 ms, and every 32 ms under EEVDF.
#[test]
fn busy_cores_balance_twice_as_often_under_eevdf_as_under_cfs() {
    // Started in turn; once the short ones have ended, one core has one thread and the other three.
    let mut workload = independent(&[1000, 1000, 1, 1000, 1, 1000]);
    workload.duration = Some(Ns::from_ms(50));
    let moves = |policy| play(&machine(0, 2), &workload, policy, &Options::default()).expect("runs").migrations;
    assert_eq!((moves("cfs"), moves("eevdf")), (0, 1));
}

/// A source with exponential gaps feeds `servers` threads with exponential work, one core each.
fn station(servers: u16, load: f64, jobs: u64) -> Workload {
    let service_ns = 100_000.0;
    let gap = Ns((service_ns / (f64::from(servers) * load)) as u64);
    let source = vec![
        Op::Repeat {
            times: Some(jobs),
            body: vec![Op::Sleep { span: gap, spread: Spread::Exponential }, Op::Put(QueueId(0))],
        },
        Op::Close(QueueId(0)),
    ];
    let job = Op::Compute { phase: PhaseId(0), work: Work::Instructions(100_000), spread: Spread::Exponential };
    let server = |i| thread(&format!("server{i}"), vec![Op::Drain { queue: QueueId(0), body: vec![job.clone()] }]);
    let mut threads: Vec<_> = (0..servers).map(server).collect();
    threads.push(thread("source", source));
    let mut p = program("station", threads);
    p.queues.push(Queue { name: "jobs".into(), capacity: u64::MAX, filled: 0, producers: 1 });
    workload(vec![p])
}

/// The mean wait in the queue in units of the mean service time: over seeds, its mean and the half width of its 99 %
/// confidence interval.
fn mean_wait(servers: u16, load: f64) -> (f64, f64) {
    let machine = machine(0, servers);
    let waits: Vec<f64> = (0..10)
        .map(|seed| {
            let options = Options { seed, ..Options::default() };
            let outcome = play(&machine, &station(servers, load, 40_000), "cfs", &options).expect("runs");
            let queue = &outcome.queues[0];
            queue.waited.0 as f64 / queue.taken as f64 / 100_000.0
        })
        .collect();
    let mean = waits.iter().sum::<f64>() / 10.0;
    let variance = waits.iter().map(|wait| (wait - mean).powi(2)).sum::<f64>() / 9.0;
    // Student's t for 9 degrees of freedom, 99.5 %.
    (mean, 3.25 * (variance / 10.0).sqrt())
}

/// Mean wait of M/M/c in service times (Erlang C).
fn erlang_c(servers: u16, load: f64) -> f64 {
    let offered = f64::from(servers) * load;
    let mut term = 1.0;
    let mut sum = 0.0;
    for k in 0..servers {
        sum += term;
        term *= offered / f64::from(k + 1);
    }
    let waiting = term / (1.0 - load);
    waiting / (sum + waiting) / (f64::from(servers) * (1.0 - load))
}

#[test]
fn waiting_times_are_those_of_queueing_theory() {
    assert!((erlang_c(1, 0.5) - 1.0).abs() < 1e-12, "M/M/1: rho / (1 - rho)");
    for (servers, load) in [(1, 0.5), (1, 0.7), (3, 0.7)] {
        let (mean, half) = mean_wait(servers, load);
        let expected = erlang_c(servers, load);
        assert!((mean - expected).abs() <= half, "M/M/{servers} at {load}: {mean} +- {half}, expected {expected}");
        assert!(half < 0.15 * expected, "the interval says something: +- {half} of {expected}");
    }
}
