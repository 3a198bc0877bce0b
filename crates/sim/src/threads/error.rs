//! Why a run has no outcome.

use evenkeel_model::Ns;

/// Why a run could not be carried to its end.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum Error {
    /// The workload needs something that cannot be done.
    #[error("{0}")]
    Invalid(String),
    /// Every thread that is left waits for another one. The text names the waiting cycle.
    #[error("deadlock at {at}: {cycle}")]
    Deadlock {
        /// When nothing could happen any more.
        at: Ns,
        /// Who waits for whom.
        cycle: String,
    },
    /// Threads are ready, all cores are idle, and the policy runs them nowhere.
    #[error("no core runs anything from {at} on: the policy never picks {threads}")]
    Starved {
        /// When nothing could happen any more.
        at: Ns,
        /// The threads that are ready.
        threads: String,
    },
    /// The run lasted longer than [`crate::Options::max_time`].
    #[error("still running after {limit}: {threads}")]
    MaxTime {
        /// The limit.
        limit: Ns,
        /// What was still running, and on what.
        threads: String,
    },
    /// The run had more events than [`crate::Options::max_events`].
    #[error("still running after {limit} events, at {at}: {threads}")]
    MaxEvents {
        /// The limit.
        limit: u64,
        /// The simulated time that it had reached.
        at: Ns,
        /// What was still running, and on what.
        threads: String,
    },
}
