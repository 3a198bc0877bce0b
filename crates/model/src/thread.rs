//! The scheduling parameters of a thread, which workloads give and the scheduler follows.

/// Application threads do the program's work; service threads serve its runtime system (WASH 6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadKind {
    /// Does the program's own work.
    #[default]
    Application,
    /// Garbage collector, JIT compiler, profiler.
    Service,
}

/// How busy a thread counts that is busy all the time: the scale of utilisation.
pub const FULL_LOAD: u32 = 1024;

/// Bounds of how busy a thread is taken to be (`sched_setattr`'s utilisation clamps), on a scale of [`FULL_LOAD`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clamp {
    /// Taken to be at least this busy.
    pub min: u32,
    /// Taken to be at most this busy.
    pub max: u32,
}

impl Default for Clamp {
    fn default() -> Self {
        Self { min: 0, max: FULL_LOAD }
    }
}

/// Weight of nice 0, the unit of all weights.
pub const NICE_0_WEIGHT: u64 = 1024;

/// The scheduling class of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `SCHED_OTHER`, `SCHED_BATCH` and `SCHED_IDLE`: shares the cores by weight. See [`Class::fair`].
    Fair {
        /// Share relative to [`NICE_0_WEIGHT`].
        weight: u64,
    },
    /// `SCHED_FIFO`, `SCHED_RR` and `SCHED_DEADLINE`: runs before every fair thread, the highest priority first, first in
    /// first out.
    RealTime {
        /// 1 to 99; a deadline counts as 100.
        priority: u8,
    },
}

impl Default for Class {
    fn default() -> Self {
        Self::fair(0)
    }
}

impl Class {
    /// The fair class at a nice value. Each step changes the share by 1.25, as Linux's table does; values outside
    /// -20..=19 are taken as the nearest.
    pub fn fair(nice: i8) -> Self {
        // Linux's sched_prio_to_weight: 1024 / 1.25^nice, rounded.
        const WEIGHTS: [u64; 40] = [
            88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121,
            2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23,
            18, 15,
        ];
        Self::Fair { weight: WEIGHTS[(nice.clamp(-20, 19) + 20) as usize] }
    }

    /// `SCHED_IDLE`: a share of 3, Linux's WEIGHT_IDLEPRIO.
    pub fn idle() -> Self {
        Self::Fair { weight: 3 }
    }
}
