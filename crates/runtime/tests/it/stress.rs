//! Four workers on each core, and the system takes them off at any moment: queues run full and empty, workers fall asleep and are woken.
#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use evenkeel_runtime::{Pool, join, par_for, par_map_reduce, scope};

/// Ten times as much where there is time.
fn rounds() -> usize {
    if std::env::var_os("EVENKEEL_SLOW").is_some() { 100 } else { 10 }
}

fn crowd() -> Pool {
    let cores = thread::available_parallelism().map_or(2, |cores| cores.get());
    Pool::new(4 * cores).unwrap()
}

/// Counts its leaves, with tasks of very different sizes, and gives up its core now and then.
fn tree(depth: usize, seed: usize) -> usize {
    if depth == 0 {
        return 1;
    }
    if seed.is_multiple_of(61) {
        thread::yield_now();
    }
    let next = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) >> 1;
    let lopsided = if next.is_multiple_of(3) { depth / 2 } else { depth - 1 };
    let (a, b) = join(|| tree(depth - 1, next), || tree(lopsided, next + 1));
    a + b
}

fn serial(depth: usize, seed: usize) -> usize {
    if depth == 0 {
        return 1;
    }
    let next = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) >> 1;
    let lopsided = if next.is_multiple_of(3) { depth / 2 } else { depth - 1 };
    serial(depth - 1, next) + serial(lopsided, next + 1)
}

#[test]
fn lopsided_trees() {
    let pool = crowd();
    for seed in 0..rounds() {
        assert_eq!(pool.install(|| tree(18, seed)), serial(18, seed));
    }
}

#[test]
fn bursts_after_silence() {
    let pool = crowd();
    for round in 0..20 * rounds() {
        // So long that some sleep, some are about to, and some still search for work.
        (0..round % 7 * 1000).for_each(|_| std::hint::spin_loop());
        let done = AtomicUsize::new(0);
        pool.scope(|scope| {
            for _ in 0..round % 40 {
                scope.spawn(|scope| {
                    scope.spawn(|_| {
                        done.fetch_add(1, Ordering::Relaxed);
                    });
                });
            }
        });
        assert_eq!(done.into_inner(), round % 40);
    }
}

#[test]
fn everything_at_once() {
    let (a, b) = (crowd(), crowd());
    let sum = AtomicUsize::new(0);
    thread::scope(|threads| {
        for caller in 0..6 {
            let (a, b, sum) = (&a, &b, &sum);
            threads.spawn(move || {
                let (own, other) = if caller % 2 == 0 { (a, b) } else { (b, a) };
                for _ in 0..rounds() {
                    own.par_for(0..20, |i| {
                        let part = other.install(|| par_map_reduce(0..i, || 0, |j| j, |a, b| a + b));
                        scope(|scope| {
                            scope.spawn(|_| {
                                sum.fetch_add(part, Ordering::Relaxed);
                            });
                            par_for(0..5, |_| {
                                sum.fetch_add(1, Ordering::Relaxed);
                            });
                        });
                    });
                }
            });
        }
    });
    let once: usize = (0..20).map(|i| (0..i).sum::<usize>() + 5).sum();
    assert_eq!(sum.into_inner(), 6 * rounds() * once);
}
