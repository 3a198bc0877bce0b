//! What `record` prints.

use serde::Serialize;

/// The document goes to standard error.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Recorded<'a> {
    /// The recording.
    pub file: String,
    /// From the start of the command to its end, in seconds.
    pub makespan_s: f64,
    /// How many threads it had.
    pub threads: usize,
    /// How many stretches of work, waits and other steps all threads together had.
    pub steps: usize,
    /// How many of the steps are waits for another thread.
    pub waits: usize,
    /// How many events the kernel reported.
    pub events: u64,
    /// Sentences: what makes the recording less than exact.
    pub notes: &'a [String],
    /// Sentences: what could not be seen, and why.
    pub missing: Vec<String>,
}
