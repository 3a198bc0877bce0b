//! The JSON that commands print: an interface, described field by field in `docs/json.md` and held by a test.

use anyhow::Context;
use evenkeel_model::CoreOrder;
use serde::Serialize;

/// What `sim` and `compare` print.
#[derive(Debug, Serialize)]
pub struct Runs<'a> {
    /// One entry a run, in the order workload, machine, policy, core order, seed.
    pub runs: &'a [Run],
    /// Simulator events of all runs, reference runs included.
    pub events: u64,
    /// Wall-clock time of the command, in seconds: the one field that differs from one call to the next.
    pub seconds: f64,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// The workload's name.
    pub workload: String,
    /// The machine's name.
    pub machine: String,
    /// The policy's name.
    pub policy: String,
    /// The core order: `declared`, `big-first` or `little-first`.
    pub order: &'static str,
    /// The seed.
    pub seed: u64,
    /// What was measured.
    pub metrics: Metrics,
    /// The programs, in the order of the workload.
    pub programs: Vec<Program>,
    /// The machine's clusters.
    pub clusters: Vec<Cluster>,
    /// What only experiments measure.
    #[serde(skip)]
    pub measures: Vec<(crate::reproduce::experiment::Metric, f64)>,
}

/// The measurements of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metrics {
    /// Until the last thread exited or the run's duration was over, in seconds.
    pub makespan_s: f64,
    /// Mean over programs of the turnaround against a machine of big cores only; lower is better.
    pub h_antt: f64,
    /// Sum over programs of the inverse of that ratio; higher is better.
    pub h_stp: f64,
    /// Energy of all cores, in joules.
    pub energy_j: f64,
    /// Energy times makespan, in joule seconds.
    pub edp: f64,
    /// Moves of a thread to another core.
    pub migrations: u64,
    /// Changes of the thread on a core.
    pub context_switches: u64,
    /// Threads that were stopped to let another run.
    pub preemptions: u64,
    /// Mean time from wake-up to running, in seconds; null without a wake-up.
    pub wakeup_mean_s: Option<f64>,
    /// The longest time from wake-up to running, in seconds.
    pub wakeup_max_s: f64,
    /// Timer expiries that had passed before the thread asked for them.
    pub missed_timers: u64,
    /// Answers of the scheduler that no longer made sense when they were carried out.
    pub stale_answers: u64,
    /// Programs that came to their end before the run did.
    pub finished_programs: u64,
}

/// A program of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// When its last thread exited, in seconds; null if the run ended first.
    pub turnaround_s: Option<f64>,
}

/// A cluster in a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cluster {
    /// Its name.
    pub name: String,
    /// Energy of its cores, in joules.
    pub energy_j: f64,
}

/// What `reproduce all` prints.
#[derive(Debug, Serialize)]
pub struct Reproductions<'a> {
    /// One paper an entry.
    pub experiments: &'a [Reproduction<'a>],
}

/// What `reproduce` prints: a paper's evaluation.
#[derive(Debug, Serialize)]
pub struct Reproduction<'a> {
    /// The experiment's name.
    pub experiment: &'a str,
    /// Simulator events of all runs, reference runs included.
    pub events: u64,
    /// Wall-clock time that the runs took, in seconds.
    pub seconds: f64,
    /// What the rows come to.
    pub summary: Summary,
    /// One published number a row.
    pub rows: Vec<&'a Row>,
    /// Power over time, where the paper shows it.
    pub power: &'a [Chart],
    /// Where the time of every kernel goes, where workers ran some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub breakdown: Vec<Breakdown<'a>>,
}

/// A kernel run by workers, the mean over seeds.
#[derive(Clone, Debug, Serialize)]
pub struct Breakdown<'a> {
    /// The set of the experiment.
    pub set: &'a str,
    /// The kernel.
    pub workload: &'a str,
    /// The machine.
    pub machine: &'a str,
    /// The techniques.
    pub policy: &'a str,
    /// Time, in seconds.
    pub seconds: f64,
    /// Energy of all cores, in joules.
    pub energy_j: f64,
    /// The share of the time in serial parts.
    pub serial: f64,
    /// With all cores active.
    pub high_parallel: f64,
    /// With fewer big cores waiting than little ones active.
    pub scarce: f64,
    /// With enough big cores waiting to mug all work.
    pub ample: f64,
    /// With some cores waiting and nothing to mug.
    pub other_low: f64,
    /// Mugs for each million instructions.
    pub mugs_per_minst: f64,
    /// Changes of voltage of all cores for each 10 us.
    pub transitions_per_10_us: f64,
}

/// Power over time.
#[derive(Debug, Serialize)]
pub struct Chart {
    /// A sentence.
    pub what: String,
    /// Section and figure.
    pub source: String,
    /// The time between two samples, in seconds.
    pub every_s: f64,
    /// What is compared.
    pub lines: Vec<Line>,
}

/// A line of a chart.
#[derive(Debug, Serialize)]
pub struct Line {
    /// What it is called.
    pub name: String,
    /// The mean power of each interval.
    pub watts: Vec<f64>,
}

