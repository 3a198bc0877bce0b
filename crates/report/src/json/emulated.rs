//! What `emulate` prints.

use serde::Serialize;

/// The document goes to standard error, after the command has ended, and after that of [`evenkeel run`](#evenkeel-run) if
/// there is a policy.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Emulated<'a> {
    /// The CPUs that stayed as they are.
    pub big: &'a [u16],
    /// How many times slower little cores were to be.
    pub ratio: f64,
    /// How long a cycle is, in seconds.
    pub period_s: f64,
    /// One entry a CPU that was made slower.
    pub little: Vec<LittleCpu>,
}

/// A CPU that was made slower.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LittleCpu {
    /// Its number.
    pub cpu: u16,
    /// How many times less of it was left to others than there is; `null` if nothing was left.
    pub reached: Option<f64>,
    /// How long it was slowed down, in seconds.
    pub elapsed_s: f64,
    /// How many cycles that was.
    pub cycles: u64,
    /// How much of that time it was occupied, in seconds.
    pub away_s: f64,
    /// The longest span for which it was occupied, in seconds.
    pub longest_away_s: f64,
}
