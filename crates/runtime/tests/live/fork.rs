//! Forks of a thread that a pool has bound.
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "forking is")]
#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

#[path = "../support/forked.rs"]
mod forked;

use evenkeel_runtime::{Pool, PoolBuilder, this_machine};
use rustix::thread::sched_getaffinity;

use forked::{End, forked, works};

#[test(two_cpus)]
fn a_child_of_a_bound_thread_is_not_bound() {
    let machine = this_machine().unwrap();
    let [big, little] = [0, 1].map(|cpu: usize| machine.ids()[cpu].to_string());
    let machine = machine.with(Some(&big), Some(&little), Some(3.0)).unwrap();
    let pool = PoolBuilder::new().cores(machine).build().unwrap();
    let before = sched_getaffinity(None).unwrap();
    let end = pool.install(|| {
        assert_eq!(sched_getaffinity(None).unwrap().count(), 1);
        forked(|| {
            works(&pool);
            assert_eq!(sched_getaffinity(None).unwrap(), before);
            let mask = Pool::new(2).unwrap().install(|| sched_getaffinity(None).unwrap());
            assert_eq!(mask, before);
        })
    });
    assert_eq!(end, End::well());
    works(&pool);
    assert_eq!(sched_getaffinity(None).unwrap(), before);
}
