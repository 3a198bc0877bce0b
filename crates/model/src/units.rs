//! Units as types, so that a nanosecond is never added to an instruction.

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};

use serde::{Deserialize, Serialize};

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident($raw:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $raw);

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }
        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }
        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }
        impl std::iter::Sum for $name {
            fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
                all.fold(Self::default(), Add::add)
            }
        }
    };
}

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident($raw:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $raw);

        impl $name {
            /// The position in a table that is indexed by this identifier.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

quantity!(
    /// A span of time or a point in time, in nanoseconds. Simulated time is always a whole number of them.
    #[derive(Eq, Ord, Hash)]
    Ns(u64)
);
quantity!(
    /// Instructions retired, or still to be retired.
    #[derive(Eq, Ord, Hash)]
    Instructions(u64)
);
quantity!(
    /// A clock frequency, in hertz.
    #[derive(Eq, Ord, Hash)]
    Hz(u64)
);
quantity!(
    /// Energy, in joules.
    Joules(f64)
);
quantity!(
    /// Power, in watts.
    Watts(f64)
);
quantity!(
    /// Voltage, in volts.
    Volts(f64)
);

identifier!(
    /// A core of a machine, by its position in [`crate::Machine::cores`].
    CoreId(u16)
);
identifier!(
    /// A core type of a machine, by its position in [`crate::Machine::core_types`].
    CoreTypeId(u8)
);
identifier!(
    /// A cluster of a machine, by its position in [`crate::Machine::clusters`].
    ClusterId(u16)
);
identifier!(
    /// A thread, numbered by its host from 0 in order of creation.
    ThreadId(u32)
);
identifier!(
    /// A program (process), numbered by its host from 0.
    ProgramId(u32)
);

impl Ns {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Later than everything that a host can schedule.
    pub const NEVER: Self = Self(u64::MAX);
    /// The longest span that a user may ask for, 292 years: what begins now and lasts for so long still has an end.
    pub const LONGEST: Self = Self(u64::MAX / 2);

    /// A span of whole microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// A span of whole milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// A span of whole seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }

    /// This span in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The span from `earlier` to this point, or zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Ns {
    /// The span in the largest unit that keeps a digit before the point: `1.50 s`, `250 us`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0 as f64;
        match self.0 {
            0..1_000 => write!(f, "{ns} ns"),
            1_000..1_000_000 => write!(f, "{:.3} us", ns / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.3} ms", ns / 1e6),
            _ => write!(f, "{:.3} s", ns / 1e9),
        }
    }
}

impl Hz {
    /// A frequency of whole megahertz.
    pub const fn from_mhz(mhz: u64) -> Self {
        Self(mhz * 1_000_000)
    }

    /// This frequency in cycles per nanosecond (gigahertz).
    pub fn per_ns(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_prints_in_the_unit_that_fits() {
        assert_eq!(Ns(950).to_string(), "950 ns");
        assert_eq!(Ns::from_ms(1500).to_string(), "1.500 s");
    }
}
