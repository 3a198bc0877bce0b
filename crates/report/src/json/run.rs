//! What `sim` and `compare` print.

use evenkeel_experiment::{Cell, ClusterEnergy, Comparison, Measurement, ProgramTime, Run as Measured, Value};
use evenkeel_model::Difference;
use evenkeel_sim::Ended;
use serde::Serialize;

use crate::headline;

/// **H_ANTT and H_STP.** Every program also runs alone on a machine with as many cores as the one under test, all of its biggest
/// type, under CFS, with the same seed, and without `--noise` and `--delay`. With `T_M` the turnaround in the workload and `T_SB`
/// the one alone, H_ANTT is the mean over programs of `T_M / T_SB` and H_STP the sum of `T_SB / T_M`.
///
/// A program that the end of the workload cuts off, or that never ends (most rt-app files), has no turnaround. Both of its runs
/// then last equally long, and the ratio of the work done takes the place of the ratio of the times:
/// `T_M / T_SB = instructions alone / instructions here`. If alone it ends before the end of the workload cuts it off here, its
/// turnaround here is what it would be at the rate until then. For a program that got nothing done here `h_antt` is infinite and
/// therefore `null`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Runs<'a> {
    /// One entry a run, in the order of workload, machine, policy, core order and seed as given on the command line.
    pub runs: Vec<Run<'a>>,
    /// Events that the simulator processed, reference runs included.
    pub events: u64,
    /// Wall-clock time of the command, in seconds: the one field that differs from one execution to the next.
    pub seconds: f64,
    /// The command was interrupted: `runs` are those that were done until then, or, of `sim`, the one up to that time. Absent
    /// otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// What `compare` finds, in a sentence. Absent of `sim`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headline: Option<String>,
    /// How much each policy differs from the baseline: on each workload and machine, then on all. Absent of `sim`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effects: Option<Vec<PolicyEffects<'a>>>,
}

/// A policy against the baseline. An effect of -0.1 is 10 % less than the baseline has. It is the geometric mean of ratios of runs
/// with the same seed, over core orders, and for all workloads and machines over those, too.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyEffects<'a> {
    /// The workload's name; `null` for the mean over all workloads and machines.
    pub workload: Option<&'a str>,
    /// The machine's name; `null` for that mean.
    pub machine: Option<&'a str>,
    /// The policy's name.
    pub policy: &'a str,
    /// The baseline's name.
    pub against: &'a str,
    /// On H_ANTT.
    pub h_antt: Option<Effect>,
    /// On H_STP.
    pub h_stp: Option<Effect>,
    /// On the energy.
    pub energy_j: Option<Effect>,
    /// The same in each core order.
    pub orders: Vec<OrderEffect>,
}

/// An effect.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Effect {
    /// The effect, as a share.
    pub effect: f64,
    /// The lower end of its 95 % interval from seed to seed; `null` with one seed.
    pub low: Option<f64>,
    /// The upper end; `null` with one seed.
    pub high: Option<f64>,
    /// How many seeds it is from.
    pub seeds: usize,
}

/// The effects in one core order.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OrderEffect {
    /// The core order, as of a run.
    pub order: &'static str,
    /// On H_ANTT.
    pub h_antt: Option<Effect>,
    /// On H_STP.
    pub h_stp: Option<Effect>,
    /// On the energy.
    pub energy_j: Option<Effect>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Run<'a> {
    /// The workload's name.
    pub workload: &'a str,
    /// The machine's name.
    pub machine: &'a str,
    /// The policy's name.
    pub policy: &'a str,
    /// The order in which the operating system numbers the cores: `declared` (as in the machine file), `big-first` or
    /// `little-first`.
    pub order: &'static str,
    /// The seed of every random draw.
    pub seed: u64,
    /// What was measured.
    pub metrics: Metrics,
    /// The programs, in the order of the workload.
    pub programs: Vec<Program<'a>>,
    /// The clusters of the machine.
    pub clusters: Vec<Cluster<'a>>,
}

