//! Threads that wait for each other at a word: whether that is a lock.

use Off::Futex;
use What::{Forked, On};

use super::{machine, recorded};
use crate::event::{Off, Sharing, Tid, What};
use evenkeel_workload::recording::{Division, Recording, Step};

const WORD: u32 = 7;

fn at(by: Tid, call: u64) -> What {
    What::Woken { by: Some(by), call: 1 + call as u32, word: WORD }
}

/// A thread starts so many, each on a CPU of its own.
fn started(count: u32) -> Vec<(u64, Tid, u16, What)> {
    let threads = 2..2 + count;
    let mut events = vec![(0, 1, 0, On)];
    events.extend(threads.clone().map(|child| (0, 1, 0, Forked { child, process: false })));
    events.push((0, 1, 0, What::Off(Futex)));
    events.extend(threads.map(|one| (0, one, cpu(one), On)));
    events
}

fn cpu(thread: Tid) -> u16 {
    (thread - 2) as u16
}

/// At a time a thread wakes one that waits, which runs.
fn hands_on(t: u64, from: Tid, to: Tid, call: u64) -> [(u64, Tid, u16, What); 2] {
    [(t, to, cpu(from), at(from, call)), (t, to, cpu(to), On)]
}

/// Whether a recording, which loads, has locks.
fn takes_locks(recording: &Recording) -> bool {
    assert_eq!(Recording::from_text(&recording.to_text(), "locks.ek").as_ref(), Ok(recording));
    recording.threads.iter().flat_map(|thread| &thread.steps).any(|step| matches!(step, Step::Lock(_)))
}

/// Three threads that have a lock for 20 ns. In each round the second comes while the first has it, and the third while the second waits; they
/// change places from round to round.
fn handing_on(rounds: u64) -> Vec<(u64, Tid, u16, What)> {
    let mut events = started(3);
    for round in 0..rounds {
        let t = 1000 * round;
        let [first, second, third] = [0, 1, 2].map(|place| 2 + ((round + place) % 3) as Tid);
        events
            .extend([(t + 110, second, cpu(second), What::Off(Futex)), (t + 115, third, cpu(third), What::Off(Futex))]);
        events.extend(hands_on(t + 120, first, second, 2 * round));
        events.extend(hands_on(t + 140, second, third, 2 * round + 1));
    }
    events
}

#[test]
fn who_waits_while_others_do_says_how_long_a_lock_is_had() {
    let recording = recorded(&machine(), &handing_on(40));
    let of = |thread: usize, wanted: fn(&Step) -> bool| {
        recording.threads[thread].steps.iter().filter(|step| wanted(step)).count()
    };
    for thread in 1..4 {
        assert!(of(thread, |step| matches!(step, Step::Lock(0))) >= 40, "{recording:?}");
        assert_eq!(of(thread, |step| matches!(step, Step::Wait | Step::Wake(_))), 0);
    }
    // What the second does until it wakes the third.
    assert!(
        recording.threads[2].steps.windows(3).any(|three| three == [Step::Lock(0), Step::Run(20), Step::Unlock(0)])
    );
    assert!(takes_locks(&recorded(&machine(), &handing_on(12))));
    assert!(!takes_locks(&recorded(&machine(), &handing_on(11))), "22 waits are too few");
}

/// It seems that the third does its part of a loop while it has the lock: it has given it up before, and taken it again.
#[test]
fn work_that_is_shared_out_is_done_without_a_lock() {
    let mut events = handing_on(40);
    events.insert(1, (0, 1, 0, What::Shares(Sharing::RegionBegins(None))));
    let division = Division { pieces: 100, guided: false };
    let parts = |t: u64, thread: Tid| {
        let part = [(142, Sharing::LoopBegins { place: 1, division }), (150, Sharing::LoopEnds)];
        part.map(|(at, what)| (t + at, thread, cpu(thread), What::Shares(what)))
    };
    for round in (0..39).filter(|round| round % 3 == 0) {
        let t = 1000 * round;
        events.extend(parts(t, 4).into_iter().chain(parts(t + 300, 2)));
        events.push((t + 160, 3, 1, What::Off(Futex)));
        events.extend(hands_on(t + 170, 4, 3, 1000 + round));
    }
    events.sort_by_key(|event| event.0);
    let recording = recorded(&machine(), &events);
    let shares = recording.threads[3].steps.iter().filter(|step| matches!(step, Step::Share { .. })).count();
    assert!(takes_locks(&recording) && shares > 0, "{shares}");
}

