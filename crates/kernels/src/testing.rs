//! A pool for tests: real threads, few of them, and tasks so small that small inputs split.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::{Kernel, Pool, Serial};

/// How many threads `Threads` starts at most, over all tests at a time.
const MOST: usize = 6;

static STARTED: AtomicUsize = AtomicUsize::new(0);

/// `join` on a thread of its own while there are fewer than `MOST`, otherwise in place.
pub struct Threads;

impl Pool for Threads {
    fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        if STARTED.fetch_add(1, Relaxed) >= MOST {
            STARTED.fetch_sub(1, Relaxed);
            // The other way round than `Serial`: a kernel must not rely on the order.
            let second = b();
            return (a(), second);
        }
        let both = std::thread::scope(|scope| {
            let second = scope.spawn(b);
            (a(), second.join().expect("the second closure panicked"))
        });
        STARTED.fetch_sub(1, Relaxed);
        both
    }

    fn grain(&self, suggested: usize) -> usize {
        suggested.clamp(1, 5)
    }
}

/// Runs a kernel on both pools, checks both results, and compares what is the same in every run.
pub fn verify<K: Kernel>(input: &K::Input) {
    let serial = K::run(&Serial, input);
    K::check(input, &serial).unwrap_or_else(|wrong| panic!("{} serially: {wrong}", K::INFO.name));
    let parallel = K::run(&Threads, input);
    K::check(input, &parallel).unwrap_or_else(|wrong| panic!("{} in parallel: {wrong}", K::INFO.name));
    assert_eq!(K::digest(&serial), K::digest(&parallel), "{}", K::INFO.name);
}
