//! Loops of which threads take chunks, one after the other (`schedule(dynamic, n)`): how large these are.
//!
//! Problem: a slow core that takes one of the last chunks is late by most of the time that this takes it, and all others wait.
//!
//! Approach: where a loop has so few chunks that this would be seen, they are smaller: a slow core has one then for as long as a fast core would
//! have the one that the program has asked for. Fast cores take more of them. They are the same for all threads, as OpenMP's libraries want it.
//! Chunks of `schedule(guided)` are left alone: they may be too large at its beginning, but a program says only what their least size is. Where libomp has threads begin in parts of their own and steal chunks from others, which it
//! does unless a loop is monotonic, the same holds for the last ones.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};

use crate::libomp::{Bounds, Ident, MODIFIERS, MONOTONIC, trips};
use crate::real::{Replaced, as_c_str};
use crate::tool::of_cores;
use crate::user_schedule::{self, ONE_CHUNK, RUNTIME, UserSchedule};

/// `kmp_sch_dynamic_chunked` (openmp/runtime/src/kmp.h in LLVM), whatever its modifiers say of the order.
const DYNAMIC: i32 = 35;
/// A core may be late by so much of what the loop takes. Where it would be less, smaller chunks cost as much as they gain (`bench/loops`: of the stencil, whose
/// 87 chunks have a core late by 5 % at most, 1 to 11 % more in five of six pairs of runs on an emulated 1B1L:3).
const LATE: f64 = 0.1;

/// How many iterations a chunk has, of a loop with `trips` of them in which the program asks for `chunk`, on cores of these speeds.
pub fn chunk(trips: u64, chunk: u64, speeds: impl Iterator<Item = f64>) -> u64 {
    let (mut slowest, mut fastest, mut all) = (f64::INFINITY, 0.0_f64, 0.0);
    for speed in speeds {
        (slowest, fastest, all) = (slowest.min(speed), fastest.max(speed), all + speed);
    }
    let (late, takes) = (chunk as f64 / slowest, trips as f64 / all);
    if late <= LATE * takes { chunk } else { ((chunk as f64 * slowest / fastest).round() as u64).max(1) }
}

/// With which schedule and chunk a loop begins in libomp that the compiler gives this schedule and chunk. `None` if threads take no chunks there by
/// turns, or none of several iterations.
fn instead(
    schedule: i32,
    chunk: Option<u64>,
    user: Option<UserSchedule>,
    trips: u64,
    speeds: impl Iterator<Item = f64>,
) -> Option<(i32, u64)> {
    let (schedule, asked) = match schedule & !MODIFIERS {
        DYNAMIC => (schedule, chunk?),
        RUNTIME => {
            let Some(UserSchedule::Dynamic { chunk, monotonic }) = user else { return None };
            (if monotonic { DYNAMIC | MONOTONIC } else { DYNAMIC }, chunk)
        }
        _ => return None,
    };
    (asked > 1).then(|| (schedule, begin(trips, asked, speeds)))
}

/// How often such a loop was begun, and how often with smaller chunks: by each thread, but once for a team by a `parallel for` of GCC's.
static BEGUN: AtomicU64 = AtomicU64::new(0);
static SMALLER: AtomicU64 = AtomicU64::new(0);

/// As [`chunk`], for a loop that begins.
pub fn begin(trips: u64, asked: u64, speeds: impl Iterator<Item = f64>) -> u64 {
    let own = chunk(trips, asked, speeds);
    BEGUN.fetch_add(1, Ordering::Relaxed);
    SMALLER.fetch_add(u64::from(own < asked), Ordering::Relaxed);
    own
}

/// A line about the chunks, if such a loop was begun.
pub fn report() -> String {
    let (begun, smaller) = (BEGUN.load(Ordering::Relaxed), SMALLER.load(Ordering::Relaxed));
    if begun == 0 {
        return String::new();
    }
    format!(
        "evenkeel: schedule(dynamic): smaller chunks in {smaller} of {begun} loops whose chunks have several iterations (each thread \
         counts, but not in a `parallel for` of GCC's)\n"
    )
}

