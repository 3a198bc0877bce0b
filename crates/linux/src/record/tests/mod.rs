//! What the kernel reports, and what comes of it, worked out by hand.

mod counts;
mod exec;
mod lists;
mod locks;
mod sharing;

use evenkeel_model::{CoreTypeId, Instructions, Machine, machines};
use proptest::prelude::*;

use super::*;
use Off::{Blocked, Futex, Preempted};
use Step::{Run, Sleep, Spawn, Wait, Wake};
use What::{Exited, Forked, On};

/// CPUs 0 and 1 are big, CPU 2 is half as fast. Switches and moves cost nothing.
fn machine() -> Machine {
    let mut machine = machines::by_name("2B2S").unwrap();
    let first = |of: u8| machine.cores[machine.cores_of(CoreTypeId(of)).iter().next().unwrap().index()];
    machine.cores = vec![first(0), first(0), first(1)];
    machine.core_types[1] = machine.core_types[0].clone();
    for opp in &mut machine.core_types[1].opps {
        opp.frequency.0 /= 2;
    }
    machine.costs.context_switch = Ns::ZERO;
    machine.costs.migrate_in_cluster = Ns::ZERO;
    machine.costs.migrate_across_clusters = Ns::ZERO;
    machine
}

fn woken(by: Tid) -> What {
    What::Woken { by: Some(by), call: 0, word: 0 }
}

const BY_ITSELF: What = What::Woken { by: None, call: 0, word: 0 };

/// The steps of each thread. Events are time, thread, CPU, and what happened.
fn steps(events: &[(u64, Tid, u16, What)]) -> Vec<Vec<Step>> {
    recorded(&machine(), events).threads.into_iter().map(|thread| thread.steps).collect()
}

fn recorded(machine: &Machine, events: &[(u64, Tid, u16, What)]) -> Recording {
    let event = |&(at, tid, cpu, what): &(u64, Tid, u16, What)| (at, tid, cpu, None, what);
    counted(machine, &events.iter().map(event).collect::<Vec<_>>())
}

/// Events also say what the counter of their CPU reads.
fn counted(machine: &Machine, events: &[(u64, Tid, u16, Option<u64>, What)]) -> Recording {
    let mut recorder = RecordingBuilder::new(machine);
    for &(at, tid, cpu, count, what) in events {
        recorder.event(Event { at: Ns(at), tid, cpu, instructions: count.map(Instructions), what });
    }
    recorder.finish()
}

#[test]
fn a_mutex_is_handed_over() {
    let found = steps(&[
        (0, 1, 0, On),
        (0, 2, 1, On),
        (100, 2, 1, What::Off(Futex)),
        (300, 2, 1, woken(1)),
        (305, 2, 1, On),
        (400, 1, 0, What::Off(Blocked)),
        (505, 2, 1, What::Off(Blocked)),
    ]);
    assert_eq!(found, [vec![Run(300), Wake(1), Run(100)], vec![Run(100), Wait, Run(200)]]);
}

#[test]
fn a_pipeline_hands_on_items() {
    // 2 waits for 1, and 3 for 2, which blocks again after each item.
    let found = steps(&[
        (0, 1, 0, On),
        (0, 2, 1, On),
        (1, 2, 1, What::Off(Futex)),
        (1, 3, 1, On),
        (2, 3, 1, What::Off(Futex)),
        (10, 2, 1, woken(1)),
        (10, 2, 1, On),
        (20, 2, 1, woken(1)), // It runs: of no use.
        (25, 3, 2, woken(2)),
        (25, 3, 2, On),
        (30, 2, 1, What::Off(Futex)),
        (40, 2, 1, woken(1)),
        (40, 2, 1, On),
        (45, 1, 0, What::Off(Blocked)),
        (50, 2, 1, What::Off(Blocked)),
        (65, 3, 2, What::Off(Blocked)),
    ]);
    let producer = vec![Run(10), Wake(1), Run(30), Wake(1), Run(5)];
    let stage = vec![Run(1), Wait, Run(15), Wake(2), Run(5), Wait, Run(10)];
    let sink = vec![Run(1), Wait, Run(20)]; // Half as fast.
    assert_eq!(found, [producer, stage, sink]);
}

