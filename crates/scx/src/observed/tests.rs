use super::*;
use crate::moments::Moments;

/// No threads have these numbers: they are above what the kernel gives.
const FIRST: Tid = 1 << 30;

/// CPUs 0 and 1 are big, 2 and 3 little.
fn observed() -> Observed {
    Observed::new(&Plan::of_a_test(true), Ns::ZERO, Moments::new().1)
}

/// A thread that has run for so many ms on big cores and on little ones.
fn thread(tid: Tid, cpu: u16, run: [u64; 2]) -> ThreadNow {
    let run = run.map(Ns::from_ms).to_vec();
    ThreadNow { tid, process: FIRST, cpu, run, state: State::Running, ..ThreadNow::default() }
}

fn moment(at: u64, takeovers: usize, living: Vec<ThreadNow>, gone: Vec<ThreadNow>) -> Moment {
    Moment { at: Ns::from_ms(at), takeovers, living, gone, pairs: Vec::new() }
}

fn slices(observed: &Observed, cpu: u16) -> Vec<(Tid, u64, u64)> {
    let lane = observed.timeline().lanes().find(|(lane, _)| *lane == cpu).map_or(&[][..], |(_, slices)| slices);
    lane.iter().map(|slice| (slice.who - FIRST, slice.from.0 / 1_000_000, slice.to.0 / 1_000_000)).collect()
}

#[test]
fn counts_that_begin_anew_add_up_and_what_was_before_is_not_drawn_again() {
    let mut observed = observed();
    observed.add(moment(50, 0, vec![thread(FIRST, 0, [50, 0])], vec![]));
    observed.add(moment(100, 0, vec![thread(FIRST, 2, [80, 20])], vec![]));
    // Another policy takes over, which takes 50 ms.
    observed.add(moment(150, 1, vec![thread(FIRST, 2, [0, 1])], vec![]));
    observed.add(moment(200, 1, vec![thread(FIRST, 2, [0, 50])], vec![]));
    let threads = observed.threads();
    assert_eq!(threads.len(), 1);
    assert_eq!(threads[0].run[..2], [80, 70].map(Ns::from_ms));
    assert_eq!(slices(&observed, 0), [(0, 0, 80)]);
    assert_eq!(slices(&observed, 2), [(0, 80, 100), (0, 151, 200)]);
}

#[test]
fn threads_that_have_ended_are_seen_to_their_end() {
    let mut observed = observed();
    observed.add(moment(50, 0, vec![thread(FIRST, 0, [50, 0]), thread(FIRST + 1, 1, [30, 0])], vec![]));
    let gone = vec![thread(FIRST + 1, 1, [40, 0]), thread(FIRST + 2, 3, [0, 5])];
    observed.add(moment(100, 0, vec![thread(FIRST, 0, [100, 0])], gone));
    let ran: Vec<(Tid, Ns)> = observed.threads().iter().map(|thread| (thread.tid - FIRST, thread.run[0])).collect();
    assert_eq!(ran, [(0, Ns::from_ms(100)), (1, Ns::from_ms(40))], "one was never seen alive");
    assert_eq!(slices(&observed, 3), [(2, 95, 100)]);
}

/// The number of its process's first thread, which ends: by it the thread counts from zero.
#[test]
fn what_a_thread_did_before_exec_gave_it_another_number_counts_once() {
    let mut observed = observed();
    observed.add(moment(50, 0, vec![thread(FIRST, 0, [20, 0]), thread(FIRST + 1, 1, [30, 0])], vec![]));
    let gone = vec![thread(FIRST, 0, [20, 0]), thread(FIRST + 1, 1, [40, 0])];
    observed.add(moment(100, 0, vec![thread(FIRST, 1, [30, 0])], gone));
    let ran: Vec<(Tid, Ns)> = observed.threads().iter().map(|thread| (thread.tid - FIRST, thread.run[0])).collect();
    assert_eq!(ran, [(0, Ns::from_ms(50)), (1, Ns::from_ms(40))]);
}

#[test]
fn a_later_thread_with_the_number_of_one_that_has_ended_has_an_account_of_its_own() {
    let mut observed = observed();
    let waits = PairWaits { waiter: FIRST + 1, waker: FIRST, waited: Ns::from_ms(30), times: 2 };
    // The kernel's part counts on.
    let with = |moment: Moment| Moment { pairs: vec![waits], ..moment };
    observed.add(with(moment(50, 0, vec![thread(FIRST, 0, [50, 0])], vec![])));
    assert_eq!(observed.threads()[0].blame, Ns::from_ms(30));
    observed.add(with(moment(100, 0, vec![], vec![thread(FIRST, 0, [60, 0])])));
    observed.add(with(moment(150, 0, vec![thread(FIRST, 0, [10, 0])], vec![])));
    let later = &observed.threads()[0];
    assert_eq!((later.run[0], later.blame), (Ns::from_ms(10), Ns::ZERO));
}

#[test]
fn however_many_threads_end_memory_is_bounded() {
    let mut observed = observed();
    let mut tids = FIRST + 1..;
    for round in 1..=8 {
        let living = tids.by_ref().take(4096).map(|tid| thread(tid, 0, [round, 0]));
        let living = living.chain([thread(FIRST, 1, [1, 0])]).collect();
        observed.add(moment(50 * round, 0, living, vec![]));
        assert!(observed.threads().len() <= KEPT + 4097);
    }
    assert!(observed.forgotten() > 0);
    assert_eq!(observed.threads().len() as u64 + observed.forgotten(), 8 * 4096 + 1);
    let kept: Vec<Tid> = observed.threads().iter().map(|thread| thread.tid).collect();
    assert!(kept.contains(&FIRST), "it lives");
    assert_eq!(observed.threads()[0].run[0], Ns::from_ms(8), "the ones that ran longest are kept");
}

#[test]
fn who_waited_for_whom_adds_up_over_moments_and_takeovers() {
    let mut observed = observed();
    for (at, takeovers, ms, times) in [(50, 0, 10, 1), (100, 0, 30, 2), (150, 1, 5, 1), (200, 1, 45, 3)] {
        let waits = PairWaits { waiter: FIRST, waker: FIRST + 1, waited: Ns::from_ms(ms), times };
        observed.add(Moment { pairs: vec![waits], ..moment(at, takeovers, vec![], vec![]) });
    }
    let sum = PairWaits { waiter: FIRST, waker: FIRST + 1, waited: Ns::from_ms(30 + 45), times: 2 + 3 };
    assert_eq!(observed.pairs(), [sum]);
}

/// As `linux::host::Waits` has it: of four cores a thread with less than half a percent waits for work.
#[test]
fn threads_that_wait_for_work_do_not_count() {
    let mut observed = observed();
    let wait = |waiter: Tid, waker: Tid| PairWaits { waiter, waker, waited: Ns::from_ms(7), times: 1 };
    let pairs = [wait(FIRST + 1, FIRST), wait(FIRST + 2, FIRST), wait(FIRST + 9, FIRST)].into();
    let living = vec![thread(FIRST, 0, [990, 0]), thread(FIRST + 1, 1, [4, 0]), thread(FIRST + 2, 2, [0, 6])];
    observed.add(Moment { pairs, ..moment(1000, 0, living, vec![]) });
    let waiters: Vec<Tid> = observed.pairs().iter().map(|pair| pair.waiter - FIRST).collect();
    assert_eq!(waiters, [2, 9], "of one that was never seen it is not known");
    assert_eq!(observed.threads()[0].blame, Ns::from_ms(14));
}
