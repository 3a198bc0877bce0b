//! What a host reports of a running thread.

use evenkeel_model::{Counters, Instructions, Ns};

/// A span of running, as a host reports it. The thread may still run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// How long it ran.
    pub time: Ns,
    /// How long, before or in between, it was runnable and another thread had its core. A host that reports this by
    /// [`crate::Scheduler::ready`] and [`crate::Scheduler::next`] sets zero. A host that only takes samples reports spans
    /// with gaps: in the rest of the time since its last report the thread slept.
    pub waited: Ns,
    /// Instructions retired, if the host can count them.
    pub instructions: Option<Instructions>,
    /// Other counters, if the host can read them.
    pub counters: Option<Counters>,
    /// The speedup of the code that ran, if it need not be predicted: true from a simulator's oracle, measured by a host that
    /// counts instructions.
    pub speedup: Option<f64>,
}