#[test]
fn a_parent_waits_for_the_exit_of_its_child() {
    let recording = recorded(
        &machine(),
        &[
            (1000, 1, 0, On),
            (1010, 1, 0, Forked { child: 2, process: true }),
            (1012, 2, 1, woken(1)), // As the kernel reports a new thread.
            (1015, 2, 1, On),
            (1020, 1, 0, What::Off(Blocked)),
            (1050, 2, 1, Forked { child: 3, process: false }),
            (1060, 3, 2, On),
            (1070, 3, 2, Exited),
            (1080, 3, 2, What::Off(Blocked)),
            (1115, 2, 1, Exited),
            (1117, 1, 0, woken(2)), // After the exit, as in the kernel.
            (1118, 2, 1, What::Off(Blocked)),
            (1120, 1, 0, On),
            (1130, 1, 0, Exited),
        ],
    );
    let found: Vec<_> = recording.threads.iter().map(|thread| (thread.start, thread.process)).collect();
    assert_eq!(found, [(Start::At(Ns::ZERO), 0), (Start::Spawned, 1), (Start::Spawned, 1)]);
    let steps: Vec<_> = recording.threads.into_iter().map(|thread| thread.steps).collect();
    // That the parent woke it when it was new is no wake-up.
    let child = vec![Run(35), Spawn(2), Run(67), Wake(0), Run(1)];
    assert_eq!(steps, [vec![Run(10), Spawn(1), Run(10), Wait, Run(10)], child, vec![Run(10)]]);
    assert_eq!(recording.makespan, Ns(130));
}

#[test]
fn time_asleep_is_kept_and_time_in_the_queue_is_not() {
    let found = steps(&[
        (0, 1, 0, On),
        (100, 1, 0, What::Off(Blocked)),
        (600, 1, 0, BY_ITSELF),
        (750, 1, 0, On),
        (760, 1, 0, What::Off(Futex)), // A time limit that passes.
        (860, 1, 0, BY_ITSELF),
        (860, 1, 0, On),
        (870, 1, 0, Exited),
        (875, 1, 0, What::Off(Blocked)),
    ]);
    assert_eq!(found, [vec![Run(100), Sleep(Ns(500)), Run(10), Sleep(Ns(100)), Run(15)]]);
}

#[test]
fn preemption_and_migration_leave_no_trace() {
    let found = steps(&[
        (0, 1, 0, On),
        (100, 1, 0, What::Off(Preempted)),
        (100, 2, 0, On),
        (150, 1, 2, On),
        (250, 1, 2, What::Off(Preempted)),
        (300, 1, 1, On),
        (310, 1, 1, Exited),
        (310, 1, 1, What::Off(Blocked)),
        (400, 2, 0, Exited),
    ]);
    assert_eq!(found, [vec![Run(100 + 50 + 10)], vec![Run(300)]]);
}

#[test]
fn what_the_machine_charges_is_taken_off() {
    let mut machine = machine();
    machine.costs.context_switch = Ns(5);
    machine.costs.migrate_in_cluster = Ns(7);
    machine.costs.migrate_across_clusters = Ns(20);
    let found = recorded(
        &machine,
        &[
            (0, 1, 0, On),
            (100, 1, 0, What::Off(Blocked)), // 95: switched to
            (200, 1, 0, BY_ITSELF),
            (200, 1, 0, On),
            (300, 1, 0, What::Off(Blocked)), // 100: was the last there
            (400, 1, 0, BY_ITSELF),
            (400, 1, 1, On),
            (500, 1, 1, What::Off(Blocked)), // 88: moved within the cluster
            (600, 1, 0, BY_ITSELF),
            (600, 1, 2, On),
            (610, 1, 2, What::Off(Blocked)), // 0: moved to another cluster, which took longer than it ran
        ],
    );
    let pause = Sleep(Ns(100));
    assert_eq!(found.threads[0].steps, [Run(95), pause, Run(100), pause, Run(88), pause]);
}