/// One after the other: waits at one do not count against the other.
#[test]
fn a_program_may_have_several_locks() {
    let mut events = handing_on(40);
    let again: Vec<_> = events.iter().copied().filter(|event| event.0 >= 110).collect();
    events.extend(again.into_iter().map(|(t, tid, cpu, what)| match what {
        What::Woken { by, call, .. } => (t + 500, tid, cpu, What::Woken { by, call: call + 5000, word: WORD + 1 }),
        what => (t + 500, tid, cpu, what),
    }));
    events.sort_by_key(|event| event.0);
    let recording = recorded(&machine(), &events);
    let all = || recording.threads.iter().flat_map(|thread| &thread.steps);
    assert!(takes_locks(&recording) && [0, 1].iter().all(|lock| all().any(|step| *step == Step::Lock(*lock))));
}

#[test]
fn threads_that_take_turns_have_no_lock() {
    let mut events = started(2);
    events.push((5, 3, 1, What::Off(Futex)));
    for turn in 0..100 {
        let (t, from, to) = (100 * (turn + 1), 2 + (turn % 2) as Tid, 3 - (turn % 2) as Tid);
        events.extend(hands_on(t, from, to, turn));
        events.push((t, from, cpu(from), What::Off(Futex)));
    }
    assert!(!takes_locks(&recorded(&machine(), &events)));
}

#[test]
fn who_only_wakes_fills_a_queue() {
    let mut events = started(2);
    for item in 0..100 {
        let t = 100 * (item + 1);
        events.push((t, 3, 1, What::Off(Futex)));
        events.extend(hands_on(t + 50, 2, 3, item));
    }
    assert!(!takes_locks(&recorded(&machine(), &events)));
}

/// Two of three have it at a time, each for 200 ns, and hand it on in turn.
#[test]
fn what_several_have_at_a_time_is_no_lock() {
    let mut events = started(3);
    events.extend([(1, 4, 2, What::Off(Futex))]);
    for turn in 0..100 {
        let (t, from, to) = (100 * (turn + 1), 2 + (turn % 3) as Tid, 2 + ((turn + 2) % 3) as Tid);
        events.extend(hands_on(t, from, to, turn));
        // It does something else, and comes again when the other one still has it.
        events.push((t + 40, from, cpu(from), What::Off(Futex)));
    }
    assert!(!takes_locks(&recorded(&machine(), &events)));
}

/// Who has had its turn wakes both others: the first is not next, and waits again. One call may take a while.
#[test]
fn who_wakes_all_that_wait_for_their_turns_gives_up_no_lock() {
    let takes_locks = |calls: u64| {
        let mut events = started(3);
        events.extend([3, 4].map(|one| (10, one, cpu(one), What::Off(Futex))));
        for turn in 0..40 {
            let t = 200 * (turn + 1);
            let [owner, next, other] = [0, 1, 2].map(|place| 2 + ((turn + place) % 3) as Tid);
            events.extend(hands_on(t, owner, other, calls * turn));
            events.push((t + 6, other, cpu(other), What::Off(Futex)));
            events.extend(hands_on(t + 20, owner, next, calls * (turn + 1) - 1));
            events.push((t + 30, owner, cpu(owner), What::Off(Futex)));
        }
        takes_locks(&recorded(&machine(), &events))
    };
    assert!(!takes_locks(1), "one call wakes both");
    assert!(takes_locks(2), "a call for each could be a lock");
}

/// 2 wakes one of five that wait for an item, who takes it and wakes the next one at once, in case that there is another item.
#[test]
fn who_waits_for_what_comes_waits_for_no_lock() {
    let consumers = 3..8;
    let on = |thread: Tid| 1 + (thread % 2) as u16;
    let mut events = vec![(0, 1, 0, On)];
    events.extend((2..8).map(|child| (0, 1, 0, Forked { child, process: false })));
    events.extend([(1, 1, 0, What::Off(Futex)), (1, 2, 0, On)]);
    for thread in consumers.clone() {
        let t = 10 * u64::from(thread);
        events.extend([(t, thread, on(thread), On), (t + 5, thread, on(thread), What::Off(Futex))]);
    }
    for item in 0..100 {
        for thread in consumers.clone() {
            let t = 1000 * (item + 1) + 5 * u64::from(thread);
            let by = if thread == 3 { 0 } else { on(thread - 1) };
            events.push((t, thread, by, at(thread - 1, 10 * item + u64::from(thread))));
            events.extend([(t, thread, on(thread), On), (t + 8, thread, on(thread), What::Off(Futex))]);
        }
    }
    events.sort_by_key(|event| event.0);
    assert!(!takes_locks(&recorded(&machine(), &events)));
}
