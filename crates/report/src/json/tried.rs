//! What `try` prints.

use serde::Serialize;

/// A program under the kernel's own scheduler and under others, in turns. `evenkeel run --ab` prints the same of one policy, to standard
/// error, or to the file of `-o`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tried<'a> {
    /// The program with its arguments.
    pub command: &'a [String],
    /// How many rounds were run.
    pub rounds: u32,
    /// How many there would have been at most.
    pub most: u32,
    /// A difference of less time counts as none, as a share.
    pub margin: f64,
    /// One entry a scheduler, the kernel's own first.
    pub schedulers: Vec<TriedScheduler<'a>>,
    /// The name of the fastest that is faster than the kernel's own; `null` if none is known to be.
    pub fastest: Option<&'a str>,
    /// The names of others that are faster, too, and cannot be told from it.
    pub as_fast: Vec<&'a str>,
}

/// A scheduler.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TriedScheduler<'a> {
    /// Its name.
    pub name: &'a str,
    /// The words that run the program under it.
    pub words: Vec<String>,
    /// How often it ran. What is known not to be faster sits out.
    pub runs: usize,
    /// How long a run took on average, in seconds.
    pub mean_s: Option<f64>,
    /// The sample standard deviation of that, in seconds.
    pub deviation_s: Option<f64>,
    /// `faster`, `slower` or `same` against the kernel's own; `open` if that cannot be told; `null` of the kernel's own.
    pub verdict: Option<&'static str>,
    /// How much more time it took than the kernel's own in the same round, as a share; `null` of the kernel's own.
    pub against_stock: Option<f64>,
    /// The lower end of its interval: those of all schedulers, at all looks, hold with 95 %.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// What the processor's packages used in a run on average, in joules, where they count that.
    pub energy_j: Option<f64>,
    /// How much more energy it took than the kernel's own in the same round, as a share.
    pub energy_against_stock: Option<f64>,
    /// The lower end of its interval: those of all schedulers, at all looks, hold with 95 %.
    pub energy_low: Option<f64>,
    /// The upper end.
    pub energy_high: Option<f64>,
}
