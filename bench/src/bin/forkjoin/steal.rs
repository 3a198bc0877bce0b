//! How soon another worker takes what a join leaves to it, while the worker that has joined waits for nothing else.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::programs::Fork;

/// Joins that are measured in a round, the median of which counts.
const JOINS: usize = 51;
/// After so long without work all workers sleep.
const REST: Duration = Duration::from_millis(2);

/// What the other workers do before the join.
#[derive(Clone, Copy, PartialEq)]
pub enum Before {
    /// They have just done something.
    Busy,
    /// They sleep.
    Asleep,
}

impl Before {
    pub const ALL: [Before; 2] = [Before::Busy, Before::Asleep];

    pub fn name(self) -> &'static str {
        match self {
            Before::Busy => "just busy",
            Before::Asleep => "asleep",
        }
    }
}

/// From a join until its second half has begun on another worker, in ns.
fn once<F: Fork>(fork: F) -> f64 {
    let taken = AtomicBool::new(false);
    let start = Instant::now();
    let wait = |_: F| {
        while !taken.load(Ordering::Acquire) {
            std::hint::spin_loop();
        }
    };
    let take = |_: F| {
        let after = start.elapsed();
        taken.store(true, Ordering::Release);
        after
    };
    fork.join(wait, take).1.as_secs_f64() * 1e9
}

/// The median of a round, in ns. `enter` has something done by a worker of the pool.
pub fn measure<F: Fork>(fork: F, enter: impl Fn(&(dyn Fn() -> f64 + Sync)) -> f64, before: Before) -> f64 {
    let mut times: Vec<f64> = (0..JOINS)
        .map(|_| {
            if before == Before::Asleep {
                thread::sleep(REST);
            }
            // Of two joins in a row the second finds the other worker where the first has left it.
            enter(&|| {
                let first = once(fork);
                if before == Before::Busy { once(fork) } else { first }
            })
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[JOINS / 2]
}
