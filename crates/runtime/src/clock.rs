//! The one place that reads a clock: for how long iterations of a loop take, for how long a worker on uneven cores has found no task, and for accounts.

use std::time::{Duration, Instant};

use evenkeel_model::Ns;

use crate::fork::PerProcess;

/// Time since it was started.
pub(crate) struct LapTimer(Instant);

impl LapTimer {
    #[expect(
        clippy::disallowed_methods,
        reason = "the runtime runs in real time; only the size of a loop's pieces depends on it"
    )]
    pub(crate) fn start() -> LapTimer {
        LapTimer(Instant::now())
    }

    /// The time since the last lap, or the start.
    #[expect(clippy::disallowed_methods, reason = "as above")]
    pub(crate) fn lap(&mut self) -> Duration {
        let now = Instant::now();
        now.saturating_duration_since(std::mem::replace(&mut self.0, now))
    }
}

/// Time since the first call in this process or one that it was forked from.
#[expect(clippy::disallowed_methods, reason = "as above")]
pub(crate) fn now() -> Ns {
    static BEGAN: PerProcess<Instant> = PerProcess::new();
    let began = *BEGAN.get_or_make(|parent| parent.copied().unwrap_or_else(Instant::now));
    Ns(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX))
}
