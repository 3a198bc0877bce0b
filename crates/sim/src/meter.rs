//! What a run shares with its caller while it lasts: how far it has come, and a request to stop. No clock is read here; a
//! caller that wants events a second has one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use evenkeel_model::Ns;

/// The most events that a run has by default: ten billion, which take about a quarter of an hour.
pub const MAX_EVENTS: u64 = 10_000_000_000;

/// Counts the events of one or several runs, which may be under way at once.
#[derive(Debug, Default)]
pub struct Meter {
    events: AtomicU64,
    reached: AtomicU64,
    lasts: AtomicU64,
    stop: Arc<AtomicBool>,
}

impl Meter {
    /// Events processed so far, of all runs.
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// The simulated time that the run which reported last has reached.
    pub fn reached(&self) -> Ns {
        Ns(self.reached.load(Ordering::Relaxed))
    }

    /// How long that run lasts in simulated time, if its workload has a duration.
    pub fn lasts(&self) -> Option<Ns> {
        Some(Ns(self.lasts.load(Ordering::Relaxed))).filter(|lasts| *lasts > Ns::ZERO)
    }

    /// Once this is true every run ends where it is ([`crate::Ended::Interrupted`]), and none begins.
    pub fn stop(&self) -> &Arc<AtomicBool> {
        &self.stop
    }

    /// Whether the runs are to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// A run has processed so many more events and has reached this time, of a total that its workload may have.
    pub fn report(&self, events: u64, reached: Ns, lasts: Option<Ns>) {
        self.events.fetch_add(events, Ordering::Relaxed);
        self.reached.store(reached.0, Ordering::Relaxed);
        self.lasts.store(lasts.unwrap_or_default().0, Ordering::Relaxed);
    }
}
