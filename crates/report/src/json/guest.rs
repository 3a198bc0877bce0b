//! What `vm` and `vm bench` print.

use serde::Serialize;

/// The document goes to standard error, after that of [`evenkeel run`](#evenkeel-run) inside the guest if there is a policy.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Guest<'a> {
    /// The machine, such as `2B2S:3`.
    pub machine: String,
    /// What ran the guest's code: `kvm` or `tcg`.
    pub accelerator: String,
    /// A big core's share of a real CPU; `null` with `--symmetric`.
    pub big_share: Option<f64>,
    /// A little core's share of a real CPU; `null` with `--symmetric`.
    pub little_share: Option<f64>,
    /// The policy; `null` under the guest's own kernel.
    pub policy: Option<&'a str>,
    /// The command's exit status.
    pub status: u8,
    /// How long the command took, without the boot, in seconds.
    pub elapsed_s: f64,
}

/// Small programs on asymmetric machines, measured and predicted.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Bench<'a> {
    /// One entry a machine.
    pub machines: &'a [BenchMachine],
}

/// All runs on one machine.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BenchMachine {
    /// The machine, such as `2B2S:3`.
    pub machine: String,
    /// A big core's share of a real CPU.
    pub big_share: Option<f64>,
    /// A little core's share of a real CPU.
    pub little_share: Option<f64>,
    /// One entry a bench and policy.
    pub rows: Vec<BenchRow>,
}

/// All runs of one bench under one policy.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BenchRow {
    /// The bench.
    pub bench: &'static str,
    /// The policy; `stock` is the guest's own scheduler.
    pub policy: String,
    /// How many runs were measured.
    pub runs: usize,
    /// The mean makespan, in seconds.
    pub makespan_s: f64,
    /// Its standard deviation, in seconds.
    pub makespan_sd_s: f64,
    /// All of the work, measured on one big core, divided by what all cores achieve together, in seconds.
    pub ideal_s: f64,
    /// `makespan_s / ideal_s`.
    pub over_ideal: f64,
    /// `makespan_s` against that of `stock`: -0.4 is 40 % sooner.
    pub against_stock: f64,
    /// The standard error of `against_stock`, from the spread of both.
    pub against_stock_error: f64,
    /// The makespan when the simulator plays a recording, in seconds.
    pub predicted_s: f64,
    /// `predicted_s` against that of `stock`.
    pub predicted_against_stock: f64,
    /// Against a machine of as many big cores.
    pub h_antt: f64,
    /// Against a machine of as many big cores.
    pub h_stp: f64,
}
