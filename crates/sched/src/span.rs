//! What a host reports of a running thread.

use evenkeel_model::{Counters, Instructions, Ns};

/// A span of running, as a host reports it. The thread may still run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// How long it ran.
    pub time: Ns,
    /// How long, before or in between, it was runnable and another thread had its core. A host that says so with
    /// [`crate::Scheduler::ready`] and [`crate::Scheduler::next`] reports zero; one that only takes samples cannot, and
    /// reports spans with gaps: what is left of the time since the thread's last report, it slept.
    pub waited: Ns,
    /// Instructions retired, if the host can count them.
    pub instructions: Option<Instructions>,
    /// Other counters, if the host can read them.
    pub counters: Option<Counters>,
    /// The speedup of the code that ran where it need not be predicted: a simulator's oracle tells the truth, a host that
    /// counts instructions has measured it.
    pub speedup: Option<f64>,
}