macro_rules! init {
    ($($name:ident: $variable:ty, $step:ty;)*) => { $(
        /// In the place of libomp's function of this name, which each thread calls before it takes chunks of a loop.
        ///
        /// # Safety
        /// As for that function, which a compiler calls.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            at: *const Ident, thread: i32, schedule: i32, lower: $variable, upper: $variable, step: $step, size: $step,
        ) {
            type Function = unsafe extern "C" fn(*const Ident, i32, i32, $variable, $variable, $step, $step);
            static REPLACED: Replaced = Replaced::new(const { as_c_str(concat!(stringify!($name), "\0")) });
            let real = REPLACED.real(at.cast());
            let whole = Bounds { lower, upper };
            let other = || {
                if user_schedule::begin(real.library, schedule, whole, step.into()) {
                    return Some((ONE_CHUNK, size));
                }
                let trips = trips(whole, step.into())?;
                let (schedule, chunk) = of_cores(real.library, |user, speeds| {
                    instead(schedule, u64::try_from(size).ok(), user, trips, speeds)
                })??;
                Some((schedule, <$step>::try_from(chunk).ok()?))
            };
            let (schedule, size) = other().unwrap_or((schedule, size));
            // SAFETY: the type of the function of this name, called with what this was given, or what means other chunks.
            unsafe { real.function::<Function>()(at, thread, schedule, lower, upper, step, size) };
        }
    )* };
}

init! {
    __kmpc_dispatch_init_4: i32, i32;
    __kmpc_dispatch_init_4u: u32, i32;
    __kmpc_dispatch_init_8: i64, i64;
    __kmpc_dispatch_init_8u: u64, i64;
}

#[cfg(test)]
mod tests {
    use std::ffi::c_int;

    use super::*;

    fn of(trips: u64, asked: u64, speeds: &[f64]) -> u64 {
        chunk(trips, asked, speeds.iter().copied())
    }

    /// When each core is done that takes chunks by turns, as part of what all could do.
    fn ends(trips: u64, chunk: u64, speeds: &[f64]) -> f64 {
        let (mut free, mut left) = (vec![0.0; speeds.len()], trips);
        while left > 0 {
            let next = (0..speeds.len()).min_by(|a, b| f64::total_cmp(&free[*a], &free[*b])).unwrap_or_default();
            free[next] += chunk.min(left) as f64 / speeds[next];
            left -= chunk.min(left);
        }
        free.into_iter().fold(0.0, f64::max) / (trips as f64 / speeds.iter().sum::<f64>())
    }

    #[test]
    fn a_few_large_chunks_become_smaller_and_many_stay() {
        assert_eq!(of(600, 100, &[3.0, 1.0]), 33);
        assert_eq!(of(60_000, 100, &[3.0, 1.0]), 100);
        assert_eq!(of(600, 100, &[1.0, 1.0]), 100);
        assert_eq!(of(6, 2, &[3.0, 1.0]), 1, "one is the least");
    }

    #[test]
    fn a_loop_whose_schedule_is_the_user_s_begins_with_that_one_and_a_smaller_chunk() {
        let of = |schedule, kind, chunk| {
            instead(schedule, Some(7), UserSchedule::new(kind, chunk), 60, [3.0, 1.0].into_iter())
        };
        let monotonic = |kind: c_int| kind | c_int::MIN;
        assert_eq!(of(RUNTIME, 2, 6), Some((DYNAMIC, 2)));
        assert_eq!(of(RUNTIME | MONOTONIC, 2, 6), Some((DYNAMIC, 2)), "what the loop says of the order does not count");
        assert_eq!(of(RUNTIME, monotonic(2), 6), Some((DYNAMIC | MONOTONIC, 2)));
        // One iteration; static with chunks, guided, auto, with the one modifier and without; static without, of which threads take no chunks by turns.
        assert_eq!(of(RUNTIME, 2, 1), None);
        assert!([1, 3, 4].into_iter().all(|kind| of(RUNTIME, kind, 6).or(of(RUNTIME, monotonic(kind), 6)).is_none()));
        assert_eq!(of(RUNTIME, 1, 0), None);
        assert_eq!(of(DYNAMIC | MONOTONIC, 1, 0), Some((DYNAMIC | MONOTONIC, 2)));
        assert_eq!(of(36, 2, 6), None, "guided");
    }

    #[test]
    fn no_core_is_late_by_more_than_a_fast_one_would_be() {
        for speeds in [&[3.0, 1.0][..], &[2.0, 1.0, 1.0], &[4.0, 4.0, 1.0, 1.0], &[5.0, 3.0, 1.0]] {
            for chunks in 4..400 {
                let (trips, asked) = (chunks * 1000, 1000);
                let fast = speeds.iter().fold(0.0_f64, |most, speed| most.max(*speed));
                let late = (asked as f64 / fast) / (trips as f64 / speeds.iter().sum::<f64>());
                let own = ends(trips, of(trips, asked, speeds), speeds);
                assert!(own <= 1.0 + late.max(LATE) + 1e-9, "{speeds:?}, {chunks}: {own}, {late}");
            }
        }
        // Such as this, which takes 1.33 times as long as the program has it.
        assert!(ends(6000, 1000, &[3.0, 1.0]) > 1.33 && ends(6000, of(6000, 1000, &[3.0, 1.0]), &[3.0, 1.0]) < 1.12);
    }
}
