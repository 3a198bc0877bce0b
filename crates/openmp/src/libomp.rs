//! Answers in libomp's stead which iterations of a static loop are a thread's. What the compiler calls is the same for clang, ifx and
//! flang (openmp/runtime/src/kmp_sched.cpp in LLVM): one function for each type of a loop's variable.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::time::Instant;

use evenkeel_model::splitting::{Done, share};

use crate::clock::now;
use crate::real::{Replaced, as_c_str};
use crate::tool::{Member, member};

/// Where in the source a construct is (`ident_t`).
#[repr(C)]
pub struct Ident {
    _first: i32,
    flags: i32,
    _rest: [i32; 2],
    _source: *const std::ffi::c_char,
}

/// A static loop without a chunk size, each thread one piece (`kmp_sch_static`), whatever its modifiers say of the order.
const STATIC: i32 = 34;
pub(crate) const MODIFIERS: i32 = 0b11 << 29;
/// The one for which a thread has its chunks in the order of the loop (`kmp_sch_modifier_monotonic`).
pub(crate) const MONOTONIC: i32 = 1 << 29;
/// Flags of a construct that is no loop: `sections`, `distribute`.
const OTHER: i32 = 0x400 | 0x800;

/// The part of a loop that this thread is doing, of the outermost region: those inside have no team. A loop may be left without a word
/// (`cancel parallel`), and its team be gone: so this has only the team's serial number.
#[derive(Clone, Copy)]
struct Part {
    team: u64,
    trips: u64,
    began: Instant,
}

thread_local! {
    static PART: Cell<Option<Part>> = const { Cell::new(None) };
}

/// The type of a loop's variable.
pub(crate) trait Variable: Copy + TryFrom<i128> + Into<i128> {}
impl<T: Copy + TryFrom<i128> + Into<i128>> Variable for T {}

/// The bounds of a loop, both of which belong to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds<T> {
    pub(crate) lower: T,
    pub(crate) upper: T,
}

/// How many iterations there are from a bound to the other; `None` if the type of the bounds cannot count them. LLVM's own lowering, which flang
/// uses, gives an empty loop the bounds 0 and -1, unsigned: libomp, which counts in that type, finds nothing to do there.
pub(crate) fn trips<T: Variable>(bounds: Bounds<T>, step: i128) -> Option<u64> {
    let span = bounds.upper.into() - bounds.lower.into();
    match step {
        0 => None,
        _ if span != 0 && (span > 0) != (step > 0) => Some(0),
        _ => u64::try_from(span / step + 1)
            .ok()
            .filter(|trips| trips.checked_shr(8 * size_of::<T>() as u32).unwrap_or(0) == 0),
    }
}

/// The part of a loop that is a thread's, and whether it has the last iteration; `None` if the loop has fewer than threads.
pub(crate) fn part<T: Variable>(
    whole: Bounds<T>,
    step: i128,
    speeds: &[u32],
    number: usize,
) -> Option<(Bounds<T>, bool)> {
    let trips = trips(whole, step)?;
    if trips < speeds.len() as u64 {
        return None;
    }
    let own = share(trips, speeds, number);
    let at = |trip: u64| T::try_from(whole.lower.into() + i128::from(trip) * step).ok();
    Some((Bounds { lower: at(own.start)?, upper: at(own.end - 1)? }, own.end == trips))
}

/// Its construct is a loop.
///
/// # Safety
/// `at` is what a compiler gives, which may be null.
unsafe fn is_loop(at: *const Ident) -> bool {
    // SAFETY: the caller's promise.
    unsafe { at.as_ref() }.is_none_or(|at| at.flags & OTHER == 0)
}

