//! Fences that cost the side that runs often nothing.
//!
//! Two threads that each write one word and then read the other's must both put a full fence between: otherwise both may miss the other's write
//! (store buffering). Where one side runs millions of times for each time of the other, the rare side can pay for both: Linux's
//! `membarrier` makes every running thread of the process pass a full fence before it returns, wherever that thread is. The frequent side is left with
//! [`light`], which only keeps the compiler from reordering.
//!
//! Without `membarrier` both sides are ordinary full fences.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use crate::clock;
use crate::sync::fence;

/// Whether [`light`] is free: decided once in a process, by what the kernel agrees to.
pub(crate) fn asymmetric() -> bool {
    imp::asymmetric()
}

/// The frequent side's fence. Pairs with [`heavy`] only.
#[inline]
pub(crate) fn light() {
    if asymmetric() { free() } else { fence(SeqCst) }
}

/// The frequent side's fence where [`asymmetric`] is known to be true.
#[inline(always)]
pub(crate) fn free() {
    imp::free();
}

/// The rare side's fence: a full fence here, and in every thread that is between two of its instructions now. False if the kernel, which
/// agreed at first, has refused since (a sandbox that was put on later): then nothing is ordered.
#[must_use]
pub(crate) fn heavy() -> bool {
    if asymmetric() {
        imp::barrier()
    } else {
        fence(SeqCst);
        true
    }
}

/// As [`heavy`], and learns what that costs.
#[must_use]
pub(crate) fn heavy_timed() -> bool {
    if !asymmetric() {
        return heavy();
    }
    let began = clock::now();
    let ordered = heavy();
    let took = clock::now().0.saturating_sub(began.0).min(LONGEST);
    let cost = COST.load(Relaxed);
    COST.store(cost - cost / 8 + took / 8, Relaxed);
    ordered
}

/// What a heavy fence has cost of late, in ns.
pub(crate) fn cost() -> u64 {
    COST.load(Relaxed)
}

/// Begins with what it is on a quiet machine.
static COST: AtomicU64 = AtomicU64::new(1000);
/// If a fence took longer than this, in ns, something else delayed it. `assumed`: a few times the most that was measured, 16 us in a virtual machine.
const LONGEST: u64 = 50_000;

#[cfg(all(target_os = "linux", not(any(loom, miri))))]
mod imp {
    use std::sync::atomic::Ordering::{AcqRel, Acquire, SeqCst};
    use std::sync::atomic::{AtomicU8, compiler_fence};

    use rustix::thread::{MembarrierCommand, membarrier};

    const UNKNOWN: u8 = 0;
    const REFUSED: u8 = 1;
    const AGREED: u8 = 2;
    /// Not a `OnceLock`: a thread that is not in a forked process may be about to fill that one. The kernel keeps the registration over a fork.
    static AGREEMENT: AtomicU8 = AtomicU8::new(UNKNOWN);

    #[inline]
    pub(super) fn asymmetric() -> bool {
        match AGREEMENT.load(Acquire) {
            UNKNOWN => register(),
            agreement => agreement == AGREED,
        }
    }

    /// The first thread to find out decides for all.
    #[cold]
    fn register() -> bool {
        let agreed = membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok() && barrier();
        let agreement = if agreed { AGREED } else { REFUSED };
        AGREEMENT.compare_exchange(UNKNOWN, agreement, AcqRel, Acquire).map_or_else(|first| first == AGREED, |_| agreed)
    }

    #[inline(always)]
    pub(super) fn free() {
        compiler_fence(SeqCst);
    }

    pub(super) fn barrier() -> bool {
        membarrier(MembarrierCommand::PrivateExpedited).is_ok()
    }
}

#[cfg(all(any(not(target_os = "linux"), miri), not(loom)))]
mod imp {
    pub(super) fn asymmetric() -> bool {
        false
    }

    #[inline(always)]
    pub(super) fn free() {}

    pub(super) fn barrier() -> bool {
        false
    }
}

/// A model of the asymmetric pair, so that loom sees the paths that depend on it.
#[cfg(loom)]
mod imp {
    use loom::sync::atomic::{Ordering::SeqCst, fence};

    pub(super) fn asymmetric() -> bool {
        true
    }

    pub(super) fn free() {
        fence(SeqCst);
    }

    pub(super) fn barrier() -> bool {
        fence(SeqCst);
        true
    }
}
