//! When idle cores balance next. They have no tick of their own, so a busy core's tick does it for them (nohz_idle_balance);
//! that costs only as much as there are cores whose turn it is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use evenkeel_model::{CoreId, CoreSet, Ns};

/// The idle cores by when it is their turn.
#[derive(Debug, Default)]
pub(crate) struct IdleTurns {
    /// Cores that may be idle, and when it is their turn at the earliest.
    later: BinaryHeap<Reverse<(Ns, CoreId)>>,
    /// Cores whose turn it may be.
    due: CoreSet,
    /// The cores that are in either.
    listed: CoreSet,
}

impl IdleTurns {
    /// Whether the caller must [`Self::put`] a core once it is idle.
    pub(crate) fn misses(&self, core: CoreId) -> bool {
        !self.listed.contains(core)
    }

    /// An idle core has its turn at a time.
    pub(crate) fn put(&mut self, core: CoreId, at: Ns) {
        self.listed.insert(core);
        self.later.push(Reverse((at, core)));
    }

    /// Takes out the first core from a number up that may be due and is idle.
    pub(crate) fn take(&mut self, now: Ns, from: CoreId, idle: &CoreSet) -> Option<CoreId> {
        while let Some(Reverse((at, core))) = self.later.peek().copied()
            && at <= now
        {
            self.later.pop();
            self.due.insert(core);
        }
        if self.due.is_empty() {
            return None;
        }
        let core = self.due.and(*idle).at_or_above(from)?;
        self.due.remove(core);
        self.listed.remove(core);
        Some(core)
    }
}