macro_rules! init {
    ($($name:ident: $variable:ty, $step:ty;)*) => { $(
        /// In the place of libomp's function of this name.
        ///
        /// # Safety
        /// As for that function, which a compiler calls.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            at: *const Ident, thread: i32, schedule: i32, last: *mut i32, lower: *mut $variable, upper: *mut $variable,
            stride: *mut $step, step: $step, chunk: $step,
        ) {
            type Function = unsafe extern "C" fn(
                *const Ident, i32, i32, *mut i32, *mut $variable, *mut $variable, *mut $step, $step, $step,
            );
            static REPLACED: Replaced = Replaced::new(const { as_c_str(concat!(stringify!($name), "\0")) });
            let real = REPLACED.real(at.cast());
            // SAFETY: the type of the function of this name.
            let function = unsafe { real.function::<Function>() };
            // SAFETY: the caller's promise: both are there.
            let whole = unsafe { Bounds { lower: *lower, upper: *upper } };
            // Also where its answer is replaced: it keeps books.
            // SAFETY: what this was given.
            unsafe { function(at, thread, schedule, last, lower, upper, stride, step, chunk) };
            // SAFETY: a compiler's place in the source.
            if schedule & !MODIFIERS != STATIC || !unsafe { is_loop(at) } {
                return;
            }
            let split = member(real.library, |Member { team, threads, number }| {
                if let Some(speeds) = team.plan(threads)
                    && let Some((own, is_last)) = part(whole, step.into(), speeds, number)
                {
                    // SAFETY: the caller's promise; `last` may be null.
                    unsafe {
                        (*lower, *upper) = (own.lower, own.upper);
                        if let Some(last) = last.as_mut() {
                            *last = is_last.into();
                        }
                    }
                }
                team.serial
            });
            let Some(team) = split else { return };
            // SAFETY: as above.
            let own = unsafe { Bounds { lower: *lower, upper: *upper } };
            let trips = trips(own, step.into()).unwrap_or_default();
            PART.set(Some(Part { team, trips, began: now() }));
        }
    )* };
}

init! {
    __kmpc_for_static_init_4: i32, i32;
    __kmpc_for_static_init_4u: u32, i32;
    __kmpc_for_static_init_8: i64, i64;
    __kmpc_for_static_init_8u: u64, i64;
}

/// In the place of libomp's function of this name, which a thread calls when it has done its part.
///
/// # Safety
/// As for that function, which a compiler calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_for_static_fini(at: *const Ident, thread: i32) {
    static REPLACED: Replaced = Replaced::new(c"__kmpc_for_static_fini");
    let real = REPLACED.real(at.cast());
    if let Some(Part { team, trips, began }) = PART.get() {
        let ns = began.elapsed().as_nanos() as u64;
        // Not where a loop of a region inside ends, after which this one continues.
        member(real.library, |member| {
            PART.set(None);
            if member.team.serial == team {
                member.team.add(member.number, member.threads, Done { trips, ns });
            }
        });
    }
    // SAFETY: the type of the function of this name, called with what this was given.
    unsafe { real.function::<unsafe extern "C" fn(*const Ident, i32)>()(at, thread) };
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bounds_are_of_the_loop_s_type_to_its_ends() {
        let all = Bounds { lower: i32::MIN, upper: i32::MAX - 1 };
        let (first, last) = (part(all, 1, &[3, 1], 0).unwrap(), part(all, 1, &[3, 1], 1).unwrap());
        assert_eq!((first.0.lower, last.0.upper, first.1, last.1), (i32::MIN, i32::MAX - 1, false, true));
        assert_eq!(i64::from(first.0.upper) + 1, i64::from(last.0.lower));
        assert_eq!(trips(Bounds { lower: 0_u64, upper: u64::MAX }, 1), None, "one more than can be counted");
        assert_eq!(trips(Bounds { lower: 0_u32, upper: u32::MAX }, 1), None, "an empty loop of flang's");
        assert_eq!(trips(Bounds { lower: 0_u64, upper: u64::from(u32::MAX) }, 1), Some(1 << 32));
        assert_eq!(trips(Bounds { lower: 5_u32, upper: 4 }, 1), Some(0));
        assert_eq!(trips(Bounds { lower: 10_i64, upper: 1 }, -3), Some(4));
        assert_eq!(part(Bounds { lower: 0, upper: 0 }, 1, &[1, 1], 0), None);
    }

    proptest! {
        #[test]
        fn each_iteration_is_done_once(
            lower in -1000..1000i32, count in 0..500i32, step in prop_oneof![-7..0i32, 1..8i32], speeds in prop::collection::vec(1..100u32, 1..6)
        ) {
            let whole = Bounds { lower, upper: lower + step * count };
            prop_assert_eq!(trips(whole, step.into()), Some(count as u64 + 1));
            let mut done = Vec::new();
            for number in 0..speeds.len() {
                let Some((own, last)) = part(whole, step.into(), &speeds, number) else {
                    prop_assert!(count + 1 < speeds.len() as i32);
                    return Ok(());
                };
                let mut at = own.lower;
                while (step > 0 && at <= own.upper) || (step < 0 && at >= own.upper) {
                    done.push(at);
                    at += step;
                }
                prop_assert_eq!(last, number + 1 == speeds.len());
            }
            prop_assert_eq!(done, (0..=count).map(|trip| lower + trip * step).collect::<Vec<_>>());
        }
    }
}
