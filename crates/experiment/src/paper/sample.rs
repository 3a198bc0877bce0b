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
}

impl From<Run> for Sample {
    fn from(run: Run) -> Self {
        let (workload, machine, policy) = (run.workload.clone(), run.machine.clone(), run.policy.clone());
        Self { workload, machine, policy, measured: Measured::Run(Box::new(run)) }
    }
}

impl Sample {
    /// The names of its programs, where there are some.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        self.run().into_iter().flat_map(|run| &run.programs).map(|program| program.name.as_str())
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
            (Measured::Run(_), _) => f64::NAN,
        }
    }

    /// The geometric mean of the times of its programs, in seconds.
    pub fn mean_time(&self) -> f64 {
        let times = self.run().into_iter().flat_map(|run| &run.programs);
        times.map(|program| program.turnaround.map_or(f64::NAN, |time| time.as_secs_f64())).geometric_mean()
    }

    fn run(&self) -> Option<&Run> {
        match &self.measured {
            Measured::Run(run) => Some(run),
            Measured::Values(_) => None,
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
