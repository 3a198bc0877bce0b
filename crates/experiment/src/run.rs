//! What runs produce.

use evenkeel_model::{Cluster, CoreOrder, Joules, Machine, Ns, ThreadKind, metrics};
use evenkeel_sim::{CoreOutcome, Ended, Latency, Outcome, ProgramOutcome, ThreadOutcome};

/// What a plan produced.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// One entry a run, in the order of [`crate::Plan::jobs`].
    pub runs: Vec<Run>,
    /// Simulator events, those of the reference runs included.
    pub events: u64,
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The workload's name.
    pub workload: String,
    /// The machine's name.
    pub machine: String,
    /// The policy's name, with its knobs.
    pub policy: String,
    /// The core order.
    pub order: CoreOrder,
    /// The seed.
    pub seed: u64,
    /// How the run ended.
    pub ended: Ended,
    /// What was measured.
    pub measurement: Measurement,
    /// The programs, in the order of the workload.
    pub programs: Vec<ProgramTime>,
    /// The threads, in order of creation.
    pub threads: Vec<ThreadTime>,
    /// The machine's clusters.
    pub clusters: Vec<ClusterEnergy>,
    /// The machine's cores, in the order of the run.
    pub cores: Vec<CoreOutcome>,
    /// Whether anything was drawn from the seed. If not, every seed gives this run.
    pub drawn: bool,
    /// Simulator events of this run.
    pub events: u64,
}

/// The measurements of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// Until the last thread exited or the run's duration was over.
    pub makespan: Ns,
    /// Mean over programs of the turnaround against a machine of big cores only (COLAB 5.1); lower is better.
    pub h_antt: f64,
    /// Sum over programs of the inverse of that ratio; higher is better.
    pub h_stp: f64,
    /// Energy of all cores.
    pub energy: Joules,
    /// Moves of a thread to another core.
    pub migrations: u64,
    /// Changes of the thread on a core.
    pub context_switches: u64,
    /// Threads that were stopped to let another run.
    pub preemptions: u64,
    /// Time from wake-up to running, over all wake-ups.
    pub wakeups: Latency,
    /// Timer expiries that had passed before the thread waited for them.
    pub missed_timers: u64,
    /// Actions of the scheduler that were stale when they were to be carried out.
    pub stale_answers: u64,
    /// Programs that came to their end before the run did.
    pub finished_programs: u64,
}

impl Measurement {
    /// Energy times makespan, in joule seconds.
    pub fn edp(&self) -> f64 {
        metrics::edp(self.energy.0, self.makespan.as_secs_f64())
    }

    /// The mean time from wake-up to running, in seconds; `None` without a wake-up.
    pub fn mean_wakeup_s(&self) -> Option<f64> {
        (self.wakeups.count > 0).then(|| self.wakeups.total.as_secs_f64() / self.wakeups.count as f64)
    }

    /// Of a run whose programs took so long here and alone on big cores (`T_M` and `T_SB` of COLAB 5.1).
    pub(crate) fn of(outcome: &Outcome, pairs: &[(f64, f64)]) -> Self {
        Self {
            makespan: outcome.makespan,
            h_antt: metrics::h_antt(pairs).unwrap_or(f64::NAN),
            h_stp: metrics::h_stp(pairs),
            energy: outcome.energy,
            migrations: outcome.migrations,
            context_switches: outcome.context_switches,
            preemptions: outcome.preemptions,
            wakeups: outcome.wakeup_latency,
            missed_timers: outcome.missed_timers,
            stale_answers: outcome.stale_answers,
            finished_programs: outcome.programs.iter().filter(|program| program.turnaround.is_some()).count() as u64,
        }
    }
}

/// A program of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramTime {
    /// Its name.
    pub name: String,
    /// When its last thread exited; `None` if the run ended first.
    pub turnaround: Option<Ns>,
}

impl From<&ProgramOutcome> for ProgramTime {
    fn from(outcome: &ProgramOutcome) -> Self {
        Self { name: outcome.name.clone(), turnaround: outcome.turnaround }
    }
}

/// A thread of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadTime {
    /// The position of its program.
    pub program: usize,
    /// Its name.
    pub name: String,
    /// Whose work it does.
    pub kind: ThreadKind,
    /// Time on cores.
    pub ran: Ns,
    /// Time spent ready, waiting for a core.
    pub waited: Ns,
    /// Time spent off its core until a lock was released that another thread held.
    pub waited_for_locks: Ns,
}

impl From<&ThreadOutcome> for ThreadTime {
    fn from(outcome: &ThreadOutcome) -> Self {
        Self {
            program: outcome.program.index(),
            name: outcome.name.clone(),
            kind: outcome.kind,
            ran: outcome.on_type.iter().copied().sum(),
            waited: outcome.waited,
            waited_for_locks: outcome.waited_for_locks,
        }
    }
}

/// A cluster in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterEnergy {
    /// Its name.
    pub name: String,
    /// Energy of its cores.
    pub energy: Joules,
}

impl ClusterEnergy {
    /// Of every cluster of the machine that a run was on.
    pub(crate) fn of(machine: &Machine, outcome: &Outcome) -> Vec<Self> {
        let energy = |cluster: &Cluster| cluster.cores.iter().map(|core| outcome.cores[core.index()].energy).sum();
        machine.clusters.iter().map(|of| Self { name: of.name.clone(), energy: energy(of) }).collect()
    }
}