/// What the rows of kind `result` come to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// How many there are.
    pub results: usize,
    /// Of those, how many compare two things; the others are amounts, which have no sign that could be wrong.
    pub compared: usize,
    /// Of those that compare, how many have the right sign, or no effect where the paper saw none.
    pub sign: usize,
    /// How many are numbers other than zero, not limits.
    pub effects: usize,
    /// Of those, how many are within a third of the published number.
    pub within_a_third: usize,
    /// Of all, how many are close: within a third of the published number, within a published limit, or no effect where the
    /// paper saw none.
    pub close: usize,
    /// How many are within 10 % of the published ratio (1 + effect) or amount.
    pub within_ten_percent: usize,
    /// Spearman's rank correlation of the published and the simulated ratios; null if there is no order.
    pub rank_correlation: Option<f64>,
}

/// One published number and what came out here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Stable name.
    pub id: String,
    /// A sentence.
    pub what: String,
    /// The published number; effects are signed fractions.
    pub published: f64,
    /// The same number here; null if nothing was run that it could come from.
    pub simulated: Option<f64>,
    /// `simulated - published`.
    pub difference: Option<f64>,
    /// Section and figure of the paper.
    pub source: String,
    /// Whether the row is a result, was used to calibrate, or was an input.
    pub kind: Kind,
}

/// What `run` prints.
#[derive(Debug, Serialize)]
pub struct Followed<'a> {
    /// The policy's name.
    pub policy: &'a str,
    /// The names of the core types, in the order of every `run_s`.
    pub core_types: Vec<&'a str>,
    /// From the start to the end of following, in seconds.
    pub elapsed_s: f64,
    /// Time that all threads together ran on each core type, in seconds.
    pub run_s: Vec<f64>,
    /// Time that all threads together were ready and did not run.
    pub delay_s: f64,
    /// Time that all threads together waited in the futex system call; null where eBPF is not available.
    pub waited_s: Option<f64>,
    /// How often a thread left a CPU.
    pub switches: u64,
    /// How often it could have gone on; null where eBPF is not available.
    pub preemptions: Option<u64>,
    /// Moves of a thread to another core type.
    pub moves: u64,
    /// How often a thread was bound to a set of cores.
    pub binds: u64,
    /// Changes of a mask that the kernel refused.
    pub refused: u64,
    /// How often the host looked.
    pub looks: u64,
    /// The longest time from one look to the next.
    pub longest_gap_s: f64,
    /// CPU time that following took.
    pub cost_s: f64,
    /// What the policy decides and affinity masks cannot enforce.
    pub unenforced: Vec<&'static str>,
    /// What could not be seen, and why; null if nothing.
    pub missing: &'a [String],
    /// The threads, those that ran longest first.
    pub threads: Vec<FollowedThread<'a>>,
    /// Who waited for whom, the longest waits first; null where eBPF is not available.
    pub waits: Option<Vec<Waits>>,
}

/// A thread of a followed program.
#[derive(Debug, Serialize)]
pub struct FollowedThread<'a> {
    /// Its number.
    pub tid: u32,
    /// That of its process.
    pub process: u32,
    /// Its name.
    pub name: &'a str,
    /// Whether it serves a language's runtime system.
    pub service: bool,
    /// Time that it ran on each core type.
    pub run_s: Vec<f64>,
    /// Time that it was ready and did not run.
    pub delay_s: f64,
    /// Time that it waited in the futex system call.
    pub waited_s: Option<f64>,
    /// Time that others waited there until it woke them.
    pub blame_s: Option<f64>,
    /// How often it left a CPU.
    pub switches: u64,
    /// How often it could have gone on.
    pub preemptions: Option<u64>,
}

/// The waits of one thread that another one ended.
#[derive(Debug, Serialize)]
pub struct Waits {
    /// Who waited.
    pub waiter: u32,
    /// Who ended the waits.
    pub waker: u32,
    /// How long they were, together.
    pub waited_s: f64,
    /// How many they were.
    pub times: u64,
}

/// What a row of an experiment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Comes out of the mechanisms.
    Result,
    /// Was used to choose a constant.
    Calibration,
    /// Was put in.
    Input,
}

/// A core order's name in JSON and on the command line.
pub fn order_name(order: CoreOrder) -> &'static str {
    match order {
        CoreOrder::Declared => "declared",
        CoreOrder::BigFirst => "big-first",
        CoreOrder::LittleFirst => "little-first",
    }
}

/// A value as indented JSON with a newline at its end.
pub fn print<T: Serialize>(value: &T) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(value).context("cannot encode the result as JSON")? + "\n")
}

impl Metrics {
    /// Nothing measured.
    pub fn zero() -> Self {
        Self {
            makespan_s: 0.0,
            h_antt: 0.0,
            h_stp: 0.0,
            energy_j: 0.0,
            edp: 0.0,
            migrations: 0,
            context_switches: 0,
            preemptions: 0,
            wakeup_mean_s: None,
            wakeup_max_s: 0.0,
            missed_timers: 0,
            stale_answers: 0,
            finished_programs: 0,
        }
    }
}
