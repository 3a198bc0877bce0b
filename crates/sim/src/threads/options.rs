//! How a run is carried out.

use std::sync::Arc;

use evenkeel_model::Ns;
use evenkeel_sched::Governor;

use crate::{MAX_EVENTS, Meter};

/// How a run is carried out.
#[derive(Clone, Debug)]
pub struct Options {
    /// Every random draw of the run derives from this.
    pub seed: u64,
    /// A run that lasts longer ends with [`crate::Error::MaxTime`]. By default ten hours, which every bundled workload keeps on every bundled machine.
    pub max_time: Ns,
    /// A run that has more events ends with [`crate::Error::MaxEvents`]. [`MAX_EVENTS`] by default.
    pub max_events: u64,
    /// Where the run says how far it is, and sees that it shall stop.
    pub meter: Option<Arc<Meter>>,
    /// Every decision of the scheduler takes effect this much later, as with an asynchronous host. Zero: at once.
    pub delay: Ns,
    /// Background noise: short kernel work and interrupts on every core, drawn from the seed. Each seed also starts programs
    /// from another core; without noise they are started from the first.
    pub noise: bool,
    /// What decides how fast the clusters run.
    pub governor: Governor,
    /// Policies see the true speedup of every thread instead of a prediction.
    pub oracle: bool,
    /// Counters are read for every thread, whatever the policy needs, and reported in [`crate::threads::ThreadOutcome`].
    pub counters: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            max_time: Ns::from_secs(36_000),
            max_events: MAX_EVENTS,
            meter: None,
            delay: Ns::ZERO,
            noise: false,
            governor: Governor::default(),
            oracle: false,
            counters: false,
        }
    }
}