#[test]
fn a_wake_up_may_be_seen_before_its_waiter_has_left() {
    // 2 is on its way to block when 1 wakes it. It leaves its CPU, and runs again without another wake-up.
    let found = steps(&[
        (0, 1, 0, On),
        (0, 2, 1, On),
        (50, 2, 1, woken(1)),
        (51, 2, 1, What::Off(Futex)),
        (60, 2, 1, On),
        (70, 2, 1, woken(1)), // This one is of no use: a timer wakes it.
        (80, 2, 1, What::Off(Blocked)),
        (90, 2, 1, BY_ITSELF),
        (90, 2, 1, On),
        (100, 1, 0, What::Off(Blocked)),
        (100, 2, 1, What::Off(Blocked)),
    ]);
    assert_eq!(found, [vec![Run(50), Wake(1), Run(50)], vec![Run(51), Wait, Run(20), Sleep(Ns(10)), Run(10)]]);
}

#[test]
fn a_thread_that_has_exited_does_not_go_on() {
    let found = steps(&[
        (0, 1, 0, On),
        (0, 2, 1, On),
        (100, 1, 0, Exited), // No event says that it left.
        (200, 2, 1, Exited),
        (500, 3, 0, On),
        (600, 3, 0, Exited),
        (900, 4, 2, On),
        (1000, 4, 2, Exited),
    ]);
    assert_eq!(found, [vec![Run(100)], vec![Run(200)], vec![Run(100)], vec![Run(50)]]);
}

#[test]
fn a_thread_that_acts_runs() {
    // No event says that 2 was put on CPU 1, or 1 on CPU 0.
    let found = steps(&[
        (0, 1, 0, On),
        (10, 1, 0, Forked { child: 2, process: false }),
        (40, 1, 0, What::Off(Blocked)),
        (110, 1, 1, woken(2)), // 2 has run since 10.
        (150, 2, 1, What::Off(Blocked)),
        (200, 1, 0, Exited), // 1 has run since 110.
        (210, 1, 0, What::Off(Blocked)),
    ]);
    assert_eq!(found, [vec![Run(10), Spawn(1), Run(30), Wait, Run(100)], vec![Run(100), Wake(0), Run(40)]]);
}

#[test]
fn wake_ups_on_an_idle_cpu_are_timed() {
    let pause = |at: u64, wakes: u64| {
        [(at, 1, 0, What::Off(Blocked)), (at + 100_000, 1, 0, BY_ITSELF), (at + 100_000 + wakes, 1, 0, On)]
    };
    let mut events = vec![(0, 1, 0, On)];
    events.extend([pause(100_000, 20_100), pause(300_000, 90_000), pause(500_000, 21_200)].concat());
    assert_eq!(recorded(&machine(), &events[..1]).wake, None);
    assert_eq!(recorded(&machine(), &events).wake, Some(Ns(21_500)));
    // Where no event says that it was put on its CPU, it was not there at once.
    events.extend([
        (700_000, 1, 0, What::Off(Blocked)),
        (800_000, 1, 0, BY_ITSELF),
        (900_000, 1, 0, What::Off(Blocked)),
    ]);
    let steps = &recorded(&machine(), &events).threads[0].steps;
    assert_eq!(steps.last(), Some(&Run(100_000 - 21_500)));
    // With another thread on the CPU, it is the scheduler that lets it wait.
    let crowded = [(0, 2, 0, On), (10_000, 1, 0, woken(2)), (50_000, 2, 0, What::Off(Preempted)), (50_000, 1, 0, On)];
    assert_eq!(recorded(&machine(), &crowded).wake, None);
}

#[test]
fn events_are_put_in_order() {
    let found = steps(&[
        (0, 1, 0, On),
        (0, 2, 1, On),
        (300, 2, 1, woken(1)),
        (100, 2, 1, What::Off(Futex)),
        (400, 1, 0, What::Off(Blocked)),
        (305, 2, 1, On),
        (405, 2, 1, What::Off(Blocked)),
    ]);
    assert_eq!(found, [vec![Run(300), Wake(1), Run(100)], vec![Run(100), Wait, Run(100)]]);
}

