//! A set that has been run, and the values of its workloads.

use std::collections::BTreeSet;

use evenkeel_model::Difference;

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
        Arm { ran: self, workload, machine, policy, part: Part::default(), seed: None }.value(metric)
    }

    /// The effect of a policy on a workload: its value against that of another policy, as a signed share.
    pub fn effect(&self, workload: &str, machine: &str, metric: Metric, policy: &str, baseline: &str) -> Option<f64> {
        let value = |policy: &str| self.value(workload, machine, metric, policy);
        Some(value(policy)? / value(baseline)? - 1.0)
    }

    /// The 95 % interval of the mean of [`Self::effect`] over some workloads, in signed shares: from seed to seed, with each of which both
    /// policies run. `None` with one seed, or if there is no such effect with one of several.
    pub fn interval(
        &self,
        workloads: &[&str],
        machine: &str,
        metric: Metric,
        policy: &str,
        baseline: &str,
    ) -> Option<(f64, f64)> {
        self.interval_of(|seed| {
            let value = |workload: &str, policy: &str| {
                Arm { ran: self, workload, machine, policy, part: Part::default(), seed: Some(seed) }.value(metric)
            };
            mean(workloads.iter().filter_map(|workload| Some(value(workload, policy)? / value(workload, baseline)?)))
        })
    }

    /// The 95 % interval of a ratio, less one, that `ratio` has with each seed. `None` with one seed, or if there is none with one of
    /// several.
    pub(super) fn interval_of(&self, ratio: impl Fn(u64) -> Option<f64>) -> Option<(f64, f64)> {
        let with = |seed: u64| ratio(seed).filter(|ratio| ratio.is_finite() && *ratio > 0.0);
        let ratios: Vec<f64> = self.seeds().into_iter().map(with).collect::<Option<_>>()?;
        Difference::of(ratios)?.interval
    }

    /// The seeds of its samples.
    pub fn seeds(&self) -> BTreeSet<u64> {
        self.samples.iter().map(|sample| sample.seed).collect()
    }

    /// The programs of a workload.
    pub fn programs(&self, workload: &str) -> Vec<&str> {
        let sample = self.samples.iter().find(|sample| sample.workload == workload);
        sample.into_iter().flat_map(Sample::programs).collect()
    }
}

/// One workload on one machine under one policy, or one of its programs, with all seeds or one.
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
    /// The seed; `None`: all of them.
    pub seed: Option<u64>,
}

impl<'a> Arm<'a> {
    fn samples(self) -> impl Iterator<Item = &'a Sample> {
        let fits = move |sample: &&Sample| {
            self.seed.is_none_or(|seed| sample.seed == seed)
                && sample.workload == self.workload
                && sample.machine == self.machine
                && sample.policy == self.policy
        };
        self.ran.samples.iter().filter(fits)
    }

    /// A metric, averaged over core orders and seeds.
    pub fn value(self, metric: Metric) -> Option<f64> {
        let of = |metric: Metric| move |sample: &Sample| sample.value(metric, self.part);
        let time = of(Metric::Time);
        let mean_of = |value: &dyn Fn(&Sample) -> f64| mean(self.samples().map(value));
        match metric {
            // What seeds differ by, and what no run is needed for, says nothing about chance.
            Metric::Gap | Metric::Spread | Metric::Capacity if self.seed.is_some() => None,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::file::Experiment;
    use crate::paper::sample::Measured;

    /// Two workloads, with these times under each policy and, one after the other, each seed.
    fn ran(times: &[(&str, &str, &[f64])]) -> Ran {
        let text = "name = \"x\"\ntitle = \"x\"\npolicies = [\"base\", \"own\"]\nseed = 1\nrow = []\n\
                    [[set]]\nname = \"s\"\nmachines = [\"m\"]\nworkloads = [{ name = \"v\" }, { name = \"w\" }]\n";
        let experiment = Experiment::parse(text).unwrap();
        let of = |(workload, policy, times): &(&str, &str, &[f64])| -> Vec<Sample> {
            let sample = |(seed, time): (u64, &f64)| Sample {
                workload: (*workload).into(),
                machine: "m".into(),
                policy: (*policy).into(),
                seed,
                measured: Measured::Values(vec![(Metric::Time, *time)]),
            };
            (1..).zip(*times).map(sample).collect()
        };
        let (set, policies) = (experiment.sets[0].clone(), experiment.policies.clone());
        Ran { set, policies, samples: times.iter().flat_map(of).collect(), cores: vec![1], capacity: vec![1.0] }
    }

    fn interval(ran: &Ran, workloads: &[&str], metric: Metric) -> Option<(f64, f64)> {
        ran.interval(workloads, "m", metric, "own", "base")
    }

    /// Each seed is slower than the one before, for both.
    #[test]
    fn an_interval_is_of_what_differs_within_a_seed() {
        let ran = ran(&[
            ("v", "base", &[1.0, 2.0, 4.0]),
            ("v", "own", &[0.5, 1.0, 2.0]),
            ("w", "base", &[1.0, 1.0, 1.0]),
            ("w", "own", &[0.5, 0.6, 0.7]),
        ]);
        let (low, high) = interval(&ran, &["v"], Metric::Time).unwrap();
        assert!((low + 0.5).abs() < 1e-9 && (high + 0.5).abs() < 1e-9, "{low} to {high}");
        // Of both: 0.5, 0.55 and 0.6 of the baseline; by hand from logarithms, with Student's 4.303.
        let (low, high) = interval(&ran, &["v", "w"], Metric::Time).unwrap();
        assert!((low + 0.5627).abs() < 1e-3 && (high + 0.3121).abs() < 1e-3, "{low} to {high}");
        let mean = ["v", "w"].map(|workload| ran.effect(workload, "m", Metric::Time, "own", "base").unwrap());
        assert!((low..high).contains(&(mean.iter().sum::<f64>() / 2.0)), "{mean:?}");
        assert!(interval(&ran, &["v", "w"], Metric::Performance).unwrap().0 > 0.0, "the inverse of the time");
    }

    #[test]
    fn without_an_effect_in_each_of_several_seeds_there_is_no_interval() {
        let one = ran(&[("v", "base", &[1.0]), ("v", "own", &[0.5])]);
        assert_eq!(interval(&one, &["v"], Metric::Time), None);
        let odd = ran(&[("v", "base", &[1.0, 2.0, 3.0]), ("v", "own", &[0.5, f64::NAN, 1.5])]);
        assert_eq!(interval(&odd, &["v"], Metric::Time), None);
        let short = ran(&[("v", "base", &[1.0, 2.0, 3.0]), ("v", "own", &[0.5, 1.0])]);
        assert_eq!(interval(&short, &["v"], Metric::Time), None);
        let two = ran(&[("v", "base", &[1.0, 2.0]), ("v", "own", &[0.5, 1.0])]);
        assert_eq!(interval(&two, &["v"], Metric::Capacity), None, "that of a machine, whatever runs");
    }
}
