//! Threads that take what they do from a queue.

use Off::Futex;
use Step::{Run, Spawn, Take, Wait, Wake};
use What::{Forked, On};
use proptest::prelude::*;

use super::{machine, recorded};
use crate::event::{Off, Tid, What};
use evenkeel_workload::recording::{RecordedItem, Recording, Step};

const READER: Tid = 2;
const WRITER: Tid = 3;

fn at(by: Tid, call: u64, word: u32) -> What {
    What::Woken { by: Some(by), call: 1 + call as u32, word }
}

/// 1 starts a reader, a writer and two workers. The reader wakes a worker for each item, which wakes the writer, and does 20 ns more of work.
/// Of three items worker 4 gets two, and worker 5, on a CPU that is half as fast, one.
fn items(count: u64) -> Vec<(u64, Tid, u16, What)> {
    let mut events = vec![(0, 1, 0, On)];
    events.extend((2..6).map(|child| (0, 1, 0, Forked { child, process: false })));
    events.push((0, 1, 0, What::Off(Futex)));
    events.extend([(1, 4, 1, On), (5, 4, 1, What::Off(Futex)), (5, WRITER, 1, On), (5, 5, 2, On)]);
    events.extend([(9, WRITER, 1, What::Off(Futex)), (9, 5, 2, What::Off(Futex))]);
    for item in 0..count {
        let (worker, cpu) = if item % 3 == 2 { (5, 2) } else { (4, 1) };
        let t = 100 * (item + 1);
        events.extend([
            (t, READER, 0, On),
            (t + 10, worker, 0, at(READER, item, 7)),
            (t + 10, worker, cpu, On),
            (t + 12, READER, 0, What::Off(Off::Preempted)),
            (t + 40, WRITER, cpu, at(worker, item, 8)),
            (t + 40, WRITER, 0, On),
            (t + 45, WRITER, 0, What::Off(Futex)),
            (t + 60, worker, cpu, What::Off(Futex)),
        ]);
    }
    events
}

#[test]
fn workers_between_a_reader_and_a_writer_take_items() {
    let recording = recorded(&machine(), &items(12));
    let steps: Vec<_> = recording.threads.iter().map(|thread| thread.steps.clone()).collect();
    // Items are numbered on from the five threads. The first of each worker is what it does until it first waits.
    assert_eq!(steps[0], [Spawn(1), Spawn(2), Spawn(3), Wake(5), Spawn(4), Wake(6)]);
    assert_eq!(steps[1][..4], [Run(10), Wake(7), Run(2 + 10), Wake(9)]);
    assert_eq!(steps[2][..4], [Run(4), Wait, Run(5), Wait]);
    assert_eq!(steps[3..], [[Take(0)], [Take(0)]]);
    let item = |by: u32, steps: &[Step]| RecordedItem { list: 0, by, steps: steps.to_vec() };
    let first = [
        item(3, &[Wait, Run(4)]),
        item(4, &[Wait, Run(2)]),
        item(3, &[Wait, Run(30), Wake(2)]),
        // The writer has been woken: another thread could do what follows.
        item(3, &[Run(20)]),
        item(3, &[Wait, Run(30), Wake(2)]),
        item(3, &[Run(20)]),
        item(4, &[Wait, Run(15), Wake(2)]),
        item(4, &[Run(10)]),
    ];
    assert_eq!(recording.items[..8], first);
    assert_eq!(recording.items.len(), 2 + 2 * 12);
}

