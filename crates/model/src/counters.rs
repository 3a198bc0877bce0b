//! Hardware performance counters, named as the Arm PMU names its events where one exists.

use std::ops::AddAssign;

/// The events that a host may be able to count for a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum Counter {
    /// Instructions architecturally executed. All others are normalised by this one (COLAB 4.1).
    Instructions,
    /// Core cycles while the thread ran.
    Cycles,
    /// Branches executed.
    Branches,
    /// Branches predicted wrong.
    BranchMisses,
    /// Floating-point and SIMD operations.
    FpOps,
    /// Loads executed.
    Loads,
    /// Stores executed.
    Stores,
    /// L1 data cache refills.
    L1dRefills,
    /// L2 cache refills.
    L2Refills,
    /// L1 instruction cache refills.
    L1iRefills,
    /// Data TLB refills.
    TlbRefills,
    /// Cycles without an instruction retired because of memory.
    MemoryStallCycles,
    /// Cycles without an instruction issued because none was fetched.
    FrontendStallCycles,
    /// Cycles in which the store queue was full.
    StoreQueueFullCycles,
}

/// How many counters there are.
pub const COUNTERS: usize = Counter::StoreQueueFullCycles as usize + 1;

impl Counter {
    /// Every counter, in the order of [`Counters`].
    pub const ALL: [Self; COUNTERS] = [
        Self::Instructions,
        Self::Cycles,
        Self::Branches,
        Self::BranchMisses,
        Self::FpOps,
        Self::Loads,
        Self::Stores,
        Self::L1dRefills,
        Self::L2Refills,
        Self::L1iRefills,
        Self::TlbRefills,
        Self::MemoryStallCycles,
        Self::FrontendStallCycles,
        Self::StoreQueueFullCycles,
    ];

    /// The name in predictor files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Cycles => "cycles",
            Self::Branches => "branches",
            Self::BranchMisses => "branch-misses",
            Self::FpOps => "fp-ops",
            Self::Loads => "loads",
            Self::Stores => "stores",
            Self::L1dRefills => "l1d-refills",
            Self::L2Refills => "l2-refills",
            Self::L1iRefills => "l1i-refills",
            Self::TlbRefills => "tlb-refills",
            Self::MemoryStallCycles => "memory-stall-cycles",
            Self::FrontendStallCycles => "frontend-stall-cycles",
            Self::StoreQueueFullCycles => "store-queue-full-cycles",
        }
    }
}

/// One reading of every counter, in events.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters(pub [f64; COUNTERS]);

impl Counters {
    /// The count of one event.
    pub fn get(&self, counter: Counter) -> f64 {
        self.0[counter as usize]
    }
}

impl AddAssign<&Self> for Counters {
    fn add_assign(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine += theirs;
        }
    }
}
