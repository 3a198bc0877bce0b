//! What a recording may contain: the version of its format, and the bounds of its numbers.

use std::ops::RangeInclusive;

/// The version of the format that is written, and the only one that is read.
pub const VERSION: u32 = 1;

/// No amount of time or work is larger: 11 days in nanoseconds.
pub const MAX_AMOUNT: u64 = 1_000_000_000_000_000;

/// How fast code can be, in instructions per ns.
pub const RATES: RangeInclusive<f64> = 1e-3..=1e3;

/// A rate as a recording has it: in millionths, since no two runs agree on more, and one of [`RATES`].
pub fn rate(measured: f64) -> f64 {
    ((1e6 * measured).round() / 1e6).clamp(*RATES.start(), *RATES.end())
}
