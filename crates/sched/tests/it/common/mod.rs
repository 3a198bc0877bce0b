//! A machine with round numbers, and a host that does nothing on its own.

pub use evenkeel_conformance::machine;
use evenkeel_sched::{Action, Scheduler};

/// Empties the outbox.
pub fn drop_actions(sched: &mut Scheduler) -> Vec<Action> {
    std::iter::from_fn(|| sched.action()).collect()
}
