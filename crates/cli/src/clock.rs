//! The wall clock, which only the `seconds` of a report may see.

use std::time::Instant;

/// Measures how long a command takes.
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts now.
    #[expect(clippy::disallowed_methods, reason = "reports how long the command took; no result depends on it")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Seconds since the start, to the millisecond.
    pub fn seconds(&self) -> f64 {
        (self.0.elapsed().as_secs_f64() * 1e3).round() / 1e3
    }
}
