//! What `emulate` prints.

use serde::Serialize;

/// The document goes to standard error, or to the file of `-o`, after the command has ended. If there is a policy, that of
/// [`evenkeel run`](#evenkeel-run) goes to standard error before it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Emulated<'a> {
    /// The big CPUs, which stayed as they are, unless their frequencies could be set.
    pub big: &'a [u16],
    /// How many times slower little cores were to be; if frequencies could be set, at nominal ones.
    pub ratio: f64,
    /// How long a cycle is, in seconds.
    pub period_s: f64,
    /// One entry a CPU that was made slower.
    pub little: Vec<LittleCpu>,
    /// The machine whose cores and powers these were; `null` without `--dvfs`.
    pub machine: Option<&'a str>,
    /// One entry a CPU whose frequency could be set; none without `--dvfs`.
    pub clocks: Vec<ClockedCpu<'a>>,
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

/// A CPU whose frequency could be set.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClockedCpu<'a> {
    /// Its number.
    pub cpu: u16,
    /// The core type that it was.
    pub core: &'a str,
    /// For how long, in seconds.
    pub elapsed_s: f64,
    /// How much of that time the core was busy, in seconds; what the emulation occupied is no part of it, but makes what runs there take longer.
    pub busy_s: f64,
    /// Its mean frequency, in Hz.
    pub mean_hz: u64,
    /// How often the frequency changed.
    pub changes: u64,
    /// What the core would have used, in joules.
    pub energy_j: f64,
    /// The same over the time, in watts.
    pub power_w: f64,
    /// How much of the CPU was left to others over how much should have been; `null` if nothing should have been.
    pub reached: Option<f64>,
    /// How many writes were no frequency and changed nothing.
    pub ignored: u64,
    /// How many writes were beyond the lowest or the highest frequency and set that.
    pub clamped: u64,
}