#[test]
fn threads_that_were_there_before_start_at_once() {
    let mut recorder = RecordingBuilder::new(&machine());
    [7, 8, 9].into_iter().for_each(|tid| recorder.alive(tid));
    recorder.name(8, "waiter");
    let events = [
        (1000, 9, 1, On),
        (1100, 8, 0, woken(7)), // It waited when recording began, and 7 ran.
        (1200, 7, 0, What::Off(Blocked)),
        (1300, 8, 0, On),
        (1350, 8, 0, What::Off(Blocked)),
        (1350, 9, 1, What::Off(Preempted)),
    ];
    for (at, tid, cpu, what) in events {
        recorder.event(Event { at: Ns(at), tid, cpu, instructions: None, what });
    }
    let recording = recorder.finish();
    assert!(recording.threads.iter().all(|thread| thread.start == Start::At(Ns::ZERO)));
    let steps: Vec<_> = recording.threads.iter().map(|thread| thread.steps.clone()).collect();
    assert_eq!(steps, [vec![Run(100), Wake(1), Run(100)], vec![Wait, Run(50)], vec![Run(350)]]);
    assert_eq!(recording.threads[1].name, "waiter");
}

#[test]
fn a_number_that_is_used_again_is_another_thread() {
    let found = recorded(
        &machine(),
        &[
            (0, 1, 0, On),
            (10, 1, 0, Forked { child: 2, process: false }),
            (10, 2, 1, On),
            (20, 2, 1, Exited),
            (20, 2, 1, What::Off(Blocked)),
            (30, 1, 0, Forked { child: 2, process: false }),
            (30, 2, 1, On),
            (50, 2, 1, Exited),
            (50, 1, 0, Exited),
        ],
    );
    let steps: Vec<_> = found.threads.into_iter().map(|thread| thread.steps).collect();
    assert_eq!(steps, [vec![Run(10), Spawn(1), Run(20), Spawn(2), Run(20)], vec![Run(10)], vec![Run(20)]]);
}

/// Three threads meet twice; another one is last each time. What one call does may take a while.
#[test]
fn threads_that_wait_for_the_last_one_meet_at_a_barrier() {
    let round = |at: u64, last: Tid, [one, other]: [Tid; 2]| {
        let call = |by: Tid| What::Woken { by: Some(by), call: 1 + at as u32, word: 5 };
        [
            (at + 10, one, one as u16 - 1, What::Off(Futex)),
            (at + 20, other, other as u16 - 1, What::Off(Futex)),
            (at + 30, one, last as u16 - 1, call(last)),
            (at + 31, one, one as u16 - 1, On),
            (at + 34, other, last as u16 - 1, call(last)),
            (at + 34, other, other as u16 - 1, On),
        ]
    };
    let start = [(0, 1, 0, On), (0, 2, 1, On), (0, 3, 2, On)];
    let (first, second) = (round(0, 1, [2, 3]), round(100, 2, [1, 3]));
    let found = steps(&[&start[..], &first, &second, &round(200, 2, [1, 3])].concat());
    assert!(found.iter().all(|steps| steps.iter().filter(|step| **step == Step::Barrier(0)).count() == 3), "{found:?}");
    assert!(found.iter().flatten().all(|step| !matches!(step, Wait | Wake(_))), "{found:?}");
    // The same one last each time may deal out work: the wake-ups stay.
    let found = steps(&[&start[..], &first, &round(100, 1, [2, 3])].concat());
    assert_eq!(found[0].iter().filter(|step| matches!(step, Wake(_))).count(), 4);
    // Some calls wake one of them only: it was late. But if it waits again at once, it waits for its turn; elsewhere, for a lock.
    let barriers = |times: u64, again_at: Option<u32>| {
        let some = |time: u64| {
            let at = 200 + 100 * time;
            let late = round(at, 2, [1, 3]).into_iter().filter(|event| event.1 != 3);
            let call = What::Woken { by: Some(2), call: 1000 + at as u32, word: again_at.unwrap_or_default() };
            let again = [(at + 31, 1, 0, What::Off(Futex)), (at + 90, 1, 1, call), (at + 90, 1, 0, On)];
            late.chain(again.into_iter().filter(move |_| again_at.is_some()))
        };
        let all: Vec<_> = start.into_iter().chain(first).chain(second).chain((0..times).flat_map(some)).collect();
        steps(&all).iter().flatten().filter(|step| matches!(step, Step::Barrier(_))).count()
    };
    assert_eq!([barriers(1, Some(5)), barriers(2, Some(5))], [6, 0]);
    assert_eq!([barriers(0, None), barriers(2, None), barriers(2, Some(6))], [6; 3]);
    // More calls wake one of them than both: those that wait for their turns are woken so.
    assert_eq!(barriers(3, None), 0);
}