/// 1 starts a reader, a writer and three workers, which get six, four and two of the items, wake the writer twice for each, and for each another
/// worker, at a lock. So the writer has to do with the same threads as each of them, and at the same place.
#[test]
fn a_writer_is_no_worker_though_it_has_to_do_with_the_same_threads() {
    let mut events = vec![(0, 1, 0, On)];
    events.extend((2..7).map(|child| (0, 1, 0, Forked { child, process: false })));
    events.push((0, 1, 0, What::Off(Futex)));
    for thread in 3..7 {
        events.extend([(1 + u64::from(thread), thread, 1, On), (2 + u64::from(thread), thread, 1, What::Off(Futex))]);
    }
    for (item, worker) in (0..).zip([4, 5, 4, 6, 4, 5, 4, 5, 4, 6, 4, 5]) {
        let (t, next) = (100 * (item + 1), if worker == 6 { 4 } else { worker + 1 });
        events.extend([(t, READER, 0, On), (t + 1, worker, 1, at(READER, 4 * item, 7)), (t + 1, worker, 1, On)]);
        events.push((t + 2, READER, 0, What::Off(Off::Preempted)));
        for (call, at_time) in [(1, t + 20), (2, t + 30)] {
            events.extend([
                (at_time, WRITER, 2, at(worker, 4 * item + call, 8)),
                (at_time, WRITER, 2, On),
                (at_time + 5, WRITER, 2, What::Off(Futex)),
            ]);
        }
        events.extend([
            (t + 40, next, 2, at(worker, 4 * item + 3, 9)),
            (t + 40, next, 2, On),
            (t + 41, next, 2, What::Off(Futex)),
            (t + 60, worker, 1, What::Off(Futex)),
        ]);
    }
    let recording = recorded(&machine(), &events);
    let steps: Vec<_> = recording.threads[3..].iter().map(|thread| thread.steps.clone()).collect();
    assert_eq!(steps, [[Take(0)], [Take(0)], [Take(0)]]);
    assert!(recording.threads[2].steps.contains(&Wait), "{:?}", recording.threads[2].steps);
}

/// One worker gets a single item, at the word of the others or at its own, and hands on twelve results.
#[test]
fn a_worker_that_got_little_takes_from_the_same_queue() {
    let with = |word: u32| {
        let mut events = items(12);
        // Worker 5 gets none of the others.
        events.retain(|(time, thread, _, what)| {
            (*thread != 5 || *time < 100) && !matches!(what, What::Woken { by: Some(5), .. })
        });
        events.extend([(2000, READER, 0, On), (2010, 5, 2, at(READER, 100, word)), (2010, 5, 2, On)]);
        events.push((2012, READER, 0, What::Off(Off::Preempted)));
        for result in 0..12 {
            let t = 2020 + 20 * result;
            events.extend([
                (t, WRITER, 2, at(5, 100 + result, 8)),
                (t, WRITER, 0, On),
                (t + 5, WRITER, 0, What::Off(Futex)),
            ]);
        }
        events.push((3000, 5, 2, What::Off(Futex)));
        recorded(&machine(), &events)
    };
    let steps = |recording: &Recording| -> Vec<_> {
        recording.threads[3..].iter().map(|thread| thread.steps.clone()).collect()
    };
    assert_eq!(steps(&with(7)), [[Take(0)], [Take(0)]]);
    assert!(with(6).items.is_empty());
}

/// The reader is faster than the workers: it waits for room, and they for nothing but the first item, if at all. They wake it and the writer.
fn full(begin: &[(u64, Tid, u16, What)]) -> Vec<(u64, Tid, u16, What)> {
    let mut events = vec![(0, 1, 0, On)];
    events.extend((2..6).map(|child| (0, 1, 0, Forked { child, process: false })));
    events.extend([(0, 1, 0, What::Off(Futex)), (2, WRITER, 0, On), (3, WRITER, 0, What::Off(Futex))]);
    events.extend_from_slice(begin);
    for item in 0..12 {
        let (worker, cpu) = if item % 3 == 2 { (5, 2) } else { (4, 1) };
        let t = 100 * (item + 1);
        events.extend([
            (t, READER, cpu, at(worker, 2 * item, 7)),
            (t, READER, 0, On),
            (t + 20, READER, 0, What::Off(Futex)),
            (t + 40, WRITER, cpu, at(worker, 2 * item + 1, 8)),
            (t + 40, WRITER, 0, On),
            (t + 45, WRITER, 0, What::Off(Futex)),
        ]);
    }
    events
}

