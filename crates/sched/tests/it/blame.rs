//! Who is to blame for waits, worked out by hand: a lock that is passed on from one waiter to the next.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use evenkeel_model::{Clamp, Class, CoreId, Ns, ProgramId, ThreadId, ThreadKind, machines};
use evenkeel_sched::{NewThread, Scheduler, Setup};

/// A scheduler with so many threads.
fn with_threads(policy: &str, threads: usize) -> (Scheduler, Vec<ThreadId>) {
    let machine = machines::by_name("2B2S").unwrap();
    let mut sched = Scheduler::new(machine.clone(), Setup::parse(policy).unwrap().make(), None);
    let spec = NewThread {
        program: ProgramId(0),
        kind: ThreadKind::Application,
        class: Class::fair(0),
        cores: machine.all(),
        on: CoreId(0),
        clamp: Clamp::default(),
    };
    let threads = (0..threads).map(|_| sched.create(&spec)).collect();
    (sched, threads)
}

fn blame(sched: &Scheduler, threads: &[ThreadId]) -> Vec<u64> {
    threads.iter().map(|thread| sched.state().thread(*thread).blame.0).collect()
}

/// The first one holds a lock from 0 to 10 ms. The second one wants it from 1 ms on, the third from 2 ms on. The second one holds it
/// from 10 to 14 ms.
fn convoy(policy: &str) -> Vec<u64> {
    let (mut sched, threads) = with_threads(policy, 3);
    sched.released(Ns(10), threads[1], Some(threads[0]), Ns(9));
    sched.released(Ns(14), threads[2], Some(threads[1]), Ns(12));
    blame(&sched, &threads)
}

#[test]
fn each_holder_is_blamed_for_the_time_that_it_had_the_lock() {
    for policy in ["pfs", "wash:culprit=holders", "colab:culprit=holders"] {
        assert_eq!(convoy(policy), [9 + 8, 4, 0], "{policy}");
    }
}

#[test]
fn papers_that_blame_the_releasing_thread_blame_it_for_all() {
    for policy in ["wash", "colab"] {
        assert_eq!(convoy(policy), [9, 12, 0], "{policy}");
    }
}

#[test]
fn a_wait_that_no_thread_ended_was_for_none() {
    let (mut sched, threads) = with_threads("pfs", 3);
    sched.released(Ns(10), threads[1], Some(threads[0]), Ns(9));
    // A time-out: it waited for no thread, and what it did before that wait is its own.
    sched.released(Ns(12), threads[1], None, Ns(1));
    sched.released(Ns(14), threads[2], Some(threads[1]), Ns(12));
    assert_eq!(blame(&sched, &threads), [9, 12, 0]);
}

#[test]
fn who_had_the_lock_is_known_whatever_the_policy_blames() {
    for policy in ["pfs", "colab"] {
        let (mut sched, threads) = with_threads(policy, 3);
        sched.released(Ns(10), threads[1], Some(threads[0]), Ns(9));
        let holders: Vec<(ThreadId, Ns)> = sched.holders(Ns(14), Some(threads[1]), Ns(12)).collect();
        assert_eq!(holders, [(threads[1], Ns(4)), (threads[0], Ns(8))], "{policy}");
        assert_eq!(sched.holders(Ns(14), None, Ns(12)).count(), 0);
    }
}

/// In a queue of any length all that was waited for is some thread's fault.
#[test]
fn no_waiting_is_lost_or_counted_twice() {
    for length in 2..40_u64 {
        let (mut sched, threads) = with_threads("pfs", length as usize);
        // All want the lock at once, and each holds it for 5 ns.
        for next in 1..length {
            let by = threads[next as usize - 1];
            sched.released(Ns(5 * next), threads[next as usize], Some(by), Ns(5 * next));
        }
        let waited: u64 = (1..length).map(|next| 5 * next).sum();
        let blame = blame(&sched, &threads);
        assert_eq!(blame.iter().sum::<u64>(), waited, "{length}");
        if length <= 17 {
            let behind: Vec<u64> = (1..=length).rev().map(|behind| 5 * (behind - 1)).collect();
            assert_eq!(blame, behind, "each for 5 ns of all that are behind it");
        }
    }
}
