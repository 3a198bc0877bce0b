//! A panic reaches the thread that waits, after everything that borrows has ended.
#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use evenkeel_runtime::{Pool, graph, join, par_for, par_map_reduce, scope};

/// Panics without a message on the terminal.
fn fail(code: u32) -> u32 {
    resume_unwind(Box::new(code))
}

/// What `f` panics with in pools of several sizes.
fn panics_with(f: impl Fn() -> u32 + Sync) -> Vec<u32> {
    (1..4)
        .flat_map(|threads| {
            let pool = Pool::new(threads).unwrap();
            (0..if cfg!(miri) { 1 } else { 20 })
                .map(|_| {
                    let panic = catch_unwind(AssertUnwindSafe(|| pool.install(&f))).unwrap_err();
                    // The pool is as good as before.
                    assert_eq!(pool.join(|| 1, || 2), (1, 2));
                    *panic.downcast::<u32>().unwrap()
                })
                .collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn the_payload_is_carried() {
    assert!(panics_with(|| join(|| fail(1), || 0).0).iter().all(|&code| code == 1));
    assert!(panics_with(|| join(|| 0, || fail(2)).0).iter().all(|&code| code == 2));
    assert!(panics_with(|| join(|| join(|| 0, || fail(3)).0, || join(|| 0, || 0).0).0).iter().all(|&code| code == 3));
}

#[test]
fn the_first_side_wins() {
    assert!(panics_with(|| join(|| fail(1), || fail(2)).0).iter().all(|&code| code == 1));
}

#[test]
fn both_sides_end_first() {
    let ended = AtomicUsize::new(0);
    let end = || {
        std::thread::yield_now();
        ended.fetch_add(1, Ordering::SeqCst);
        0
    };
    let rounds = panics_with(|| join(|| fail(1), end).0).len() + panics_with(|| join(end, || fail(1)).0).len();
    assert_eq!(ended.into_inner(), rounds);
}

#[test]
fn a_task_of_a_scope_may_panic() {
    let others = AtomicUsize::new(0);
    let codes = panics_with(|| {
        scope(|scope| {
            for i in 0..10 {
                scope.spawn(|_| {
                    others.fetch_add(1, Ordering::SeqCst);
                });
                if i == 5 {
                    scope.spawn(|scope| {
                        scope.spawn(|_| {
                            fail(4);
                        })
                    });
                }
            }
        });
        0
    });
    assert!(codes.iter().all(|&code| code == 4));
    assert_eq!(others.into_inner(), codes.len() * 10);
}

#[test]
fn the_body_of_a_scope_wins() {
    let codes = panics_with(|| {
        scope(|scope| {
            scope.spawn(|_| {
                fail(5);
            });
            fail(6)
        })
    });
    assert!(codes.iter().all(|&code| code == 6));
}

#[test]
fn many_panics_are_one() {
    let codes = panics_with(|| {
        par_for(0..100, |i| {
            if i % 10 == 7 {
                fail(i as u32);
            }
        });
        0
    });
    assert!(codes.iter().all(|&code| code % 10 == 7));
    let codes = panics_with(|| par_map_reduce(0..100, || 0, |_| 1, |_, _| fail(8)));
    assert!(codes.iter().all(|&code| code == 8));
}

#[test]
fn panics_pass_from_pool_to_pool() {
    let inner = Pool::new(2).unwrap();
    assert!(panics_with(|| inner.install(|| join(|| 0, || fail(9)).0)).iter().all(|&code| code == 9));
}

#[test]
fn a_spawned_panic_ends_its_task_alone() {
    for threads in 1..3 {
        let pool = Pool::new(threads).unwrap();
        pool.spawn(|| resume_unwind(Box::new(Spiteful)));
        assert_eq!(pool.join(|| 1, || 2), (1, 2));
    }
}

#[test]
fn of_two_panics_the_second_is_dropped() {
    let spite = || resume_unwind(Box::new(Spiteful));
    assert!(panics_with(|| join(|| fail(1), spite).0).iter().all(|&code| code == 1));
    let codes = panics_with(|| {
        scope(|scope| {
            scope.spawn(|_| spite());
            scope.spawn(|_| spite());
            fail(6)
        })
    });
    assert!(codes.iter().all(|&code| code == 6));
    let codes = panics_with(|| {
        graph(|graph| {
            graph.task(()).spawn(|()| spite());
            fail(7)
        })
    });
    assert!(codes.iter().all(|&code| code == 7));
}

/// A payload that panics when it is dropped.
struct Spiteful;

impl Drop for Spiteful {
    fn drop(&mut self) {
        panic_any(10u32);
    }
}
