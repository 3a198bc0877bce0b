//! What separates a paper's policy from others. An effect that others have as well says nothing about it.

use std::collections::BTreeMap;

use evenkeel_model::Difference;

use super::file::{Experiment, Member, Separation};
use super::metric::Metric;
use super::ran::Ran;
use super::sample::{Part, Sample};
use crate::spread::mean;

/// A policy against every other one of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct Separated {
    /// The set.
    pub set: String,
    /// The policy; of another set what that calls what it runs.
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
    let find = |name: &String| sets.iter().find(|ran| ran.set.name == *name);
    let of = |wanted: &Separation| {
        let ran = find(&wanted.set)?;
        let elsewhere = wanted.of.as_ref().map_or(Some(None), |name| find(name).map(Some))?;
        let own = logarithms(elsewhere.unwrap_or(ran), &wanted.policy, wanted.metric);
        let others = ran.policies.iter().filter(|policy| elsewhere.is_some() || **policy != wanted.policy);
        let mut others: Vec<Gap> =
            others.filter_map(|policy| gap(policy, &own, &logarithms(ran, policy, wanted.metric))).collect();
        others.sort_by(|a, b| a.difference.value.abs().total_cmp(&b.difference.value.abs()));
        let policy = elsewhere.and_then(|ran| ran.set.alias.as_ref()).unwrap_or(&wanted.policy);
        Some(Separated { set: wanted.set.clone(), policy: policy.clone(), metric: wanted.metric, others })
    };
    experiment.separations.iter().filter_map(of).collect()
}

/// By seed, then by workload, as selectors call it, and machine.
type Logarithms<'a> = BTreeMap<u64, BTreeMap<(&'a str, &'a str), f64>>;

/// The logarithms of a metric, the mean over core orders.
fn logarithms<'a>(ran: &'a Ran, policy: &str, metric: Metric) -> Logarithms<'a> {
    let mut all: BTreeMap<u64, BTreeMap<(&str, &str), Vec<f64>>> = BTreeMap::new();
    let called = |workload: &'a str| {
        let member = ran.set.workloads.iter().find(|member| member.name == workload);
        member.map_or(workload, Member::called)
    };
    for sample in ran.samples.iter().filter(|sample| sample.policy == policy) {
        let cell = (called(&sample.workload), sample.machine.as_str());
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

    /// A paper's own way may be another form of the same programs, under a policy that others have as well.
    #[test]
    fn what_another_set_runs_is_told_apart_from_every_policy() {
        let text = "name = \"x\"\ntitle = \"x\"\npolicies = [\"near\", \"far\"]\nseed = 1\nrow = []\n\
                    [[set]]\nname = \"s\"\nmachines = [\"m\"]\nworkloads = [{ name = \"w\" }]\n\
                    [[set]]\nname = \"t\"\nas = \"tasks\"\nmachines = [\"m\"]\nworkloads = [{ name = \"w-task\", as = \"w\" }]\n\
                    [[separation]]\nset = \"s\"\nof = \"t\"\npolicy = \"near\"\nmetric = \"time\"\n";
        let experiment = Experiment::parse(text).unwrap();
        let mut sets = ran(&experiment, &[("near", &[2.0, 4.0]), ("far", &[4.0, 8.0])]);
        let mut own = ran(&experiment, &[("near", &[1.0, 2.0])]).remove(0);
        own.set = experiment.sets[1].clone();
        own.samples.iter_mut().for_each(|sample| sample.workload = "w-task".into());
        sets.push(own);
        let found = &separated(&experiment, &sets)[0];
        let others: Vec<_> = found.others.iter().map(|gap| (gap.policy.as_str(), gap.difference.value)).collect();
        assert_eq!((found.policy.as_str(), &others[..]), ("tasks", &[("near", -0.5), ("far", -0.75)][..]));
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
