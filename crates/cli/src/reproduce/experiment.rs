//! What an experiment file says: what to run, and every published number with the way it is computed.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use evenkeel_sched::Setup;
use serde::Deserialize;

use super::power::Chart;
use crate::args::{Main, Order, Queue};
use crate::catalog;
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
    /// What stands for a policy with its knobs where it would be long, as `wash:own`.
    #[serde(default)]
    pub shorthands: BTreeMap<String, String>,
    /// Whether the policies are listed from the worst to the best as published.
    #[serde(default)]
    pub ranked: bool,
    /// Core orders that every value is averaged over.
    #[serde(default = "declared")]
    pub orders: Vec<Order>,
    /// The seed of all runs.
    pub seed: u64,
    /// What is run.
    #[serde(rename = "set")]
    pub sets: Vec<Set>,
    /// What was published.
    #[serde(rename = "row")]
    pub rows: Vec<Published>,
    /// Power over time.
    #[serde(default)]
    pub power: Vec<Chart>,
    /// Who ran when at which voltage.
    #[serde(default)]
    pub profiles: Vec<Profile>,
}

fn declared() -> Vec<Order> {
    vec![Order::Declared]
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
    /// Policies, if they are not those of the experiment.
    pub policies: Option<Vec<String>>,
    /// With how many seeds everything is run, from the experiment's seed on.
    #[serde(default = "one")]
    pub seeds: u64,
    /// Whether there is background noise.
    #[serde(default)]
    pub noise: bool,
    /// The ready queue of programs made of tasks, if it is not their own.
    pub tasks: Option<Queue>,
    /// Where the main thread of programs made of tasks runs, if not where they say.
    pub main: Option<Main>,
    /// What the overview shows.
    #[serde(default = "h_antt")]
    pub overview: Metric,
    /// What carries it out.
    #[serde(default)]
    pub host: Host,
}

/// What carries out a set.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Host {
    /// Threads under an operating system's scheduler: policies are policies.
    #[default]
    Threads,
    /// Simulated workers: policies are techniques, workloads are kernels.
    Workers(Workers),
    /// The first-order model: machines are its parameters, workloads are active cores, policies are ranges of voltage.
    Equations,
}

/// What workers run on.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workers {
    /// Until another core takes an interrupt, in cycles of a little core.
    pub interrupt_cycles: f64,
    /// For each 0.15 V by which a voltage changes.
    pub step_ns: u64,
}

/// Activity over time, of the experiment's first seed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// A sentence.
    pub what: String,
    /// Section and figure.
    pub source: String,
    /// A set of workers.
    pub set: String,
    /// The kernel.
    pub workload: String,
    /// The machine.
    pub machine: String,
    /// The techniques, one below the other.
    pub policies: Vec<String>,
}

fn one() -> u64 {
    1
}

fn h_antt() -> Metric {
    Metric::HAntt
}

/// A workload of a set.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// What selectors call it, and by which it is found in another set: one program may be there in several forms.
    #[serde(rename = "as")]
    pub alias: Option<String>,
    /// The classes that it belongs to, besides the part of its name before the dash.
    #[serde(default)]
    pub classes: Vec<String>,
    /// The number of threads that the paper gives for it, where it gives one.
    pub threads: Option<u32>,
}

impl Member {
    /// What selectors call it.
    pub fn called(&self) -> &str {
        self.alias.as_ref().unwrap_or(&self.name)
    }

    /// The first class, or the part of the name before the dash: `Sync` of `Sync-2`.
    pub fn class(&self) -> &str {
        let before_dash = || self.name.split_once('-').map_or(self.name.as_str(), |(class, _)| class);
        self.classes.first().map_or_else(before_dash, String::as_str)
    }

    /// Whether it belongs to a class.
    pub fn is(&self, class: &str) -> bool {
        self.class() == class || self.classes.iter().any(|own| own == class)
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
    /// What it is compared with; `None`: the number is absolute.
    pub baseline: Option<Baseline>,
    /// How it is compared.
    #[serde(default)]
    pub compare: Compare,
    /// How workloads and machines become one number.
    #[serde(default)]
    pub aggregate: Aggregate,
    /// Whether the classes of a machine's workloads count the same, however many workloads each has (CGO 2016, section 8).
    #[serde(default)]
    pub equal_classes: bool,
    /// Set if the paper gives a limit instead of a number.
    pub bound: Option<Bound>,
    /// How near counts where the paper says that there is no difference: what it could measure, or else what its words mean, for
    /// which the file gives a reason.
    pub within: Option<f64>,
    /// Why the row misses, as far as it is known.
    pub note: Option<String>,
}

/// What a number is compared with.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Baseline {
    /// The same workload on the same machine under another policy.
    Policy(String),
    /// The same workload where these differ.
    Other(Other),
}

/// What differs in a baseline. What is not given is the same.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Other {
    /// The policy.
    pub policy: Option<String>,
    /// The machine.
    pub machine: Option<String>,
    /// The set, which has the workload under the same name or [`Member::alias`].
    pub set: Option<String>,
    /// The workload, by what selectors call it.
    pub workload: Option<String>,
}