#[test]
fn workers_that_hardly_wait_take_items_too() {
    let begin = [
        (4, 4, 1, On),
        (5, 4, 1, What::Off(Futex)),
        (6, 5, 2, On),
        (7, READER, 0, On),
        (8, 4, 0, at(READER, 100, 9)),
        (8, 4, 1, On),
        (9, READER, 0, What::Off(Futex)),
    ];
    let recording = recorded(&machine(), &full(&begin));
    assert_eq!(recording.threads[3].steps, [Take(0)]);
    assert!(recording.items.len() > 2 * 12, "{:?}", recording.items);
}

/// They could have been given parts, and tell two others of what they have done.
#[test]
fn workers_that_are_never_woken_do_not() {
    let begin = [(4, 4, 1, On), (6, 5, 2, On), (7, READER, 0, On), (9, READER, 0, What::Off(Futex))];
    assert!(recorded(&machine(), &full(&begin)).items.is_empty());
}

#[test]
fn few_wake_ups_and_those_without_calls_tell_nothing() {
    let takes = |events: &[_]| !recorded(&machine(), events).items.is_empty();
    assert!(takes(&items(9)) && !takes(&items(3)));
    let without = |(at, tid, cpu, what)| match what {
        What::Woken { by, .. } => (at, tid, cpu, What::Woken { by, call: 0, word: 0 }),
        what => (at, tid, cpu, what),
    };
    assert!(!takes(&items(9).into_iter().map(without).collect::<Vec<_>>()));
    // What they have done may be of use to none: they wait for the reader first.
    let without = |count| items(count).into_iter().filter(|(_, tid, ..)| *tid != WRITER).collect::<Vec<_>>();
    assert!(takes(&without(15)) && !takes(&without(9)));
}

/// As `pigz` does it: each item is told to all.
#[test]
fn those_that_are_all_woken_for_one_item_take_it() {
    let told_to_all = |other_works: u64| {
        let mut events = items(12);
        for item in 0..12 {
            let (other, cpu) = if item % 3 == 2 { (4, 1) } else { (5, 2) };
            let t = 100 * (item + 1) + 10;
            events.extend([(t, other, 0, at(READER, item, 7)), (t, other, cpu, On)]);
            events.push((t + other_works, other, cpu, What::Off(Futex)));
        }
        events.sort_by_key(|event| event.0);
        !recorded(&machine(), &events).items.is_empty()
    };
    assert!(told_to_all(1), "one of them gets it, and the other waits again at once");
    assert!(!told_to_all(45), "each has its part, as after a barrier");
}

/// How the workers of one thread begin.
#[derive(Clone, Copy)]
struct Begin {
    /// For how long they work before they hand something on and wait.
    work: u64,
    /// Whether both are first woken by one call.
    together: bool,
    /// The words, if any, at which they are first woken.
    started: Option<[u32; 2]>,
    /// Whether each first waits in the kernel for what its starter has.
    stalled: bool,
    /// Whether each gets its items at a word of its own.
    inboxes: bool,
}

const WAITING: Begin = Begin { work: 2, together: false, started: None, stalled: false, inboxes: false };

/// 1 starts two workers, wakes one for each item, and is woken by it once that is done. Of three items worker 3 gets one.
fn with_one_partner(begin: Begin) -> Vec<(u64, Tid, u16, What)> {
    let mut events = vec![(0, 1, 0, On)];
    for (child, cpu) in [(2, 1), (3, 2)] {
        events.push((0, 1, 0, Forked { child, process: false }));
        events.push((1, child, cpu, On));
        if begin.stalled {
            let woken = What::Woken { by: Some(1), call: 0, word: 0 };
            events.extend([(2, child, cpu, What::Off(Off::Blocked)), (3, child, 0, woken), (3, child, cpu, On)]);
        }
        events.extend([(1 + begin.work, 1, cpu, at(child, 100, 8)), (2 + begin.work, child, cpu, What::Off(Futex))]);
        if let Some(words) = begin.started {
            let word = words[usize::from(cpu) - 1];
            let t = 70 + u64::from(child);
            events.extend([(t, child, 0, at(1, t, word)), (t, child, cpu, On), (t + 1, child, cpu, What::Off(Futex))]);
        }
    }
    for item in 0..15 {
        let (worker, cpu) = if item % 3 == 2 { (3, 2) } else { (2, 1) };
        let word = if begin.inboxes { 30 + worker } else { 7 };
        let t = 100 * (item + 1);
        events.extend([(t, worker, 0, at(1, item, word)), (t, worker, cpu, On)]);
        if begin.together && item == 0 {
            events.extend([(t, 3, 0, at(1, item, 7)), (t, 3, 2, On), (t + 9, 3, 2, What::Off(Futex))]);
        }
        events.extend([
            (t + 20, 1, 0, What::Off(Futex)),
            (t + 40, 1, cpu, at(worker, item, 8)),
            (t + 40, 1, 0, On),
            (t + 60, worker, cpu, What::Off(Futex)),
        ]);
    }
    events.sort_by_key(|event| event.0);
    events
}

