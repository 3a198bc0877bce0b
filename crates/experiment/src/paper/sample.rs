//! One measured workload of a set, whatever carried it out.

use statrs::statistics::Statistics;

use super::metric::Metric;
use crate::run::Run;

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

    /// A metric, of one of the programs or of one of the clusters where one is given; not a number if it was not measured.
    pub fn value(&self, metric: Metric, program: Option<usize>, cluster: Option<&str>) -> f64 {
        match (&self.measured, metric) {
            (Measured::Values(values), metric) => {
                values.iter().find(|(known, _)| *known == metric).map_or(f64::NAN, |(_, value)| *value)
            }
            (Measured::Run(run), Metric::HStp) => run.measurement.h_stp,
            (Measured::Run(run), Metric::HAntt) => run.measurement.h_antt,
            (Measured::Run(run), Metric::Time) => time(run, program),
            (Measured::Run(run), Metric::Energy) => energy(run, cluster),
            (Measured::Run(run), Metric::Edp) => run.measurement.edp(),
            (Measured::Run(run), Metric::Migrations) => run.measurement.migrations as f64,
            (Measured::Reckoned(reckoned), metric) => reckoned.value(metric, program, cluster),
            (Measured::Run(_), _) => f64::NAN,
        }
    }

    /// The geometric mean of the times of its programs, in seconds.
    pub fn mean_time(&self) -> f64 {
        let programs = 0..self.programs().count();
        programs.map(|program| self.value(Metric::Time, Some(program), None)).geometric_mean()
    }
}

impl Reckoned {
    fn value(&self, metric: Metric, program: Option<usize>, cluster: Option<&str>) -> f64 {
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