impl Baseline {
    /// The policy, if it is another one.
    pub fn policy(&self) -> Option<&str> {
        match self {
            Self::Policy(policy) => Some(policy),
            Self::Other(other) => other.policy.as_deref(),
        }
    }

    /// The machine, if it is another one.
    pub fn machine(&self) -> Option<&str> {
        self.other()?.machine.as_deref()
    }

    /// The set, if it is another one.
    pub fn set(&self) -> Option<&str> {
        self.other()?.set.as_deref()
    }

    /// The workload, if it is another one.
    pub fn workload(&self) -> Option<&str> {
        self.other()?.workload.as_deref()
    }

    fn other(&self) -> Option<&Other> {
        match self {
            Self::Policy(_) => None,
            Self::Other(other) => Some(other),
        }
    }
}

/// How a value is compared with the baseline's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compare {
    /// Value / baseline - 1.
    #[default]
    Effect,
    /// Value / baseline.
    Ratio,
}

/// Which workloads and machines a row is about. What is not given is not restricted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selector {
    /// The set.
    pub set: String,
    /// A class of the workload.
    pub class: Option<String>,
    /// The workload.
    pub workload: Option<String>,
    /// One of its programs, which [`Metric::Time`] and [`Metric::Performance`] are then about: by its name, `*` for each
    /// of them, `first`, or `others` for each but the first.
    pub program: Option<String>,
    /// The machine.
    pub machine: Option<String>,
    /// One of its clusters, which [`Metric::Energy`] and [`Metric::Power`] are then about.
    pub cluster: Option<String>,
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
    /// Until the last program was done, or the selected one was.
    Time,
    /// The inverse of the time.
    Performance,
    /// The inverse of the geometric mean of the times of its programs (Koufaty et al., EuroSys 2010, 7.1).
    MeanPerformance,
    /// In joules.
    Energy,
    /// The inverse of the energy.
    Efficiency,
    /// Energy over time, in watts.
    Power,
    /// Energy times time.
    Edp,
    /// The standard deviation of the time over seeds and orders, as a share of its mean.
    Spread,
    /// By how much of its time the slowest took longer than the fastest, over seeds and orders.
    Gap,
    /// Moves of threads to other cores.
    Migrations,
    /// What all cores of the machine could do together of compute-bound code, in instructions per ns.
    Capacity,
    /// How many workloads x machines x policies there are.
    Runs,
    /// Of a kernel: speed over that of the serial program on a core of the smallest type.
    OverLittle,
    /// The same over a core of the biggest type.
    OverBig,
    /// Mugs for each million instructions.
    Mugs,
    /// Changes of voltage of all cores for each 10 us.
    Transitions,
    /// The share of time in serial parts.
    Serial,
    /// With all cores active.
    HighParallel,
    /// With fewer big cores waiting than little ones active.
    Scarce,
    /// With enough big cores waiting to mug all work.
    Ample,
    /// With some cores waiting and nothing to mug.
    OtherLow,
    /// Of the first-order model: throughput over that at nominal voltage.
    Throughput,
    /// Throughput over that of a little core at nominal voltage.
    OverOneLittle,
    /// The voltage of active big cores.
    VoltsBig,
    /// The voltage of active little cores.
    VoltsLittle,
}

impl Metric {
    /// What stands above a table of it.
    pub fn title(self) -> &'static str {
        match self {
            Self::HAntt => "H_ANTT",
            Self::HStp => "H_STP",
            Self::Speedup => "1 / H_ANTT",
            Self::Time => "Time",
            Self::Performance => "Performance",
            Self::MeanPerformance => "Mean performance",
            Self::Energy => "Energy",
            Self::Power => "Power",
            Self::Edp => "Energy x time",
            Self::Spread => "Spread",
            Self::Gap => "Gap",
            Self::Migrations => "Migrations",
            Self::Capacity => "Capacity",
            Self::Runs => "Runs",
            Self::Efficiency => "Energy efficiency",
            Self::OverLittle => "Speed over a little core",
            Self::OverBig => "Speed over a big core",
            Self::Mugs => "Mugs for each million instructions",
            Self::Transitions => "Changes of voltage for each 10 us",
            Self::Serial => "Share of time in serial parts",
            Self::HighParallel => "Share of time with all cores active",
            Self::Scarce => "Share of time with BI < LA",
            Self::Ample => "Share of time with BI >= LA",
            Self::OtherLow => "Share of time with some cores waiting and nothing to mug",
            Self::Throughput => "Throughput over nominal",
            Self::OverOneLittle => "Throughput over a little core",
            Self::VoltsBig => "Volts of big cores",
            Self::VoltsLittle => "Volts of little cores",
        }
    }

    /// Whether more of it is better.
    pub fn more_is_better(self) -> bool {
        matches!(
            self,
            Self::HStp
                | Self::Speedup
                | Self::Performance
                | Self::MeanPerformance
                | Self::Efficiency
                | Self::Capacity
                | Self::Runs
                | Self::OverLittle
                | Self::OverBig
                | Self::Throughput
                | Self::OverOneLittle
                | Self::HighParallel
        )
    }
}