#[test]
fn the_thread_that_fills_a_queue_may_be_the_one_that_gets_the_results() {
    let takes = |begin| {
        let recording = recorded(&machine(), &with_one_partner(begin));
        assert_eq!(recording.items.is_empty(), recording.threads[1].steps != [Take(0)]);
        assert_eq!(Recording::from_text(&recording.to_text(), "test.ek"), Ok(recording.clone()));
        !recording.items.is_empty()
    };
    assert!(takes(WAITING));
    let works = Begin { work: 50, ..WAITING };
    assert!(!takes(works), "they begin with something of their own, and could be waiting for room later");
    assert!(!takes(Begin { stalled: true, ..works }), "that they waited for memory says nothing");
    assert!(
        !takes(Begin { together: true, ..WAITING }),
        "they begin at a barrier, and could have something of their own then"
    );
    for words in [[22, 23], [20, 20]] {
        assert!(!takes(Begin { started: Some(words), ..WAITING }), "each was only told to start, at {words:?}");
    }
    assert!(!takes(Begin { inboxes: true, ..WAITING }), "each could be dealt its own");
}

/// 1 starts two workers, of which 3 is on a CPU that is half as fast. In each round it gives an item to 3 and one to 2, waits for the first, takes the
/// second, and has 2 do a third. `told` says whether 2 wakes it for the second one, too.
fn in_rounds(rounds: u64, told: bool) -> Vec<(u64, Tid, u16, What)> {
    let mut events = vec![(0, 1, 0, On)];
    for (child, cpu) in [(2, 1), (3, 2)] {
        events.push((0, 1, 0, Forked { child, process: false }));
        events.extend([(1, child, cpu, On), (2, child, cpu, What::Off(Futex))]);
    }
    for round in 0..rounds {
        let (t, call) = (200 * (round + 1), 10 * round);
        events.extend([(t, 3, 0, at(1, call, 7)), (t, 3, 2, On), (t + 1, 2, 0, at(1, call + 1, 7)), (t + 1, 2, 1, On)]);
        events.extend([(t + 5, 1, 0, What::Off(Futex))]);
        if told {
            events.extend([(t + 40, 1, 1, at(2, call + 2, 8)), (t + 40, 1, 0, On), (t + 41, 1, 0, What::Off(Futex))]);
        }
        events.extend([(t + 42, 2, 1, What::Off(Futex)), (t + 90, 1, 2, at(3, call + 3, 8)), (t + 90, 1, 0, On)]);
        events.extend([(t + 90, 3, 2, What::Off(Futex)), (t + 95, 2, 0, at(1, call + 4, 7)), (t + 95, 2, 1, On)]);
        events.extend([(t + 99, 1, 0, What::Off(Futex)), (t + 130, 1, 1, at(2, call + 5, 8)), (t + 130, 1, 0, On)]);
        events.extend([(t + 130, 2, 1, What::Off(Futex))]);
    }
    events
}

