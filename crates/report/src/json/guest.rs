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
    /// How long the command took, without the boot, in seconds; under a policy with the start of Evenkeel in the guest,
    /// which takes seconds itself: the policy's own document has the time without.
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
    /// How often every bench ran under every scheduler, in all boots together.
    pub repetitions: usize,
    /// How often they were to run: more, if the measurement was ended early.
    pub repetitions_wanted: usize,
    /// One entry a bench and scheduler, but for those of which every run failed.
    pub rows: Vec<BenchRow>,
    /// What the rows of each scheduler come to.
    pub totals: Vec<BenchTotal>,
    /// How far predictions were off, one entry a host.
    pub accuracy: Vec<BenchAccuracy>,
}

/// All runs of one bench under one scheduler.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BenchRow {
    /// The bench.
    pub bench: String,
    /// The policy; `stock` is the guest's own scheduler, and another scheduler has its own name.
    pub policy: String,
    /// What carries the policy out: `stock`, `run` (affinity), `scx` (inside the kernel), `scx daemon` or `peer`.
    pub host: &'static str,
    /// How many runs were measured.
    pub runs: usize,
    /// How many further runs failed under this scheduler.
    pub failed: usize,
    /// The mean makespan, in seconds.
    pub makespan_s: f64,
    /// Its standard deviation, in seconds.
    pub makespan_sd_s: f64,
    /// Which share of the programs began on a big core, in all runs together. Of an installed program of one thread it is where it ended;
    /// others, and those of `--own`, are left out. `null` if nothing is known.
    pub began_on_big: Option<f64>,
    /// All of the work, measured on one big core, divided by what as many of the fastest cores as there are threads achieve
    /// together; the same of one program alone, if that takes longer; in seconds; `null` where programs sleep, and with one of `--own`,
    /// of which it is not known how many threads it has.
    pub ideal_s: Option<f64>,
    /// `makespan_s / ideal_s`; `null` where that is.
    pub over_ideal: Option<f64>,
    /// The makespan against that of `stock` in the same repetition.
    pub against_stock: Option<BenchDifference>,
    /// The makespan when the simulator plays recordings, in seconds: their mean; `null` where it cannot know.
    pub predicted_s: Option<f64>,
    /// The same against `stock` played from the same recordings.
    pub predicted_against_stock: Option<BenchDifference>,
    /// How many times as long programs take as each alone on as many big cores, the mean over the programs.
    pub h_antt: f64,
    /// `h_antt` against that of `stock` in the same repetition.
    pub h_antt_against_stock: Option<BenchDifference>,
    /// The same when the simulator plays recordings, against `stock` played from the same ones, with what programs take alone as
    /// measured; `null` where it cannot know.
    pub h_antt_predicted_against_stock: Option<BenchDifference>,
    /// How much of their speed alone on as many big cores programs keep, the sum over the programs.
    pub h_stp: f64,
    /// `h_stp` against that of `stock` in the same repetition: above 0 is better.
    pub h_stp_against_stock: Option<BenchDifference>,
    /// The same when the simulator plays recordings, as for `h_antt_predicted_against_stock`.
    pub h_stp_predicted_against_stock: Option<BenchDifference>,
    /// How long woken threads waited to run; `null` where no program measures that.
    pub latency: Option<BenchLatency>,
}

/// A difference between two schedulers that took turns, or played the same recordings: the geometric mean over the repetitions.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BenchDifference {
    /// -0.4 is 40 % less.
    pub value: f64,
    /// Its standard error; `null` for a single repetition.
    pub error: Option<f64>,
    /// The lower end of the 95 % interval; `null` for a single repetition.
    pub low: Option<f64>,
    /// The upper end of the 95 % interval; `null` for a single repetition.
    pub high: Option<f64>,
}

/// How long woken threads waited to run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BenchLatency {
    /// Half of them waited no longer: the mean over the runs, in seconds.
    pub p50_s: f64,
    /// 99 % of them waited no longer: the mean over the runs, in seconds.
    pub p99_s: f64,
    /// `p50_s` against that of `stock`.
    pub p50_against_stock: Option<BenchDifference>,
    /// `p99_s` against that of `stock`.
    pub p99_against_stock: Option<BenchDifference>,
}

/// What one scheduler's rows come to.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BenchTotal {
    /// As in the rows.
    pub policy: String,
    /// As in the rows.
    pub host: &'static str,
    /// The makespans of programs that compute, alone, against those of `stock`: the geometric mean over them.
    pub programs: Option<BenchDifference>,
    /// H_ANTT of the mixes of such programs against that of `stock`: the geometric mean over them.
    pub mixes: Option<BenchDifference>,
    /// What a switch between two threads takes under it, as predictions charge it, in seconds: the mean of the boots; `null` where it
    /// was not measured.
    pub switch_s: Option<f64>,
}

/// How far the simulator's predictions were off under one host.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BenchAccuracy {
    /// The host.
    pub host: &'static str,
    /// How many rows have a prediction.
    pub rows: usize,
    /// How far `predicted_s` is from `makespan_s`, as a share of that.
    pub times: BenchErrors,
    /// How far `predicted_against_stock` is from `against_stock`: 0.1 is ten points. `null` for `stock` itself.
    pub against_stock: Option<BenchErrors>,
    /// The mean of how far `h_antt_predicted_against_stock` is from `h_antt_against_stock`.
    pub h_antt_mean_absolute_error: Option<f64>,
}

/// How far predictions of several rows were off, whether too high or too low.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BenchErrors {
    /// In the mean.
    pub mean: f64,
    /// In the median.
    pub median: f64,
    /// At most.
    pub largest: f64,
    /// The bench that this is of.
    pub largest_bench: String,
    /// The policy that this is of.
    pub largest_policy: String,
}
