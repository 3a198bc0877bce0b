//! Loops that leave it to the user how they are shared out (`schedule(runtime)`): by `OMP_SCHEDULE`, or by the program (`omp_set_schedule`). Where that
//! is `dynamic`, the size of chunks is [`crate::dynamic`]'s. Where it is `static` without a chunk size, a thread has the same part as of other static loops.
//!
//! For compilers threads take chunks of such a loop by turns, whatever the schedule is: each begins the loop (`dynamic`), then asks for chunks until there is
//! none. So libomp is told to have one chunk for each thread, and what it then says is replaced by the thread's part.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::c_int;
use std::time::Instant;

use evenkeel_model::splitting::Done;

use crate::clock::now;
use crate::libomp::{Bounds, Ident, MODIFIERS, Variable, part, trips};
use crate::real::{Replaced, as_c_str};
use crate::tool::{Member, in_team, member};

/// `kmp_sch_runtime` (openmp/runtime/src/kmp.h in LLVM), whatever its modifiers say of the order.
pub const RUNTIME: i32 = 37;
/// `kmp_sch_static_balanced`: one chunk for each thread, if there are as many iterations as threads.
pub const ONE_CHUNK: i32 = 41;

/// `omp_get_schedule` (OpenMP 5.0, 3.2.13).
pub type Schedule = unsafe extern "C" fn(*mut c_int, *mut c_int);

/// What the user wants, if this library can do something for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserSchedule {
    /// Each thread has one part.
    Static,
    /// Threads take chunks by turns.
    Dynamic {
        /// How many iterations a chunk has.
        chunk: u64,
        /// Whether a thread has its chunks in the order of the loop.
        monotonic: bool,
    },
}

impl UserSchedule {
    /// What an OpenMP library says to this thread.
    pub fn of(schedule: Schedule) -> Option<Self> {
        let (mut kind, mut chunk) = (0, 0);
        // SAFETY: any thread may ask it at any time; it writes to these places.
        unsafe { schedule(&mut kind, &mut chunk) };
        Self::new(kind, chunk)
    }

    /// Of a kind (`omp_sched_t`) with a chunk size, which is 0 where none was said.
    pub fn new(kind: c_int, chunk: c_int) -> Option<Self> {
        /// `omp_sched_static`, `omp_sched_dynamic` and `omp_sched_monotonic`.
        const STATIC: c_int = 1;
        const DYNAMIC: c_int = 2;
        const MONOTONIC: c_int = c_int::MIN;
        match (kind & !MONOTONIC, u64::try_from(chunk).ok()?) {
            (STATIC, 0) => Some(Self::Static),
            (DYNAMIC, chunk) => Some(Self::Dynamic { chunk, monotonic: kind & MONOTONIC != 0 }),
            _ => None,
        }
    }
}

/// A static loop of the outermost region, as its threads take it: those of regions inside have no team. It may be left without a word (`cancel for`), and
/// its team be gone (`cancel parallel`): so this has only the team's serial number.
#[derive(Clone, Copy)]
struct Taking {
    team: u64,
    threads: usize,
    number: usize,
    step: i128,
    /// This thread's part, and whether that has the last iteration, if the loop is split.
    own: Option<(Bounds<i128>, bool)>,
    /// How many iterations it has taken.
    trips: u64,
    began: Instant,
}

thread_local! {
    static TAKING: Cell<Option<Taking>> = const { Cell::new(None) };
}

impl Taking {
    /// The thread takes what it is given, or its own part in the place of that: this, and whether it has the last iteration.
    fn take<T: Variable>(&mut self, given: Bounds<T>) -> Option<(Bounds<T>, bool)> {
        let own = self.own.and_then(|(own, is_last)| {
            Some((Bounds { lower: T::try_from(own.lower).ok()?, upper: T::try_from(own.upper).ok()? }, is_last))
        });
        self.trips += trips(own.map_or(given, |(own, _)| own), self.step).unwrap_or_default();
        own
    }
}

/// A thread begins a loop that has this schedule for the compiler. Returns whether it is to take its own part, in the place of the one chunk that libomp is to
/// have for it.
pub(crate) fn begin<T: Variable>(library: usize, schedule: i32, whole: Bounds<T>, step: i128) -> bool {
    let is_user_s = schedule & !MODIFIERS == RUNTIME;
    // For most loops no call of libomp is needed.
    if !is_user_s && TAKING.get().is_none() {
        return false;
    }
    let Some((serial, user)) = in_team(library, |team, _| (team.serial, team.user_schedule)) else { return false };
    // A loop that it has left without a word.
    if TAKING.get().is_some_and(|taking| taking.team == serial) {
        TAKING.set(None);
    }
    if !is_user_s || user != Some(UserSchedule::Static) {
        return false;
    }
    let split = member(library, |Member { team, threads, number }| {
        let own = team.plan(threads).and_then(|speeds| part(whole, step, speeds, number));
        let own = own.map(|(own, is_last)| (Bounds { lower: own.lower.into(), upper: own.upper.into() }, is_last));
        TAKING.set(Some(Taking { team: team.serial, threads, number, step, own, trips: 0, began: now() }));
        own.is_some()
    });
    split.unwrap_or_default()
}

