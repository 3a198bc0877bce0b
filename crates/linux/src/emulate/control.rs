//! What the thread that occupies a CPU is told while it does so.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use evenkeel_model::Ns;
use rustix::thread::futex;
use rustix::time::Timespec;

/// How slow a core is to be, and until when.
pub(super) struct Control {
    /// How many times slower, as the bits of a `f64`.
    ratio: AtomicU64,
    stop: AtomicBool,
    /// How often something was told; the thread sleeps on it.
    told: AtomicU32,
    /// What the thread has taken of the CPU, in nanoseconds.
    taken: AtomicU64,
}

impl Control {
    /// A core that is slower by `ratio`, 1 or more.
    pub fn new(ratio: f64) -> Self {
        Self {
            ratio: AtomicU64::new(ratio.to_bits()),
            stop: AtomicBool::new(false),
            told: AtomicU32::new(0),
            taken: AtomicU64::new(0),
        }
    }

    /// From now on the core is slower by another ratio.
    pub fn set(&self, ratio: f64) {
        self.ratio.store(ratio.to_bits(), Ordering::Relaxed);
        self.tell();
    }

    /// The thread is to end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.tell();
    }

    fn tell(&self) {
        // Pairs with `told`: the thread that sees the count sees what was stored before it.
        self.told.fetch_add(1, Ordering::Release);
        // It fails for a wrong address only.
        let _ = futex::wake(&self.told, futex::Flags::PRIVATE, 1);
    }

    /// How often something was told. To be read before [`Self::ratio`], so that nothing is missed.
    pub fn told(&self) -> u32 {
        self.told.load(Ordering::Acquire)
    }

    pub fn ratio(&self) -> f64 {
        f64::from_bits(self.ratio.load(Ordering::Relaxed))
    }

    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Sleeps until then, or until more is told than `told`, or until a signal arrives: the caller reads the clock anyway.
    pub fn sleep(&self, told: u32, until: Ns) {
        let until = Timespec { tv_sec: (until.0 / 1_000_000_000) as i64, tv_nsec: (until.0 % 1_000_000_000) as i64 };
        let _ = futex::wait_bitset(&self.told, futex::Flags::PRIVATE, told, Some(&until), NonZeroU32::MAX);
    }

    /// What was taken of the CPU so far.
    pub fn taken(&self) -> Ns {
        Ns(self.taken.load(Ordering::Relaxed))
    }

    pub fn note(&self, taken: Ns) {
        self.taken.store(taken.0, Ordering::Relaxed);
    }
}
