//! What can go wrong when a pool is made.

use std::io;

/// The most threads of a pool: as many as there are CPUs in the largest Linux (`NR_CPUS`).
pub const MAX_THREADS: usize = 8192;

/// Why there is no pool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// No pool works without a thread.
    #[error("a pool has at least one thread, the calling one")]
    ZeroThreads,
    /// More than [`MAX_THREADS`](crate::MAX_THREADS).
    #[error("{0} threads are too many for a pool, which has at most {MAX_THREADS}")]
    TooManyThreads(usize),
    /// `EVENKEEL_THREADS` does not say how many.
    #[error("EVENKEEL_THREADS is `{0}`: expected a number of threads, at least 1")]
    Environment(String),
    /// `EVENKEEL_POWERS` names no machine with a core type for each kind of core here. Begins with the variable.
    #[error("{0}")]
    Powers(String),
    /// The system knows no such name for a thread.
    #[error("{0:?} cannot be the name of threads: it has a null character")]
    Name(String),
    /// The global pool cannot be made again.
    #[error("the global pool is there already: configure it once, before anything uses it")]
    GlobalExists,
}

/// A pool has fewer threads than requested.
#[derive(Debug, thiserror::Error)]
#[error("the pool works with {got} of {wanted} threads, because the system refused to start more")]
pub struct Shortage {
    /// How many there are, the calling thread included.
    pub got: usize,
    /// How many were requested.
    pub wanted: usize,
    /// The system's error.
    #[source]
    pub reason: io::Error,
}
