//! What waiting costs: lines of locks, calls of the kernel, and polling before them.

use evenkeel_model::Ns;
use evenkeel_sim::Outcome;
use evenkeel_workload::Op;
use evenkeel_workload::program::{Barrier, BarrierId, LockId};

use crate::common::{compute, machine, program, thread};
use crate::semantics::{exits, on};

/// Two threads that take turns under one lock pay for its line, and one thread alone does not; whoever waits or wakes another
/// enters the kernel.
#[test]
fn a_lock_that_changes_cores_is_fetched_and_waiting_enters_the_kernel() {
    let section = || vec![Op::Lock(LockId(0)), compute(4), Op::Unlock(LockId(0)), compute(4)];
    let ends = |threads: usize, futex: u64, line: u64| {
        let mut costly = machine(0, 2);
        (costly.costs.futex, costly.costs.line_in_cluster) = (Ns::from_ms(futex), Ns::from_ms(line));
        let mut p = program("p", (0..threads).map(|_| thread("t", section())).collect());
        p.locks.push("m".into());
        exits(&on(&costly, p))
    };
    assert_eq!(ends(1, 1, 1), [8], "its own core wrote it last");
    assert_eq!(ends(2, 0, 0), [8, 12]);
    // The second waits (1 ms when it goes on); the first wakes it (1 ms before its last work).
    assert_eq!(ends(2, 1, 0), [9, 13]);
    // The second looks at the line in vain, looks again, and the first writes to it to unlock.
    assert_eq!(ends(2, 0, 1), [9, 14]);
}

#[test]
fn a_thread_that_polls_keeps_its_core_until_it_has_waited_for_long() {
    let busy_at = |spin: u64, barrier_spin: Option<u64>| {
        let section = |before| vec![compute(before), Op::Lock(LockId(0)), compute(4), Op::Unlock(LockId(0))];
        let mut p = program("p", vec![thread("a", section(0)), thread("b", section(1))]);
        p.locks.push("m".into());
        p.spin = Ns::from_ms(spin);
        p.barrier_spin = barrier_spin.map(Ns::from_ms);
        let outcome = on(&machine(0, 2), p);
        assert_eq!(exits(&outcome), [4, 8]);
        outcome.cores.iter().map(|core| core.busy).fold(Ns::ZERO, |sum, busy| sum + busy)
    };
    // Four and five of work; the second waits for three.
    assert_eq!([0, 2, 10].map(|spin| busy_at(spin, None)), [9, 11, 12].map(Ns::from_ms));
    assert_eq!(busy_at(0, Some(10)), Ns::from_ms(9), "it is no barrier");
}

/// The first one arrives after 2 ms and waits for three.
#[test]
fn a_thread_that_polls_at_a_barrier_keeps_its_core_busy_and_awake() {
    let meet = |spin: u64, wake: u64| {
        let ops = |ms| vec![compute(ms), Op::Barrier(BarrierId(0)), compute(1)];
        let mut p = program("p", vec![thread("a", ops(2)), thread("b", ops(5))]);
        p.barriers.push(Barrier { name: "b".into(), parties: 2 });
        p.spin = Ns::from_ms(spin);
        let mut machine = machine(0, 2);
        machine.costs.wake = Ns::from_ms(wake);
        on(&machine, p)
    };
    let [none, short, long] = [0, 2, 10].map(|spin| meet(spin, 0));
    let busy = |outcome: &Outcome| outcome.cores.iter().map(|core| core.busy).sum::<Ns>();
    assert_eq!([&none, &short, &long].map(|outcome| outcome.makespan), [Ns::from_ms(6); 3]);
    assert_eq!([&none, &short, &long].map(busy), [9, 11, 12].map(Ns::from_ms));
    assert!(none.energy < short.energy && short.energy < long.energy, "a busy core uses more");
    let at_barriers = |spin: u64, at_barriers: u64| {
        let ops = |ms| vec![compute(ms), Op::Barrier(BarrierId(0)), compute(1)];
        let mut p = program("p", vec![thread("a", ops(2)), thread("b", ops(5))]);
        p.barriers.push(Barrier { name: "b".into(), parties: 2 });
        (p.spin, p.barrier_spin) = (Ns::from_ms(spin), Some(Ns::from_ms(at_barriers)));
        busy(&on(&machine(0, 2), p))
    };
    assert_eq!([at_barriers(0, 2), at_barriers(10, 0)], [11, 9].map(Ns::from_ms), "at barriers their own time counts");
    // Where a core that idles takes 1 ms to wake up, one that polls for long enough does not.
    assert_eq!([0, 2, 10].map(|spin| exits(&meet(spin, 1))), [[7, 6], [7, 6], [6, 6]]);
}