/// How the values of workloads and machines become one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aggregate {
    /// The mean over all of them.
    #[default]
    Mean,
    /// The geometric mean of the ratios.
    Geomean,
    /// The one in the middle.
    Median,
    /// The largest of them.
    Largest,
    /// The third largest of them: "three of them more than".
    ThirdLargest,
    /// The smallest of them.
    Smallest,
    /// The mean over the workloads of each machine, on the machine where that is best.
    Best,
    /// The same, on the machine where that is worst.
    Worst,
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

/// What stands for every experiment.
const ALL: &str = "all";

/// The experiments that come with Evenkeel.
const BUNDLED: &[(&str, &str)] = &[
    ("colab", include_str!("../../../../experiments/colab.toml")),
    ("odroid", include_str!("../../../../experiments/odroid.toml")),
    ("wash", include_str!("../../../../experiments/wash.toml")),
    ("bias", include_str!("../../../../experiments/bias.toml")),
    ("aaws", include_str!("../../../../experiments/aaws.toml")),
];

impl Experiment {
    /// A bundled experiment, or all of them.
    pub fn by_name(name: &str) -> Result<Vec<Self>> {
        let names = || BUNDLED.iter().map(|(known, _)| *known).chain([ALL]);
        let wanted: Vec<_> = BUNDLED.iter().filter(|(known, _)| name == ALL || name == *known).collect();
        if wanted.is_empty() {
            return Err(catalog::unknown("experiment", name, names(), None));
        }
        let parse =
            |(name, text): &&(&str, &str)| Self::parse(text).with_context(|| format!("experiments/{name}.toml"));
        wanted.iter().map(parse).collect()
    }

    /// Whether it has policies that are told the speedups of threads.
    pub fn knows_speedups(&self) -> bool {
        self.sets.iter().any(|set| matches!(set.host, Host::Threads))
    }

    /// The policies of a set.
    pub fn policies_of<'a>(&'a self, set: &'a Set) -> &'a [String] {
        set.policies.as_ref().unwrap_or(&self.policies)
    }

    /// The policies of a set as they are set up, under the names that rows use.
    pub fn setups_of(&self, set: &Set) -> Result<Vec<Setup>> {
        let setup = |name: &String| {
            let short = self.shorthands.iter().find(|(short, _)| name.strip_prefix(short.as_str()).is_some());
            let long = short.map(|(short, long)| name.replacen(short.as_str(), long, 1));
            Ok(catalog::policy(long.as_ref().unwrap_or(name))?.called(name))
        };
        self.policies_of(set).iter().map(setup).collect()
    }

    pub(super) fn parse(text: &str) -> Result<Self> {
        Ok(toml::from_str(text)?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn every_row_of(experiment: &Experiment) {
        let mut ids = BTreeSet::new();
        for row in &experiment.rows {
            assert!(ids.insert(&row.id), "{} is there twice", row.id);
            let set = |name: &str| experiment.sets.iter().find(|set| set.name == name);
            let own = set(&row.select.set).unwrap_or_else(|| panic!("{}: no such set", row.id));
            let other = row.baseline.as_ref().and_then(Baseline::set).unwrap_or(&own.name);
            let other = set(other).unwrap_or_else(|| panic!("{}: no set {other}", row.id));
            assert_eq!(row.policy.is_none(), row.metric == Metric::Runs, "{}", row.id);
            let runs = |set: &Set, policy: &str| experiment.policies_of(set).iter().any(|known| known == policy);
            assert!(row.policy.iter().all(|policy| runs(own, policy)), "{}: {:?} is not run", row.id, row.policy);
            if let Some(baseline) = &row.baseline {
                let policy = baseline.policy().or(row.policy.as_deref()).unwrap();
                assert!(runs(other, policy), "{}: {policy} is not run", row.id);
                for machine in baseline.machine().iter().chain(&row.select.machine.as_deref()) {
                    assert!(
                        [own, other].iter().any(|set| set.machines.iter().any(|known| known == machine)),
                        "{machine}"
                    );
                }
            }
            let effect = row.baseline.is_some() && row.compare == Compare::Effect && !row.metric.more_is_better();
            assert!(!effect || row.published >= -1.0, "{}: effects are fractions", row.id);
        }
    }

    #[test]
    fn every_row_of_the_bundled_experiments_can_be_computed() {
        Experiment::by_name(ALL).unwrap().iter().for_each(every_row_of);
    }

    #[test]
    fn the_paper_ran_312_experiments() {
        let experiment = &Experiment::by_name("colab").unwrap()[0];
        let mixes = &experiment.sets[0];
        assert_eq!(mixes.workloads.len() * mixes.machines.len() * experiment.policies.len(), 312);
        // Both files took the thread counts from Table 4.
        let bundled = evenkeel_workload::mix::table_4().map(|mix| (mix.id.as_str(), Some(mix.threads)));
        assert!(mixes.workloads.iter().map(|mix| (mix.name.as_str(), mix.threads)).eq(bundled));
    }
}
