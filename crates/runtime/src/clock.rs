//! The one place that reads a clock: a loop asks how long its iterations take.

use std::time::{Duration, Instant};

/// Time since it was started.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(
        clippy::disallowed_methods,
        reason = "the runtime runs in real time; only the size of a loop's pieces depends on it"
    )]
    pub(crate) fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// The time since the last lap, or the start.
    #[expect(clippy::disallowed_methods, reason = "as above")]
    pub(crate) fn lap(&mut self) -> Duration {
        let now = Instant::now();
        now.saturating_duration_since(std::mem::replace(&mut self.0, now))
    }
}