#[test]
fn a_thread_that_is_not_woken_by_what_is_done_takes_it_in_order() {
    let steps = |events: &[_]| recorded(&machine(), events).threads[0].steps.clone();
    let (first, third, fourth) = (5, 7, 8);
    let taken = Step::Result(first + 1);
    let found = steps(&in_rounds(8, false));
    let round = [Wake(first), Run(1), Wake(first + 1), Run(4), Step::Result(first), Run(5), Wake(third)];
    let from = found.iter().position(|step| *step == Wake(first)).unwrap();
    assert_eq!(found[from..from + 7], round, "{found:?}");
    assert_eq!(found[from + 7..from + 12], [Run(4), taken, Step::Result(third), Run(70), Wake(fourth)]);
    assert!(!found.contains(&Wait), "{found:?}");
    let none = |events: &[_]| !steps(events).iter().any(|step| matches!(step, Step::Result(_)));
    assert!(none(&in_rounds(8, true)), "it takes what is there");
    assert!(none(&in_rounds(3, false)), "which is too few to tell");
}

/// With some that begin with something of their own.
#[test]
fn half_of_them_have_to_wait_first() {
    let late = |workers: &[Tid]| {
        let mut events = with_one_partner(WAITING);
        for event in events.iter_mut().filter(|event| event.0 == 2 + WAITING.work && workers.contains(&event.1)) {
            event.0 = 90;
        }
        events.sort_by_key(|event| event.0);
        !recorded(&machine(), &events).items.is_empty()
    };
    assert!(late(&[]) && late(&[2]) && late(&[3]) && !late(&[2, 3]));
}

/// Late events and coarse clocks let several things happen at once. The wake-up that is written down first is that of the wait that is.
#[test]
fn wake_ups_at_one_time_are_told_apart() {
    let mut events = items(12);
    let after = events.iter().position(|event| event.0 == 200).unwrap();
    let wakes = |tid, by, cpu| (170, tid, cpu, What::Woken { by: Some(by), call: 0, word: 0 });
    let more = [
        (162, READER, 0, On),
        (164, READER, 0, What::Off(Futex)),
        wakes(4, WRITER, 1),
        (170, 4, 1, On),
        wakes(READER, 4, 1),
        (170, 4, 1, What::Off(Futex)),
        (170, READER, 0, On),
        wakes(4, READER, 0),
        (170, 4, 1, On),
        (172, 4, 1, What::Off(Futex)),
        (174, READER, 0, What::Off(Off::Preempted)),
    ];
    events.splice(after..after, more);
    let recording = recorded(&machine(), &events);
    assert!(!recording.items.is_empty());
    assert_eq!(Recording::from_text(&recording.to_text(), "test.ek"), Ok(recording));
}

proptest! {
    /// Whatever else happens meanwhile.
    #[test]
    fn recordings_with_lists_end(
        more in super::events(),
        count in 6..20_u64,
        stretch in 1..20_u64,
        kind in 0..3,
    ) {
        let mut events = match kind {
            0 => with_one_partner(WAITING),
            1 => in_rounds(count, false),
            _ => items(count),
        };
        events.extend(more.into_iter().map(|(at, tid, cpu, what)| (at * stretch / 10, tid + 1, cpu, what)));
        events.sort_by_key(|event| event.0);
        let recording = recorded(&machine(), &events);
        prop_assert_eq!(Recording::from_text(&recording.to_text(), "test.ek"), Ok(recording));
    }

    /// With few other events, so that most of these have lists.
    #[test]
    fn so_do_those_with_few_other_events(
        more in prop::collection::vec((0..2000_u64, 1..7_u32, 0..4_u16, super::what()), 0..4),
        count in 6..20_u64,
        // Of so few times that much happens at once.
        coarse in prop_oneof![Just(1), Just(50), Just(500_u64)],
        lost in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        ordered in any::<bool>(),
    ) {
        let mut events = if ordered { in_rounds(count, false) } else { items(count) };
        let nothing_else = more.is_empty() && lost.is_empty();
        events.extend(more);
        events.sort_by_key(|event| event.0);
        for index in lost {
            events.remove(index.index(events.len()));
        }
        events.iter_mut().for_each(|event| event.0 -= event.0 % coarse);
        let recording = recorded(&machine(), &events);
        prop_assert!(!nothing_else || !recording.items.is_empty());
        prop_assert_eq!(Recording::from_text(&recording.to_text(), "test.ek"), Ok(recording));
    }
}
