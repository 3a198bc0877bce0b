//! Power over time, sampled as a board's sensors are: the mean of each interval.

use evenkeel_model::{ClusterId, Machine, Ns, Watts};
use evenkeel_sim::{Event, Observer};

use super::file::{Experiment, PowerChart, PowerLine};
use crate::error::{Error, Result};
use crate::plan::Job;
use crate::runner::Runner;

/// Power over time, as a paper shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Power {
    /// A sentence.
    pub what: String,
    /// Section and figure.
    pub source: String,
    /// The time between two samples.
    pub every: Ns,
    /// What is compared.
    pub lines: Vec<MeasuredLine>,
}

/// A line of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredLine {
    /// What it is called.
    pub name: String,
    /// The mean power of each interval.
    pub samples: Vec<Watts>,
}

/// Runs what a chart shows. `runners` are those of the experiment's sets.
pub(super) fn measure(chart: &PowerChart, experiment: &Experiment, runners: &[Runner]) -> Result<Power> {
    let line = |line: &PowerLine| {
        let missing = || {
            let PowerChart { what, workload, machine, .. } = chart;
            Error::ExperimentFile(format!("{what}: {workload} is not run on {machine} in set {}", line.set))
        };
        let set = experiment.sets.iter().position(|set| set.name == line.set).ok_or_else(missing)?;
        let (set, runner) = (&experiment.sets[set], &runners[set]);
        let job = Job {
            workload: set.workloads.iter().position(|member| member.called() == chart.workload).ok_or_else(missing)?,
            machine: set.machines.iter().position(|machine| *machine == chart.machine).ok_or_else(missing)?,
            policy: experiment.policies_of(set).iter().position(|policy| *policy == line.policy).ok_or_else(missing)?,
            order: runner.plan().orders[0],
            seed: runner.plan().seeds[0],
        };
        let machine = runner.machine(job);
        let cluster = match &chart.cluster {
            None => None,
            Some(name) => Some(machine.clusters.iter().position(|of| of.name == *name).ok_or_else(missing)?),
        };
        let mut meter = Meter::new(&machine, cluster, Ns::from_ms(chart.every_ms));
        let run = runner.run(job, &mut meter)?;
        let samples = meter.samples(run.measurement.makespan).into_iter().map(Watts).collect();
        Ok(MeasuredLine { name: line.name.clone(), samples })
    };
    Ok(Power {
        what: chart.what.clone(),
        source: chart.source.clone(),
        every: Ns::from_ms(chart.every_ms),
        lines: chart.lines.iter().map(line).collect::<Result<_>>()?,
    })
}

/// Adds up the energy of each interval.
struct Meter {
    every: Ns,
    cluster: Option<ClusterId>,
    /// The present power of each cluster, and until when its energy is counted.
    watts: Vec<f64>,
    until: Ns,
    joules: f64,
    samples: Vec<f64>,
}

impl Meter {
    /// Clusters begin idle, and no event says so.
    fn new(machine: &Machine, cluster: Option<usize>, every: Ns) -> Self {
        let idle = |cluster: &evenkeel_model::Cluster| {
            let kind = &machine.core_types[cluster.core_type.index()];
            let volts = kind.opp_at(kind.max_frequency()).voltage.0;
            volts * kind.leakage * kind.idle_share * cluster.cores.len() as f64
        };
        Self {
            every,
            cluster: cluster.map(|cluster| ClusterId(cluster as u16)),
            watts: machine.clusters.iter().map(idle).collect(),
            until: Ns::ZERO,
            joules: 0.0,
            samples: Vec::new(),
        }
    }

    fn count(&mut self, to: Ns) {
        let power = match self.cluster {
            Some(cluster) => self.watts[cluster.index()],
            None => self.watts.iter().sum(),
        };
        while self.until < to {
            let end = Ns(self.every.0 * (self.samples.len() as u64 + 1));
            let step = end.min(to);
            self.joules += power * step.since(self.until).as_secs_f64();
            self.until = step;
            if step == end {
                self.samples.push(self.joules / self.every.as_secs_f64());
                self.joules = 0.0;
            }
        }
    }

    /// The whole intervals of a run that ended then.
    fn samples(mut self, end: Ns) -> Vec<f64> {
        self.count(end);
        self.samples
    }
}

impl Observer for Meter {
    fn observe(&mut self, at: Ns, event: &Event<'_>) {
        if let Event::Power { cluster, power } = event {
            self.count(at);
            self.watts[cluster.index()] = power.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_model::machines;

    use super::*;

    #[test]
    fn a_sample_is_the_mean_of_its_interval() {
        let odroid = machines::by_name("odroid-xu3").unwrap();
        let mut meter = Meter::new(&odroid, Some(1), Ns::from_ms(10));
        let idle = meter.watts[1];
        let power = |meter: &mut Meter, ms, watts| {
            meter.observe(Ns::from_ms(ms), &Event::Power { cluster: ClusterId(1), power: Watts(watts) });
        };
        power(&mut meter, 5, 2.0);
        meter.observe(Ns::from_ms(12), &Event::Power { cluster: ClusterId(0), power: Watts(9.0) });
        power(&mut meter, 20, 1.0);
        let samples = meter.samples(Ns::from_ms(48));
        assert_eq!(samples.len(), 4, "the last interval is not whole");
        for (sample, expected) in samples.iter().zip([(idle + 2.0) / 2.0, 2.0, 1.0, 1.0]) {
            assert!((sample - expected).abs() < 1e-9, "{samples:?}");
        }
    }
}