/// The measurements of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Metrics {
    /// From the start to the exit of the last thread, or to the end of a workload that has a duration, in seconds.
    pub makespan_s: f64,
    /// Heterogeneous average normalised turnaround time (COLAB 5.1); lower is better. `null` of a run that was interrupted.
    pub h_antt: f64,
    /// Heterogeneous system throughput (COLAB 5.1); higher is better. `null` of a run that was interrupted.
    pub h_stp: f64,
    /// Energy of all cores, in joules.
    pub energy_j: f64,
    /// `energy_j` times `makespan_s`, in joule seconds.
    pub edp: f64,
    /// Moves of a thread to another core.
    pub migrations: u64,
    /// Changes of the thread on a core.
    pub context_switches: u64,
    /// Threads that were stopped to let another run.
    pub preemptions: u64,
    /// Mean time from wake-up to running, in seconds; `null` if nothing was woken.
    pub wakeup_mean_s: Option<f64>,
    /// The longest time from wake-up to running, in seconds.
    pub wakeup_max_s: f64,
    /// Timer expiries that had passed before the thread waited for them.
    pub missed_timers: u64,
    /// Actions of the scheduler that no longer made sense when they were carried out: two cores wanted the same running thread,
    /// or, with `--delay`, the state had changed.
    pub stale_answers: u64,
    /// Programs whose last thread exited before the run ended.
    pub finished_programs: u64,
}

/// A program of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Program<'a> {
    /// Its name.
    pub name: &'a str,
    /// When its last thread exited, in seconds; `null` if the run ended first.
    pub turnaround_s: Option<f64>,
}

/// A cluster in a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cluster<'a> {
    /// Its name.
    pub name: &'a str,
    /// Energy of its cores, in joules.
    pub energy_j: f64,
}

impl<'a> Runs<'a> {
    /// Of these runs.
    pub fn of(runs: &'a [Measured], events: u64, seconds: f64) -> Self {
        Self {
            runs: runs.iter().map(Run::from).collect(),
            events,
            seconds,
            interrupted: false,
            headline: None,
            effects: None,
        }
    }

    /// With what they amount to.
    #[must_use]
    pub fn compared(self, compared: &Comparison<'a>) -> Self {
        let of_cells = compared.cells.iter().flat_map(|cell| compared.others().map(move |policy| (Some(cell), policy)));
        let of_all = compared.others().map(|policy| (None, policy));
        let effects = of_cells.chain(of_all).map(|(cell, policy)| PolicyEffects::of(compared, cell, policy));
        Self { headline: Some(headline::of(compared)), effects: Some(effects.collect()), ..self }
    }
}

impl<'a> PolicyEffects<'a> {
    fn of(compared: &Comparison<'a>, cell: Option<&Cell<'a>>, policy: usize) -> Self {
        let effect = |order, value: Value| compared.effect(cell, order, policy, value).map(Effect::from);
        let in_order = |order: usize| OrderEffect {
            order: compared.orders[order].name(),
            h_antt: effect(Some(order), |run| run.h_antt),
            h_stp: effect(Some(order), |run| run.h_stp),
            energy_j: effect(Some(order), |run| run.energy.0),
        };
        Self {
            workload: cell.map(|cell| cell.workload),
            machine: cell.map(|cell| cell.machine),
            policy: compared.policies[policy],
            against: compared.policies[compared.baseline],
            h_antt: effect(None, |run| run.h_antt),
            h_stp: effect(None, |run| run.h_stp),
            energy_j: effect(None, |run| run.energy.0),
            orders: (0..compared.orders.len()).map(in_order).collect(),
        }
    }
}

impl Effect {
    /// Of a sweep, which sums up several seeds in one where there are many.
    pub(super) fn of_seeds(difference: Difference, seeds: usize) -> Self {
        Self { seeds, ..Self::from(difference) }
    }
}

impl From<Difference> for Effect {
    fn from(difference: Difference) -> Self {
        let ends = difference.interval;
        Self {
            effect: difference.value,
            low: ends.map(|(low, _)| low),
            high: ends.map(|(_, high)| high),
            seeds: difference.pairs(),
        }
    }
}

impl<'a> From<&'a Measured> for Run<'a> {
    fn from(run: &'a Measured) -> Self {
        let mut metrics = Metrics::from(&run.measurement);
        if run.ended == Ended::Interrupted {
            // What it would have come to is not in a part of it.
            (metrics.h_antt, metrics.h_stp) = (f64::NAN, f64::NAN);
        }
        Self {
            workload: &run.workload,
            machine: &run.machine,
            policy: &run.policy,
            order: run.order.name(),
            seed: run.seed,
            metrics,
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
