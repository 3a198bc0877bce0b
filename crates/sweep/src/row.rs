//! What is kept of a run: a line of the journal, a row of the table.

use evenkeel_experiment::Run;
use serde::{Deserialize, Serialize};

use crate::columns::Field;
use crate::columns::Kind::{Count, Number, Text, Truth};

/// The columns of the table, but for what a grid varies, which comes after the policy: the fields of a [`Row`].
pub static FIELDS: [Field; 26] = [
    Field::always("run", Count),
    Field::always("key", Text),
    Field::always("workload", Text),
    Field::always("machine", Text),
    Field::always("policy", Text),
    Field::always("order", Text),
    Field::always("seed", Count),
    Field::optional("error", Text),
    Field::optional("max_events", Count),
    Field::optional("makespan_s", Number),
    Field::optional("h_antt", Number),
    Field::optional("h_stp", Number),
    Field::optional("energy_j", Number),
    Field::optional("edp", Number),
    Field::optional("migrations", Count),
    Field::optional("context_switches", Count),
    Field::optional("preemptions", Count),
    Field::optional("wakeup_mean_s", Number),
    Field::optional("wakeup_max_s", Number),
    Field::optional("missed_timers", Count),
    Field::optional("stale_answers", Count),
    Field::optional("finished_programs", Count),
    Field::optional("drawn", Truth),
    Field::optional("events", Count),
    Field::list("programs", &[("name", Text, false), ("turnaround_s", Number, true)]),
    Field::list("clusters", &[("name", Text, false), ("energy_j", Number, false)]),
];

/// A run, or why there is none. A number that does not exist (no program finished, nothing to divide by) is missing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its number in the grid, from 0.
    pub run: u64,
    /// The hash of its inputs, in hexadecimal digits.
    pub key: String,
    /// The workload's name.
    pub workload: String,
    /// The machine's name.
    pub machine: String,
    /// The policy's name, with its knobs.
    pub policy: String,
    /// The core order: `declared`, `big-first` or `little-first`.
    pub order: String,
    /// The seed.
    pub seed: u64,
    /// Why it could not be carried to its end; all that follows is missing then.
    pub error: Option<String>,
    /// The limit of events, if that ended it: with another one it may come to its end.
    pub max_events: Option<u64>,
    /// Until the last thread exited or the run's duration was over, in seconds.
    pub makespan_s: Option<f64>,
    /// Mean over programs of the turnaround against a machine of big cores only; lower is better.
    pub h_antt: Option<f64>,
    /// Sum over programs of the inverse of that ratio; higher is better.
    pub h_stp: Option<f64>,
    /// Energy of all cores, in joules.
    pub energy_j: Option<f64>,
    /// Energy times makespan, in joule seconds.
    pub edp: Option<f64>,
    /// Moves of a thread to another core.
    pub migrations: Option<u64>,
    /// Changes of the thread on a core.
    pub context_switches: Option<u64>,
    /// Threads that were stopped to let another run.
    pub preemptions: Option<u64>,
    /// Mean time from wake-up to running, in seconds.
    pub wakeup_mean_s: Option<f64>,
    /// The longest such time, in seconds.
    pub wakeup_max_s: Option<f64>,
    /// Timer expiries that had passed before the thread waited for them.
    pub missed_timers: Option<u64>,
    /// Actions of the scheduler that were stale when they were to be carried out.
    pub stale_answers: Option<u64>,
    /// Programs that came to their end before the run did.
    pub finished_programs: Option<u64>,
    /// Whether anything was drawn from the seed.
    pub drawn: Option<bool>,
    /// Events of the simulator.
    pub events: Option<u64>,
    /// The programs.
    pub programs: Vec<Turnaround>,
    /// The machine's clusters.
    pub clusters: Vec<Energy>,
}

/// A program of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Turnaround {
    /// Its name.
    pub name: String,
    /// When its last thread exited, in seconds; missing if the run ended first.
    pub turnaround_s: Option<f64>,
}

/// A cluster of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// Its name.
    pub name: String,
    /// Energy of its cores, in joules.
    pub energy_j: f64,
}

impl Row {
    /// With what came out.
    pub(crate) fn with(self, result: Result<Run, evenkeel_experiment::Error>) -> Self {
        let run = match result {
            Ok(run) => run,
            Err(error) => return Self { error: Some(chain(&error)), max_events: limit(&error), ..self },
        };
        let measured = run.measurement;
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        Self {
            error: None,
            makespan_s: Some(measured.makespan.as_secs_f64()),
            h_antt: finite(measured.h_antt),
            h_stp: finite(measured.h_stp),
            energy_j: finite(measured.energy.0),
            edp: finite(measured.edp()),
            migrations: Some(measured.migrations),
            context_switches: Some(measured.context_switches),
            preemptions: Some(measured.preemptions),
            wakeup_mean_s: measured.mean_wakeup_s(),
            wakeup_max_s: Some(measured.wakeups.max.as_secs_f64()),
            missed_timers: Some(measured.missed_timers),
            stale_answers: Some(measured.stale_answers),
            finished_programs: Some(measured.finished_programs),
            drawn: Some(run.drawn),
            events: Some(run.events),
            programs: run
                .programs
                .into_iter()
                .map(|program| Turnaround {
                    name: program.name,
                    turnaround_s: program.turnaround.map(evenkeel_model::Ns::as_secs_f64),
                })
                .collect(),
            clusters: run
                .clusters
                .into_iter()
                .map(|cluster| Energy { name: cluster.name, energy_j: cluster.energy.0 })
                .collect(),
            ..self
        }
    }
}

/// The limit of events that a run exceeded, if that is what went wrong.
fn limit(error: &evenkeel_experiment::Error) -> Option<u64> {
    match error {
        evenkeel_experiment::Error::Run { source: evenkeel_sim::Error::MaxEvents { limit, .. }, .. } => Some(*limit),
        _ => None,
    }
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}
