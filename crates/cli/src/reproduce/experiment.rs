//! What an experiment file says: what to run, and every published number with the way it is computed.

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::args::Order;
use crate::json::Kind;

/// An experiment file (`experiments/*.toml`).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The name that commands use.
    pub name: String,
    /// The paper.
    pub title: String,
    /// Policies, in the order of their tables; the first is the baseline of the overview.
    pub policies: Vec<String>,
    /// Core orders that every value is averaged over.
    pub orders: Vec<Order>,
    /// The seed of all runs.
    pub seed: u64,
    /// What is run.
    #[serde(rename = "set")]
    pub sets: Vec<Set>,
    /// What was published.
    #[serde(rename = "row")]
    pub rows: Vec<Published>,
}

/// Workloads and the machines on which they run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// The name that selectors use.
    pub name: String,
    /// Machines.
    pub machines: Vec<String>,
    /// Workloads.
    pub workloads: Vec<Member>,
}

/// A workload of a set.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// The number of threads that the paper gives for it, where it gives one.
    pub threads: Option<u32>,
}

impl Member {
    /// The part of the name before the dash: `Sync` of `Sync-2`.
    pub fn class(&self) -> &str {
        self.name.split_once('-').map_or(&self.name, |(class, _)| class)
    }
}

/// A published number.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Stable name.
    pub id: String,
    /// A sentence.
    pub what: String,
    /// The number; effects are signed fractions.
    pub published: f64,
    /// Section and figure.
    pub source: String,
    /// Result, calibration or input.
    pub kind: Kind,
    /// Which runs it is about.
    pub select: Selector,
    /// What was measured.
    pub metric: Metric,
    /// The policy that it is about; only [`Metric::Runs`] has none.
    pub policy: Option<String>,
    /// The policy that it is compared with; `None`: the number is absolute.
    pub baseline: Option<String>,
    /// How workloads and machines become one number.
    #[serde(default)]
    pub aggregate: Aggregate,
    /// Set if the paper gives a limit instead of a number.
    pub bound: Option<Bound>,
    /// Why the row misses, as far as it is known.
    pub note: Option<String>,
}

/// Which workloads and machines a row is about. What is not given is not restricted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selector {
    /// The set.
    pub set: String,
    /// The class of the workload.
    pub class: Option<String>,
    /// The workload.
    pub workload: Option<String>,
    /// The machine.
    pub machine: Option<String>,
    /// The thread count against the core count.
    pub threads: Option<Threads>,
    /// The number of programs.
    pub programs: Option<usize>,
}

/// Thread classes (COLAB 5.3, Figure 8).
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Threads {
    /// Fewer than the machine has cores.
    Few,
    /// At least twice the cores of the largest machine of the set.
    Many,
}

/// Metrics of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Turnaround against a machine of big cores only.
    HAntt,
    /// Throughput against a machine of big cores only.
    HStp,
    /// The inverse of the turnaround.
    Speedup,
    /// How many workloads x machines x policies there are.
    Runs,
}

/// How the values of workloads and machines become one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aggregate {
    /// The mean over all of them.
    #[default]
    Mean,
    /// The mean over the workloads of each machine, on the machine where that is best.
    Best,
}

/// A limit in place of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// The effect is smaller than the number.
    Below,
    /// The effect is larger than the number.
    Above,
}

/// The experiments that come with Evenkeel.
const BUNDLED: &[(&str, &str)] = &[("colab", include_str!("../../../../experiments/colab.toml"))];

impl Experiment {
    /// A bundled experiment.
    pub fn by_name(name: &str) -> Result<Self> {
        let Some((_, text)) = BUNDLED.iter().find(|(known, _)| *known == name) else {
            return Err(crate::catalog::unknown("experiment", name, BUNDLED.iter().map(|(known, _)| *known), None));
        };
        Self::parse(text).with_context(|| format!("experiments/{name}.toml"))
    }

    fn parse(text: &str) -> Result<Self> {
        Ok(toml::from_str(text)?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_row_of_the_bundled_experiment_can_be_computed() {
        let experiment = Experiment::by_name("colab").unwrap();
        let mut ids = BTreeSet::new();
        for row in &experiment.rows {
            assert!(ids.insert(&row.id), "{} is there twice", row.id);
            assert!(experiment.sets.iter().any(|set| set.name == row.select.set), "{}: no such set", row.id);
            assert_eq!(row.policy.is_none(), row.metric == Metric::Runs, "{}", row.id);
            for policy in row.policy.iter().chain(&row.baseline) {
                assert!(experiment.policies.contains(policy), "{}: {policy} is not run", row.id);
            }
            let effect = row.baseline.is_some() && row.metric != Metric::Speedup;
            assert!(!effect || row.published.abs() < 1.0, "{}: effects are fractions", row.id);
        }
    }

    #[test]
    fn the_paper_ran_312_experiments() {
        let experiment = Experiment::by_name("colab").unwrap();
        let mixes = &experiment.sets[0];
        assert_eq!(mixes.workloads.len() * mixes.machines.len() * experiment.policies.len(), 312);
        // Both files took the thread counts from Table 4.
        let bundled = evenkeel_workload::mix::mixes().iter().map(|mix| (mix.id.as_str(), Some(mix.threads)));
        assert!(mixes.workloads.iter().map(|mix| (mix.name.as_str(), mix.threads)).eq(bundled));
    }
}