/// Three threads, of which the third is half as fast, compute until then and exit, which wakes the first one.
fn until(ends: [u64; 3], unit: u64) -> Vec<Vec<Step>> {
    let mut events = vec![(0, 9, 3, On)];
    events.extend((1..=3).map(|child| (0, 9, 3, Forked { child, process: false })));
    events.extend((1..=3).map(|child| (0, child, child as u16 - 1, On)));
    events.push((1, 9, 3, What::Off(Futex)));
    let mut ends: Vec<_> = ends.into_iter().zip(1..=3).collect();
    ends.sort_unstable();
    for (end, child) in ends {
        events.push((end * unit, child, child as u16 - 1, Exited));
    }
    let (last, child) = *events.iter().rev().map(|event| (event.0, event.1)).collect::<Vec<_>>().first().unwrap();
    events.push((last + 1, 9, child as u16 - 1, woken(child)));
    steps(&events)
}

#[test]
fn unequal_parts_that_end_together_are_shared_out() {
    let share = |amount| vec![Step::Share { pool: 0, amount }];
    let ms = 1_000_000;
    let found = until([100, 99, 101], ms);
    let last = [share(50 * ms + ms / 2), vec![Wake(0)]].concat();
    assert_eq!(found[1..], [share(100 * ms), share(99 * ms), last]);
    // Equal parts, for which the slow thread takes longer; and unequal ones, whose times differ as much.
    for ends in [[100, 100, 200], [100, 60, 90]] {
        assert!(until(ends, ms).iter().flatten().all(|step| !matches!(step, Step::Share { .. })), "{ends:?}");
    }
    // Below a slice, the times depend on which thread is first in the queue.
    assert!(until([100, 99, 101], ms / 50).iter().flatten().all(|step| !matches!(step, Step::Share { .. })));
}

#[test]
fn instructions_are_what_the_cpu_counted_meanwhile() {
    let found = counted(
        &machine(),
        &[
            (0, 1, 0, Some(1000), On),
            (0, 2, 1, Some(77), On),
            (40, 2, 1, Some(137), What::Off(Futex)),
            (60, 2, 0, Some(1120), woken(1)), // Counted where the waker runs.
            (60, 2, 1, Some(137), On),
            (100, 1, 0, Some(1200), What::Off(Preempted)),
            (150, 2, 1, Some(272), Exited),
            (200, 1, 2, Some(9), On), // The little core's counter is another one.
            (400, 1, 2, Some(109), Exited),
        ],
    );
    assert!(found.counted && found.notes.is_empty());
    let steps: Vec<_> = found.threads.iter().map(|thread| thread.steps.clone()).collect();
    assert_eq!(steps, [vec![Run(120), Wake(1), Run(80 + 100)], vec![Run(60), Wait, Run(135)]]);
    let rates: Vec<_> = found.threads.iter().map(|thread| thread.rates.clone()).collect();
    assert_eq!(rates, [[Some(2.0), Some(0.5)], [Some(1.5), None]]);
}

#[test]
fn instructions_of_switches_are_taken_off_as_their_time_is() {
    let mut machine = machine();
    machine.costs.context_switch = Ns(20);
    let found = counted(&machine, &[(0, 1, 0, Some(1), On), (100, 1, 0, Some(301), Exited)]);
    assert_eq!((found.threads[0].steps.as_slice(), found.threads[0].rates[0]), (&[Run(240)][..], Some(3.0)));
}

fn what() -> impl Strategy<Value = What> {
    let by = prop_oneof![Just(None), (0..5_u32).prop_map(Some)];
    prop_oneof![
        (0..8_u32, any::<bool>()).prop_map(|(child, process)| Forked { child, process }),
        prop::option::of(0..5_u32).prop_map(|before| What::Exec { before }),
        Just(On),
        Just(On),
        prop_oneof![Just(Preempted), Just(Futex), Just(Blocked)].prop_map(What::Off),
        (by, 0..3_u32, 0..2_u32).prop_map(|(by, call, word)| What::Woken { by, call, word }),
        Just(Exited),
    ]
}

fn events() -> impl Strategy<Value = Vec<(u64, Tid, u16, What)>> {
    events_of(what())
}

fn events_of(what: impl Strategy<Value = What>) -> impl Strategy<Value = Vec<(u64, Tid, u16, What)>> {
    prop::collection::vec((0..10_000_u64, 0..5_u32, 0..4_u16, what), 1..200)
}

