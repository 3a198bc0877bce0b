//! A command that Ctrl-C, SIGTERM or a failure ended in the middle: what was reached is its result, marked as such.

use std::fmt;

use evenkeel_experiment::Error;

use crate::progress::Work;

/// As shells have it after Ctrl-C: 128 and the number of the signal.
pub const STATUS: u8 = 130;

/// The command was interrupted.
#[derive(Debug)]
pub struct Interrupted {
    /// What is printed: the results that there are.
    pub report: String,
    /// How far the work was.
    pub reached: String,
}

/// What becomes of an error: if it says that the work was stopped, there are no results yet.
pub fn stopped(error: Error, work: &Work) -> anyhow::Error {
    match error {
        Error::Stopped { .. } => Interrupted { report: String::new(), reached: work.reached() }.into(),
        error => error.into(),
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "interrupted after {}", self.reached)
    }
}

impl std::error::Error for Interrupted {}

/// The command failed in the middle.
#[derive(Debug)]
pub struct Broken {
    /// What is printed: the results that there are.
    pub report: String,
    /// How far the work was.
    pub reached: String,
    /// Why.
    pub error: anyhow::Error,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ended after {}", self.reached)
    }
}

impl std::error::Error for Broken {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self.error.as_ref())
    }
}
