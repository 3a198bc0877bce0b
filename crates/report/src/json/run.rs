//! What `sim` and `compare` print.

use evenkeel_experiment::{ClusterEnergy, Measurement, ProgramTime, Run as Measured};
use serde::Serialize;

/// What `sim` and `compare` print.
#[derive(Debug, Serialize)]
pub struct Runs<'a> {
    /// One entry a run, in the order workload, machine, policy, core order, seed.
    pub runs: Vec<Run<'a>>,
    /// Simulator events of all runs, reference runs included.
    pub events: u64,
    /// Wall-clock time of the command, in seconds: the one field that differs from one call to the next.
    pub seconds: f64,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run<'a> {
    /// The workload's name.
    pub workload: &'a str,
    /// The machine's name.
    pub machine: &'a str,
    /// The policy's name.
    pub policy: &'a str,
    /// The core order: `declared`, `big-first` or `little-first`.
    pub order: &'static str,
    /// The seed.
    pub seed: u64,
    /// What was measured.
    pub metrics: Metrics,
    /// The programs, in the order of the workload.
    pub programs: Vec<Program<'a>>,
    /// The machine's clusters.
    pub clusters: Vec<Cluster<'a>>,
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
pub struct Program<'a> {
    /// Its name.
    pub name: &'a str,
    /// When its last thread exited, in seconds; null if the run ended first.
    pub turnaround_s: Option<f64>,
}

/// A cluster in a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cluster<'a> {
    /// Its name.
    pub name: &'a str,
    /// Energy of its cores, in joules.
    pub energy_j: f64,
}

impl<'a> Runs<'a> {
    /// Of these runs.
    pub fn of(runs: &'a [Measured], events: u64, seconds: f64) -> Self {
        Self { runs: runs.iter().map(Run::from).collect(), events, seconds }
    }
}

impl<'a> From<&'a Measured> for Run<'a> {
    fn from(run: &'a Measured) -> Self {
        Self {
            workload: &run.workload,
            machine: &run.machine,
            policy: &run.policy,
            order: run.order.name(),
            seed: run.seed,
            metrics: Metrics::from(&run.measurement),
            programs: run.programs.iter().map(Program::from).collect(),
            clusters: run.clusters.iter().map(Cluster::from).collect(),
        }
    }
}

impl From<&Measurement> for Metrics {
    fn from(measured: &Measurement) -> Self {
        Self {
            makespan_s: measured.makespan.as_secs_f64(),
            h_antt: measured.h_antt,
            h_stp: measured.h_stp,
            energy_j: measured.energy.0,
            edp: measured.edp(),
            migrations: measured.migrations,
            context_switches: measured.context_switches,
            preemptions: measured.preemptions,
            wakeup_mean_s: measured.mean_wakeup_s(),
            wakeup_max_s: measured.wakeups.max.as_secs_f64(),
            missed_timers: measured.missed_timers,
            stale_answers: measured.stale_answers,
            finished_programs: measured.finished_programs,
        }
    }
}

impl<'a> From<&'a ProgramTime> for Program<'a> {
    fn from(program: &'a ProgramTime) -> Self {
        Self { name: &program.name, turnaround_s: program.turnaround.map(evenkeel_model::Ns::as_secs_f64) }
    }
}

impl<'a> From<&'a ClusterEnergy> for Cluster<'a> {
    fn from(cluster: &'a ClusterEnergy) -> Self {
        Self { name: &cluster.name, energy_j: cluster.energy.0 }
    }
}