proptest! {
    /// Loading checks that every thread comes to its end.
    #[test]
    fn whatever_the_kernel_says_is_a_recording_that_ends(
        events in prop_oneof![events(), events_of(prop_oneof![what(), sharing::sharing()])],
        counts in prop::collection::vec(prop::option::of(any::<u32>().prop_map(u64::from)), 200),
        // Long enough to be shared out, or not.
        unit in prop_oneof![Just(1), Just(1_000_000)],
    ) {
        for with in [false, true] {
            let counts = counts.iter().map(|count| count.filter(|_| with));
            let event = |(&(at, tid, cpu, what), count)| (at * unit, tid, cpu, count, what);
            let recording = counted(&machine(), &events.iter().zip(counts).map(event).collect::<Vec<_>>());
            prop_assert!(with || !recording.counted);
            let loaded = Recording::from_text(&recording.to_text(), "test.ek");
            prop_assert_eq!(loaded, Ok(recording));
        }
    }

    /// Threads are in the queue for a while at first, all of them end at once, and between that one did half of what another
    /// did: shares add up to all that was done.
    #[test]
    fn nothing_of_what_is_shared_out_is_lost(
        queued in prop::collection::vec(0..50_000_000_u64, 1..6),
        ends in prop::collection::vec(100_000_000..100_500_000_u64, 8),
    ) {
        let began: Vec<u64> = [0, 50_000_000].into_iter().chain(queued).collect();
        let mut machine = machine();
        machine.cores = vec![machine.cores[0]; began.len() + 1];
        let of = |thread: usize| (thread as Tid, thread as u16);
        let mut events = vec![(0, 0, 0, On)];
        let children = 1..=began.len();
        events.extend(children.clone().map(|child| (0, 0, 0, Forked { child: child as Tid, process: false })));
        for ((child, began), end) in children.map(of).zip(&began).zip(&ends) {
            events.extend([(*began, child.0, child.1, On), (*end, child.0, child.1, Exited)]);
        }
        events.sort_by_key(|event| event.0);
        let recording = recorded(&machine, &events);
        let done: u64 = ends.iter().zip(&began).map(|(end, began)| end - began).sum();
        let share = |step: &Step| if let Step::Share { pool: 0, amount } = step { Some(*amount) } else { None };
        let shares: Vec<u64> = recording.threads.iter().flat_map(|thread| &thread.steps).filter_map(share).collect();
        prop_assert_eq!((shares.len(), shares.iter().sum::<u64>()), (began.len(), done));
        prop_assert_eq!(Recording::from_text(&recording.to_text(), "test.ek"), Ok(recording));
    }

    /// Where big cores do 2 instructions a ns and little ones a quarter of that, so much is recorded: from one to two
    /// instructions for each ns of the big core. All else is as it is without counters.
    #[test]
    fn counters_change_amounts_only(events in events()) {
        let per_10_ns = |cpu: u16| if cpu == 2 { 5 } else { 20 };
        let event = |&(at, tid, cpu, what): &(u64, Tid, u16, What)| (at * 10, tid, cpu, Some(1 + at * per_10_ns(cpu)), what);
        let with: Vec<_> = events.iter().map(event).collect();
        let without = with.iter().map(|(at, tid, cpu, _, what)| (*at, *tid, *cpu, *what)).collect::<Vec<_>>();
        let (with, without) = (counted(&machine(), &with), recorded(&machine(), &without));
        let work = |steps: &[Step]| steps.iter().map(|step| if let Run(amount) = step { *amount } else { 0 }).sum::<u64>();
        let else_done = |steps: &[Step]| steps.iter().copied().filter(|step| !matches!(step, Run(_))).collect::<Vec<_>>();
        for (with, without) in with.threads.iter().zip(&without.threads) {
            prop_assert_eq!(else_done(&with.steps), else_done(&without.steps));
            if !with.rates.is_empty() {
                let (instructions, time) = (work(&with.steps), work(&without.steps));
                prop_assert!((time..=2 * time + 1).contains(&(instructions + 1)), "{instructions} in {time}");
                prop_assert!(with.rates[0].is_none_or(|rate| rate == 2.0) && with.rates[1].is_none_or(|rate| rate == 0.5));
            }
        }
    }
}
