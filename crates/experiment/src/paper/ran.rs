//! A set that has been run, and the values of its workloads.

use super::file::{Member, Set};
use super::metric::Metric;
use super::published::Baseline;
use super::sample::{Part, Sample};
use crate::spread::{Spread, mean};

/// The samples of a set, and what its machines are.
#[derive(Clone, Debug)]
pub struct Ran {
    /// What the experiment file says.
    pub set: Set,
    /// Its policies.
    pub policies: Vec<String>,
    /// What was measured.
    pub samples: Vec<Sample>,
    /// Cores of each machine of the set, in its order.
    pub cores: Vec<u32>,
    /// What the cores of each machine can do together of compute-bound code, in instructions per ns ([`Metric::Capacity`]).
    pub capacity: Vec<f64>,
}

impl Ran {
    /// The value of a workload on a machine under a policy.
    pub fn value(&self, workload: &str, machine: &str, metric: Metric, policy: &str) -> Option<f64> {
        Arm { ran: self, workload, machine, policy, part: Part::default() }.value(metric)
    }

    /// The effect of a policy on a workload: its value against that of another policy, as a signed share.
    pub fn effect(&self, workload: &str, machine: &str, metric: Metric, policy: &str, baseline: &str) -> Option<f64> {
        let value = |policy: &str| self.value(workload, machine, metric, policy);
        Some(value(policy)? / value(baseline)? - 1.0)
    }

    /// The programs of a workload.
    pub fn programs(&self, workload: &str) -> Vec<&str> {
        let sample = self.samples.iter().find(|sample| sample.workload == workload);
        sample.into_iter().flat_map(Sample::programs).collect()
    }
}

/// One workload on one machine under one policy, or one of its programs.
#[derive(Clone, Copy)]
pub struct Arm<'a> {
    /// Its set.
    pub ran: &'a Ran,
    /// The workload.
    pub workload: &'a str,
    /// The machine.
    pub machine: &'a str,
    /// The policy.
    pub policy: &'a str,
    /// What of it the metric is about.
    pub part: Part<'a>,
}

impl<'a> Arm<'a> {
    fn samples(self) -> impl Iterator<Item = &'a Sample> {
        let fits = move |sample: &&Sample| {
            sample.workload == self.workload && sample.machine == self.machine && sample.policy == self.policy
        };
        self.ran.samples.iter().filter(fits)
    }

    /// A metric, averaged over core orders and seeds.
    pub fn value(self, metric: Metric) -> Option<f64> {
        let of = |metric: Metric| move |sample: &Sample| sample.value(metric, self.part);
        let time = of(Metric::Time);
        let mean_of = |value: &dyn Fn(&Sample) -> f64| mean(self.samples().map(value));
        match metric {
            Metric::Runs => mean_of(&of(Metric::HAntt)),
            Metric::Speedup => mean_of(&of(Metric::HAntt)).map(f64::recip),
            Metric::Performance => mean_of(&time).map(f64::recip),
            Metric::MeanPerformance => mean_of(&Sample::mean_time).map(f64::recip),
            Metric::Efficiency => mean_of(&of(Metric::Energy)).map(f64::recip),
            Metric::Power => {
                mean_of(&|sample| of(Metric::Energy)(sample) / sample.value(Metric::Time, Part::default()))
            }
            Metric::Gap => {
                let slowest = self.samples().map(time).reduce(f64::max)?;
                let fastest = self.samples().map(time).reduce(f64::min)?;
                Some(slowest / fastest - 1.0)
            }
            Metric::Spread => {
                let times: Vec<f64> = self.samples().map(time).collect();
                let Spread { mean, deviation } = Spread::of(&times);
                (!times.is_empty()).then_some(deviation / mean)
            }
            Metric::Capacity => {
                let machine = self.ran.set.machines.iter().position(|machine| machine == self.machine)?;
                self.ran.capacity.get(machine).copied()
            }
            measured => mean_of(&of(measured)),
        }
    }

    /// The arm that this one is compared with.
    pub fn baseline(self, baseline: &'a Baseline, all: &'a [Ran]) -> Option<Self> {
        let ran = match baseline.set() {
            Some(set) => all.iter().find(|ran| ran.set.name == set)?,
            None => self.ran,
        };
        let own = || self.ran.set.workloads.iter().find(|member| member.name == self.workload).map(Member::called);
        let called = baseline.workload().or_else(own)?;
        let workload = &ran.set.workloads.iter().find(|member| member.called() == called)?.name;
        let (machine, policy) = (baseline.machine(), baseline.policy());
        Some(Self {
            ran,
            workload,
            machine: machine.unwrap_or(self.machine),
            policy: policy.unwrap_or(self.policy),
            ..self
        })
    }
}
