//! What the suite found.

use std::fmt;

/// What became of every scenario under every policy.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The arm.
    pub arm: String,
    /// How many runs met every expectation.
    pub passed: usize,
    /// What the arm could not play, and why.
    pub skipped: Vec<String>,
    /// What did not meet an expectation: scenario, policy, what was found.
    pub failed: Vec<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { arm, passed, skipped, failed } = self;
        writeln!(f, "{arm}: {passed} passed, {} skipped, {} failed", skipped.len(), failed.len())?;
        skipped.iter().try_for_each(|line| writeln!(f, "  skipped: {line}"))?;
        failed.iter().try_for_each(|line| writeln!(f, "  failed: {line}"))
    }
}
