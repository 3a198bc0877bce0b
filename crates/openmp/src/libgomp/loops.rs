//! The functions by which each thread of a team begins a loop inside a region, in whose place this library's are called. The first thread that comes says
//! for all of them how large chunks are (libgomp/loop.c and loop_ull.c in GCC), so that these are the same for all.

use std::ffi::c_void;

use super::caller::{Arguments, with_arguments};
use super::{Gomp, of};
use crate::libomp::{Bounds, trips};
use crate::real::{Replaced, as_c_str};

/// `GFS_DYNAMIC`.
const DYNAMIC: u64 = 2;
/// `GFS_RUNTIME`, and `GFS_AUTO`, which stands for it where the program says that the loop may be nonmonotonic.
const RUNTIME: [u64; 2] = [0, 4];
/// `GFS_MONOTONIC`, a modifier.
const MONOTONIC: u64 = 1 << 31;

/// The numbers that a loop is over.
struct Numbers {
    /// How many iterations it has, by the first arguments.
    trips: fn(&Arguments) -> Option<u64>,
    /// Where among the arguments is what comes behind its bounds and step.
    behind: usize,
    /// The function that begins such a loop with chunks that threads take by turns.
    dynamic: Replaced,
}

/// `long`.
static SIGNED: Numbers = Numbers { trips: signed, behind: 3, dynamic: Replaced::new(c"GOMP_loop_dynamic_start") };
/// `unsigned long`, of which the first argument says whether the loop counts upwards.
static UNSIGNED: Numbers =
    Numbers { trips: unsigned, behind: 4, dynamic: Replaced::new(c"GOMP_loop_ull_dynamic_start") };

fn signed(arguments: &Arguments) -> Option<u64> {
    let [start, end, step, ..] = arguments.map(|argument| i128::from(argument as i64));
    iterations(start, end, step)
}

fn unsigned(arguments: &Arguments) -> Option<u64> {
    let [up, start, end, step, ..] = *arguments;
    // A `bool` is the lowest byte of its register.
    let step = if up as u8 == 0 { -i128::from(step.wrapping_neg()) } else { i128::from(step) };
    iterations(start.into(), end.into(), step)
}

fn iterations(start: i128, end: i128, step: i128) -> Option<u64> {
    trips(Bounds { lower: start, upper: end - step.signum() }, step)
}

/// What becomes of the arguments. Each returns the function that begins the loop, if it is another one then.
impl Numbers {
    /// The chunk is behind the step.
    fn with_chunk(&self, gomp: &Gomp, arguments: &mut Arguments) -> Option<&Replaced> {
        arguments[self.behind] = gomp.smaller((self.trips)(arguments)?, arguments[self.behind])?;
        None
    }

    /// The schedule is, and then the chunk.
    fn with_schedule(&self, gomp: &Gomp, arguments: &mut Arguments) -> Option<&Replaced> {
        let schedule = arguments[self.behind];
        let asked = match schedule & !MONOTONIC {
            DYNAMIC => arguments[self.behind + 1],
            other if RUNTIME.contains(&other) => gomp.user_chunk()?,
            _ => return None,
        };
        arguments[self.behind + 1] = gomp.smaller((self.trips)(arguments)?, asked)?;
        arguments[self.behind] = DYNAMIC | (schedule & MONOTONIC);
        None
    }

    /// There are two other arguments, and the schedule is the user's.
    fn of_user(&self, gomp: &Gomp, arguments: &mut Arguments) -> Option<&Replaced> {
        let chunk = gomp.smaller((self.trips)(arguments)?, gomp.user_chunk()?)?;
        arguments.copy_within(self.behind..self.behind + 2, self.behind + 1);
        arguments[self.behind] = chunk;
        Some(&self.dynamic)
    }
}

macro_rules! begins {
    ($($name:ident: $numbers:ident, $with:ident $(, $one:ident $more:ident)?;)*) => { $(
        const _: () = {
            extern "C" fn begin(arguments: &mut Arguments, caller: *const c_void) -> *const c_void {
                static REPLACED: Replaced = Replaced::new(const { as_c_str(concat!(stringify!($name), "\0")) });
                let real = REPLACED.real(caller);
                let other = of(real).and_then(|gomp| $numbers.$with(gomp, arguments));
                other.map_or(real, |other| other.real(caller)).address()
            }
            with_arguments!($name => begin $(, $one $more)?);
        };
    )* };
}

begins! {
    GOMP_loop_dynamic_start: SIGNED, with_chunk;
    GOMP_loop_nonmonotonic_dynamic_start: SIGNED, with_chunk;
    GOMP_loop_start: SIGNED, with_schedule;
    GOMP_loop_runtime_start: SIGNED, of_user;
    GOMP_loop_nonmonotonic_runtime_start: SIGNED, of_user;
    GOMP_loop_maybe_nonmonotonic_runtime_start: SIGNED, of_user;
    GOMP_loop_ull_dynamic_start: UNSIGNED, with_chunk;
    GOMP_loop_ull_nonmonotonic_dynamic_start: UNSIGNED, with_chunk;
    GOMP_loop_ull_start: UNSIGNED, with_schedule;
    GOMP_loop_ull_runtime_start: UNSIGNED, of_user, one more;
    GOMP_loop_ull_nonmonotonic_runtime_start: UNSIGNED, of_user, one more;
    GOMP_loop_ull_maybe_nonmonotonic_runtime_start: UNSIGNED, of_user, one more;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_are_counted_in_both_directions_to_the_ends_of_their_numbers() {
        let signed = |start: i64, end: i64, step: i64| signed(&[start as u64, end as u64, step as u64, 9, 9, 9, 9]);
        assert_eq!((signed(0, 60, 1), signed(0, 61, 7), signed(5, 5, 1)), (Some(60), Some(9), Some(0)));
        assert_eq!(
            (signed(59, -1, -1), signed(-1, 59, -1), signed(i64::MIN, i64::MAX, 1)),
            (Some(60), Some(0), Some(u64::MAX))
        );
        // Of a register that a `bool` is in nothing is known but its lowest byte.
        let unsigned = |up: u64, start: u64, end: u64, step: u64| unsigned(&[up | 0xabcd00, start, end, step, 9, 9, 9]);
        assert_eq!((unsigned(1, 0, u64::MAX, 1), unsigned(1, 7, 3, 1)), (Some(u64::MAX), Some(0)));
        assert_eq!(
            (unsigned(0, u64::MAX, 0, 1_u64.wrapping_neg()), unsigned(1, 0, 10, 1 << 63)),
            (Some(u64::MAX), Some(1))
        );
        assert_eq!(unsigned(0, 10, 0, 3_u64.wrapping_neg()), Some(4));
    }
}
