//! Static loops that are split by how fast cores are, as `libevenkeel_omp.so` has it in real programs.

use evenkeel_model::{Class, Instructions, Machine, Ns};
use evenkeel_sim::{Options, Outcome};
use evenkeel_workload::program::{Barrier, BarrierId, PhaseId, SchedParams, SplitId, Work};
use evenkeel_workload::{Op, Program};

use crate::common::{compute, machine, play, policies, program, thread, with_memory_phase, workload};

const RUNS: u64 = 100;
/// How much there is to do in a run of the loop: in ms of a little core.
const MS: u64 = 12;

/// So many threads that share a loop, and do it again and again, with something behind each run.
fn looped(threads: u32, part: impl Fn(u32) -> Op, behind: &[Op]) -> Program {
    let body = |member| {
        let body = [&[part(member)], behind].concat();
        thread("t", vec![Op::Repeat { times: Some(RUNS), body }])
    };
    let mut p = with_memory_phase(program("p", (0..threads).map(body).collect()));
    p.barriers.push(Barrier { name: "end".into(), parties: threads });
    p.splits.push(threads);
    p
}

fn split(phase: u32, work: u64) -> impl Fn(u32) -> Op {
    move |member| Op::Split { split: SplitId(0), member, phase: PhaseId(phase), work: Work::Instructions(work) }
}

fn run(machine: &Machine, policy: &str, program: Program) -> Outcome {
    play(machine, &workload(vec![program]), policy, &Options::default())
        .unwrap_or_else(|error| panic!("{policy}: {error}"))
}

/// How long the loop takes, split and in equal parts, in ms a run.
fn both(machine: &Machine, policy: &str, threads: u32) -> [f64; 2] {
    let barrier = [Op::Barrier(BarrierId(0))];
    let programs = [
        looped(threads, split(0, MS * 1_000_000), &barrier),
        looped(threads, |_| compute(MS / u64::from(threads)), &barrier),
    ];
    programs.map(|program| run(machine, policy, program).makespan.as_secs_f64() * 1e3 / RUNS as f64)
}

#[test]
fn a_big_core_gets_as_much_more_as_it_is_faster_under_every_policy() {
    let machine = machine(1, 1);
    for policy in policies(&machine) {
        let [split, plain] = both(&machine, policy, 2);
        // Both cores could do it in 4 ms; some runs are left in equal parts, to see what is faster.
        assert!((4.0..4.0 / 0.95).contains(&split), "{policy}: {split} ms");
        // Some policies have threads change cores in the middle.
        assert!(plain > 5.9 || policy != "cfs", "{policy}: {plain} ms");
    }
}

#[test]
fn equal_cores_and_teams_that_are_too_large_have_equal_parts() {
    for (machine, threads) in [(machine(2, 0), 2), (machine(0, 3), 3), (machine(1, 1), 3), (machine(1, 1), 1)] {
        let [split, plain] = both(&machine, "cfs", threads);
        assert_eq!(split, plain, "{threads} threads on {} cores", machine.cores.len());
    }
}

#[test]
fn what_a_loop_gains_from_a_big_core_is_learnt() {
    // Nothing, since all of it is memory time: 100 ns an instruction.
    let outcome = run(&machine(1, 1), "cfs", looped(2, split(1, 200_000), &[Op::Barrier(BarrierId(0))]));
    let ms = outcome.makespan.as_secs_f64() * 1e3 / RUNS as f64;
    // The first run alone is as the machine has it: the big core does two thirds.
    assert!((10.0..10.2).contains(&ms), "{ms} ms");
}

/// As `sched_setattr` leaves its mask alone.
#[test]
fn a_thread_that_changes_its_nice_value_stays_on_its_core() {
    let mut machine = machine(1, 1);
    // So that it would show if a thread had to be bound anew in each run.
    machine.costs.futex = Ns::from_us(200);
    let ms = |behind: &[Op]| {
        run(&machine, "cfs", looped(2, split(0, MS * 1_000_000), behind)).makespan.as_secs_f64() * 1e3 / RUNS as f64
    };
    let barrier = Op::Barrier(BarrierId(0));
    let nice = Op::Set(SchedParams { class: Class::fair(5), ..SchedParams::default() });
    let (changes, stays) = (ms(&[nice, barrier.clone()]), ms(&[barrier]));
    assert!(changes < 1.01 * stays, "{changes} ms, {stays} ms");
}

#[test]
fn threads_that_do_not_wait_for_each_other_do_all_of_each_run() {
    // Of two instructions one thread has none, and is done at once.
    for (policy, work) in [("cfs", 1_000_001), ("colab", 1_000_001), ("cfs", 2)] {
        let outcome = run(&machine(1, 2), policy, looped(3, split(0, work), &[]));
        let done: u64 = outcome.threads.iter().map(|thread| thread.instructions.0).sum();
        assert_eq!(Instructions(done), Instructions(work * RUNS), "{policy}: {work}");
    }
}
