//! One measured workload of a set, whatever carried it out.

use evenkeel_model::ThreadKind;
use statrs::statistics::Statistics;

use super::metric::Metric;
use crate::run::{Run, ThreadTime};
use crate::spread::mean;

/// A workload on a machine under a policy, in one core order, with one seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The workload's name; of workers the kernel's.
    pub workload: String,
    /// The machine's name; of the first-order model that of its parameters.
    pub machine: String,
    /// The policy's name; of workers the techniques, of the first-order model the range of voltages.
    pub policy: String,
    /// The seed of the run; 0 where nothing is drawn.
    pub seed: u64,
    /// What was measured.
    pub measured: Measured,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// A run of threads under a scheduler.
    Run(Box<Run>),
    /// Numbers by their metric, in the units that [`Metric`] says.
    Values(Vec<(Metric, f64)>),
    /// What a run of threads would come to by arithmetic alone.
    Reckoned(Reckoned),
}

/// What of a sample a metric is about. What is not given is not restricted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Part<'a> {
    /// The position of one of the programs: of times.
    pub program: Option<usize>,
    /// The name of one of the clusters: of energies.
    pub cluster: Option<&'a str>,
    /// The names of groups of threads: of what threads did.
    pub groups: Option<&'a [String]>,
}

/// Programs on a machine, without a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Reckoned {
    /// The programs, and how long each takes, in seconds.
    pub programs: Vec<(String, f64)>,
    /// The machine's clusters, and the energy of their cores, in joules.
    pub clusters: Vec<(String, f64)>,
    /// As of a run.
    pub h_antt: f64,
    /// As of a run.
    pub h_stp: f64,
}

impl From<Run> for Sample {
    fn from(run: Run) -> Self {
        let (workload, machine, policy) = (run.workload.clone(), run.machine.clone(), run.policy.clone());
        Self { workload, machine, policy, seed: run.seed, measured: Measured::Run(Box::new(run)) }
    }
}

impl Sample {
    /// The names of its programs, where there are some.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        let (run, reckoned) = match &self.measured {
            Measured::Run(run) => (Some(run), None),
            Measured::Reckoned(reckoned) => (None, Some(reckoned)),
            Measured::Values(_) => (None, None),
        };
        let ran = run.into_iter().flat_map(|run| &run.programs).map(|program| program.name.as_str());
        ran.chain(reckoned.into_iter().flat_map(|reckoned| &reckoned.programs).map(|(name, _)| name.as_str()))
    }

    /// A metric; not a number if it was not measured.
    pub fn value(&self, metric: Metric, part: Part<'_>) -> f64 {
        match (&self.measured, metric) {
            (Measured::Values(values), metric) => {
                values.iter().find(|(known, _)| *known == metric).map_or(f64::NAN, |(_, value)| *value)
            }
            (Measured::Run(run), Metric::HStp) => run.measurement.h_stp,
            (Measured::Run(run), Metric::HAntt) => run.measurement.h_antt,
            (Measured::Run(run), Metric::Time) => time(run, part.program),
            (Measured::Run(run), Metric::Energy) => energy(run, part.cluster),
            (Measured::Run(run), Metric::Edp) => run.measurement.edp(),
            (Measured::Run(run), Metric::Migrations) => run.measurement.migrations as f64,
            (Measured::Run(run), Metric::LockWaiting) => lock_waiting(run, part),
            (Measured::Run(run), Metric::Cycles) => cycles(run, part),
            (Measured::Reckoned(reckoned), metric) => reckoned.value(metric, part),
            (Measured::Run(_), _) => f64::NAN,
        }
    }

    /// The geometric mean of the times of its programs, in seconds.
    pub fn mean_time(&self) -> f64 {
        let programs = 0..self.programs().count();
        programs
            .map(|program| self.value(Metric::Time, Part { program: Some(program), ..Part::default() }))
            .geometric_mean()
    }
}

impl Reckoned {
    fn value(&self, metric: Metric, Part { program, cluster, .. }: Part<'_>) -> f64 {
        let longest = || self.programs.iter().map(|(_, time)| *time).fold(0.0, f64::max);
        let energies = |of: Option<&str>| -> f64 {
            self.clusters.iter().filter(|(name, _)| of.is_none_or(|of| of == name)).map(|(_, energy)| *energy).sum()
        };
        match metric {
            Metric::HStp => self.h_stp,
            Metric::HAntt => self.h_antt,
            Metric::Time => {
                program.map_or_else(longest, |program| self.programs.get(program).map_or(f64::NAN, |(_, time)| *time))
            }
            Metric::Energy => energies(cluster),
            Metric::Edp => energies(None) * longest(),
            _ => f64::NAN,
        }
    }
}

/// In seconds: of the run, or until a program was done.
fn time(run: &Run, program: Option<usize>) -> f64 {
    let turnaround = |program: usize| run.programs.get(program).and_then(|program| program.turnaround);
    let time = program.map_or(Some(run.measurement.makespan), turnaround);
    time.map_or(f64::NAN, |time| time.as_secs_f64())
}

/// In joules: of the run, or of a cluster.
fn energy(run: &Run, cluster: Option<&str>) -> f64 {
    let of_cluster = |name: &str| run.clusters.iter().find(|cluster| cluster.name == name).map(|of| of.energy);
    let energy = cluster.map_or(Some(run.measurement.energy), of_cluster);
    energy.map_or(f64::NAN, |energy| energy.0)
}

/// The threads of a program, or of all, without services: all of them, or those of some groups.
fn threads<'a>(
    run: &'a Run,
    program: Option<usize>,
    groups: Option<&'a [String]>,
) -> impl Iterator<Item = &'a ThreadTime> {
    let is = |thread: &ThreadTime, group: &String| {
        thread.name.strip_prefix(group.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let own = run.threads.iter().filter(|thread| thread.kind == ThreadKind::Application);
    own.filter(move |thread| program.is_none_or(|program| thread.program == program))
        .filter(move |thread| groups.is_none_or(|groups| groups.iter().any(|group| is(thread, group))))
}

fn lock_waiting(run: &Run, Part { program, groups, .. }: Part<'_>) -> f64 {
    let share = |thread: &ThreadTime| {
        let all = thread.ran + thread.waited + thread.waited_for_locks;
        thread.waited_for_locks.as_secs_f64() / all.as_secs_f64()
    };
    // One that was never begun has no share.
    let shares = threads(run, program, groups).map(share).filter(|share| share.is_finite());
    mean(shares).unwrap_or(f64::NAN)
}

fn cycles(run: &Run, Part { program, groups, .. }: Part<'_>) -> f64 {
    let ran = |groups| threads(run, program, groups).map(|thread| thread.ran.as_secs_f64()).sum::<f64>();
    ran(groups) / ran(None)
}