/// libomp has said whether there is a chunk for this thread, and which.
///
/// # Safety
/// The bounds are there, and `last` is, or is null.
unsafe fn said<T: Variable>(library: usize, is_chunk: bool, last: *mut i32, lower: *mut T, upper: *mut T) {
    // As in all loops but those of this file.
    let Some(mut taking) = TAKING.get() else { return };
    in_team(library, |team, _| {
        // A loop of a region inside has no team, and this one continues after it.
        if team.serial != taking.team {
            return;
        }
        if !is_chunk {
            let ns = taking.began.elapsed().as_nanos() as u64;
            team.add(taking.number, taking.threads, Done { trips: taking.trips, ns });
            TAKING.set(None);
            return;
        }
        // SAFETY: the caller's promise.
        let given = unsafe { Bounds { lower: *lower, upper: *upper } };
        if let Some((own, is_last)) = taking.take(given) {
            // SAFETY: the caller's promise.
            unsafe {
                (*lower, *upper) = (own.lower, own.upper);
                if let Some(last) = last.as_mut() {
                    *last = is_last.into();
                }
            }
        }
        TAKING.set(Some(taking));
    });
}

macro_rules! next {
    ($($name:ident: $variable:ty, $step:ty;)*) => { $(
        /// In the place of libomp's function of this name, by which a thread takes its next chunk of a loop.
        ///
        /// # Safety
        /// As for that function, which a compiler calls.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            at: *const Ident, thread: i32, last: *mut i32, lower: *mut $variable, upper: *mut $variable, stride: *mut $step,
        ) -> c_int {
            type Function = unsafe extern "C" fn(
                *const Ident, i32, *mut i32, *mut $variable, *mut $variable, *mut $step,
            ) -> c_int;
            static REPLACED: Replaced = Replaced::new(const { as_c_str(concat!(stringify!($name), "\0")) });
            let real = REPLACED.real(at.cast());
            // SAFETY: the type of the function of this name, called with what this was given.
            let more = unsafe { real.function::<Function>()(at, thread, last, lower, upper, stride) };
            // SAFETY: the caller's promise.
            unsafe { said(real.library, more != 0, last, lower, upper) };
            more
        }
    )* };
}

next! {
    __kmpc_dispatch_next_4: i32, i32;
    __kmpc_dispatch_next_4u: u32, i32;
    __kmpc_dispatch_next_8: i64, i64;
    __kmpc_dispatch_next_8u: u64, i64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn static_counts_without_a_chunk_size_and_dynamic_with_one() {
        let monotonic = |kind: c_int| kind | c_int::MIN;
        assert_eq!(
            (UserSchedule::new(1, 0), UserSchedule::new(monotonic(1), 0)),
            (Some(UserSchedule::Static), Some(UserSchedule::Static))
        );
        let dynamic = |monotonic| Some(UserSchedule::Dynamic { chunk: 6, monotonic });
        assert_eq!((UserSchedule::new(2, 6), UserSchedule::new(monotonic(2), 6)), (dynamic(false), dynamic(true)));
        // Chunks of one size, guided, auto.
        assert!(
            [(1, 6), (3, 6), (4, 0), (2, -1)].iter().all(|&(kind, chunk)| UserSchedule::new(kind, chunk).is_none())
        );
    }

    #[test]
    fn a_thread_takes_its_part_in_place_of_libomp_s_chunk_and_counts_what_it_takes() {
        let whole = Bounds { lower: u64::MAX - 10, upper: u64::MAX - 1 };
        let (own, is_last) = part(whole, 1, &[4, 1], 1).unwrap();
        assert!(is_last && own != whole);
        let taking = |own: Option<(Bounds<u64>, bool)>, step| {
            let own = own.map(|(own, last)| (Bounds { lower: own.lower.into(), upper: own.upper.into() }, last));
            Taking { team: 0, threads: 2, number: 1, step, own, trips: 0, began: now() }
        };
        let mut split = taking(Some((own, is_last)), 1);
        let given = Bounds { lower: u64::MAX - 5, upper: u64::MAX - 1 };
        assert_eq!((split.take(given), split.trips), (Some((own, true)), 2));
        let mut plain = taking(None, 1);
        assert_eq!((plain.take(given), plain.trips), (None, 5));
        let mut down = taking(None, -3);
        assert_eq!((down.take(Bounds { lower: 10_i32, upper: 1 }), down.trips), (None, 4));
    }
}
