//! What separates a paper's policy from others. An effect that others have as well says nothing about it.

use std::collections::BTreeMap;

use evenkeel_model::Difference;

use super::file::Experiment;
use super::metric::Metric;
use super::ran::Ran;
use super::sample::{Part, Sample};
use crate::spread::mean;

/// A policy against every other one of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct Separated {
    /// The set.
    pub set: String,
    /// The policy.
    pub policy: String,
    /// What is compared.
    pub metric: Metric,
    /// The other policies, the one that comes nearest first.
    pub others: Vec<Gap>,
}

/// How much a policy differs from another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Gap {
    /// The other policy.
    pub policy: String,
    /// Of the geometric mean over workloads and machines, a pair for each seed, with which both policies run.
    pub difference: Difference,
}

/// What the experiment's file wants to be told apart.
pub fn separated(experiment: &Experiment, sets: &[Ran]) -> Vec<Separated> {
    let of = |wanted: &super::file::Separation| {
        let ran = sets.iter().find(|ran| ran.set.name == wanted.set)?;
        let own = logarithms(ran, &wanted.policy, wanted.metric);
        let others = ran.policies.iter().filter(|policy| **policy != wanted.policy);
        let mut others: Vec<Gap> =
            others.filter_map(|policy| gap(policy, &own, &logarithms(ran, policy, wanted.metric))).collect();
        others.sort_by(|a, b| a.difference.value.abs().total_cmp(&b.difference.value.abs()));
        Some(Separated { set: wanted.set.clone(), policy: wanted.policy.clone(), metric: wanted.metric, others })
    };
    experiment.separations.iter().filter_map(of).collect()
}

/// By seed, then by workload and machine.
type Logarithms<'a> = BTreeMap<u64, BTreeMap<(&'a str, &'a str), f64>>;

/// The logarithms of a metric, the mean over core orders.
fn logarithms<'a>(ran: &'a Ran, policy: &str, metric: Metric) -> Logarithms<'a> {
    let mut all: BTreeMap<u64, BTreeMap<(&str, &str), Vec<f64>>> = BTreeMap::new();
    for sample in ran.samples.iter().filter(|sample| sample.policy == policy) {
        let cell = (sample.workload.as_str(), sample.machine.as_str());
        all.entry(sample.seed).or_default().entry(cell).or_default().push(value(sample, metric).ln());
    }
    let means = |cells: BTreeMap<_, Vec<f64>>| {
        cells.into_iter().filter_map(|(cell, values)| Some((cell, mean(values)?))).collect()
    };
    all.into_iter().map(|(seed, cells)| (seed, means(cells))).collect()
}

fn value(sample: &Sample, metric: Metric) -> f64 {
    match metric {
        Metric::MeanPerformance => sample.mean_time().recip(),
        metric => sample.value(metric, Part::default()),
    }
}

fn gap(policy: &str, own: &Logarithms<'_>, other: &Logarithms<'_>) -> Option<Gap> {
    let of_seed = |(seed, cells): (&u64, &BTreeMap<(&str, &str), f64>)| {
        let others = other.get(seed)?;
        mean(cells.iter().filter_map(|(cell, value)| Some(value - others.get(cell)?)))
    };
    let difference = Difference::of_logarithms(own.iter().filter_map(of_seed))?;
    Some(Gap { policy: policy.to_owned(), difference })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::sample::Measured;

    fn experiment(metric: &str) -> Experiment {
        let text = format!(
            "name = \"x\"\ntitle = \"x\"\npolicies = [\"own\", \"far\", \"near\"]\nseed = 1\nrow = []\n\
             [[set]]\nname = \"s\"\nmachines = [\"m\"]\nworkloads = [{{ name = \"w\" }}]\n\
             [[separation]]\nset = \"s\"\npolicy = \"own\"\nmetric = \"{metric}\"\n"
        );
        Experiment::parse(&text).unwrap()
    }

    fn ran(experiment: &Experiment, times: &[(&str, &[f64])]) -> Vec<Ran> {
        let sample = |policy: &str, seed: usize, time: f64| Sample {
            workload: "w".into(),
            machine: "m".into(),
            policy: policy.into(),
            seed: seed as u64,
            measured: Measured::Values(vec![(Metric::Time, time)]),
        };
        let of = |(policy, times): &(&str, &[f64])| -> Vec<Sample> {
            times.iter().enumerate().map(|(seed, time)| sample(policy, seed, *time)).collect()
        };
        let (set, policies) = (experiment.sets[0].clone(), experiment.policies.clone());
        vec![Ran { set, policies, samples: times.iter().flat_map(of).collect(), cores: vec![1], capacity: vec![1.0] }]
    }

    /// What seeds have in common is no difference: each seed is slower for both.
    #[test]
    fn differences_are_those_within_a_seed() {
        let experiment = experiment("time");
        let sets =
            ran(&experiment, &[("own", &[1.0, 2.0, 4.0]), ("near", &[1.25, 2.5, 5.0]), ("far", &[3.0, 2.0, 9.0])]);
        let found = &separated(&experiment, &sets)[0];
        let names: Vec<_> = found.others.iter().map(|gap| gap.policy.as_str()).collect();
        assert_eq!(names, ["near", "far"], "the nearest first");
        let near = &found.others[0].difference;
        let (low, high) = near.interval.unwrap();
        assert!((near.value + 0.2).abs() < 1e-9 && (low - high).abs() < 1e-9 && near.is_clear(), "{near:?}");
        assert!(!found.others[1].difference.is_clear(), "{:?}", found.others[1]);
    }

    #[test]
    fn one_seed_has_no_interval() {
        let experiment = experiment("time");
        let sets = ran(&experiment, &[("own", &[1.0]), ("near", &[2.0])]);
        let found = &separated(&experiment, &sets)[0];
        let near = &found.others[0].difference;
        assert_eq!((found.others.len(), near.interval, near.is_clear()), (1, None, false));
    }
}
