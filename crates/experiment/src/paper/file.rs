//! What an experiment file says: what to run, and every published number with the way it is computed.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_model::CoreOrder;
use evenkeel_sched::Setup;
use evenkeel_workload::program::{MainThread, ReadyQueue};
use serde::Deserialize;

use super::figures::{self, PaperFigure};
use super::metric::Metric;
use super::null::arithmetic::Sharing;
use super::published::Published;
use crate::catalog;
use crate::error::{Error, Result};
use crate::training::Training;

/// An experiment file (`experiments/*.toml`).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The name that commands use.
    pub name: String,
    /// The paper.
    pub title: String,
    /// What captions call it, if not by its title.
    pub short: Option<String>,
    /// Policies, in the order of their tables; the first is the baseline of the overview.
    pub policies: Vec<String>,
    /// Short names for policies with long knobs, such as `wash:own`: what a paper says, where that is not the default here.
    #[serde(default)]
    pub shorthands: BTreeMap<String, String>,
    /// Whether the policies are listed from the worst to the best as published.
    #[serde(default)]
    pub ranked: bool,
    /// Core orders that every value is averaged over.
    #[serde(default = "declared")]
    pub orders: Vec<CoreOrder>,
    /// The seed of all runs.
    pub seed: u64,
    /// What speedup predictors learn from.
    #[serde(default)]
    pub training: Training,
    /// For the null model of arithmetic: how policies share out cores, by their names without knobs.
    #[serde(default)]
    pub arithmetic: BTreeMap<String, Sharing>,
    /// What is run.
    #[serde(rename = "set")]
    pub sets: Vec<Set>,
    /// The figures and tables that rows come from.
    #[serde(default, rename = "figure")]
    pub figures: Vec<PaperFigure>,
    /// What was published.
    #[serde(rename = "row")]
    pub rows: Vec<Published>,
    /// Whose effects are told apart from those of other policies.
    #[serde(default, rename = "separation")]
    pub separations: Vec<Separation>,
    /// Power over time.
    #[serde(default)]
    pub power: Vec<PowerChart>,
    /// Activity and voltage over time.
    #[serde(default)]
    pub profiles: Vec<Profile>,
}

fn declared() -> Vec<CoreOrder> {
    vec![CoreOrder::Declared]
}

/// Workloads and the machines on which they run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// The name that selectors use.
    pub name: String,
    /// What figures call what it runs, where the policy's name is not enough to tell it from another set.
    #[serde(rename = "as")]
    pub alias: Option<String>,
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
    pub tasks: Option<ReadyQueue>,
    /// Where the main thread of programs made of tasks runs, if not where they say.
    pub main: Option<MainThread>,
    /// What the overview shows.
    #[serde(default = "h_antt")]
    pub overview: Metric,
    /// What carries it out.
    #[serde(default, rename = "host")]
    pub carrier: Carrier,
}

/// A policy that is told apart from the others of a set.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Separation {
    /// The set.
    pub set: String,
    /// The set that the policy is of, if not that one: what a paper proposes may be no policy, but another form of its programs. Told
    /// apart is then what this set runs from all policies of the other one.
    pub of: Option<String>,
    /// The policy.
    pub policy: String,
    /// By what.
    pub metric: Metric,
}

/// What carries out a set.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
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
#[derive(Clone, Debug, Deserialize)]
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

/// A chart of an experiment file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerChart {
    /// A sentence.
    pub what: String,
    /// Section and figure.
    pub source: String,
    /// The workload, by what selectors call it.
    pub workload: String,
    /// The machine.
    pub machine: String,
    /// One of its clusters; all of them if there is none.
    pub cluster: Option<String>,
    /// The interval, in ms.
    pub every_ms: u64,
    /// What is compared.
    #[serde(rename = "line")]
    pub lines: Vec<PowerLine>,
}

/// A line of a chart.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerLine {
    /// What it is called.
    pub name: String,
    /// The set.
    pub set: String,
    /// The policy.
    pub policy: String,
}

fn one() -> u64 {
    1
}

fn h_antt() -> Metric {
    Metric::HAntt
}

/// A workload of a set.
#[derive(Clone, Debug, Deserialize)]
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

/// What stands for every experiment.
const ALL: &str = "all";

/// The experiments that come with Evenkeel.
const BUNDLED: &[(&str, &str)] = &[
    ("colab", include_str!("../../experiments/colab.toml")),
    ("odroid", include_str!("../../experiments/odroid.toml")),
    ("wash", include_str!("../../experiments/wash.toml")),
    ("bias", include_str!("../../experiments/bias.toml")),
    ("aaws", include_str!("../../experiments/aaws.toml")),
];

impl Experiment {
    /// A bundled experiment, or all of them.
    ///
    /// # Errors
    /// There is no such experiment, or its file has a mistake.
    pub fn by_name(name: &str) -> Result<Vec<Self>> {
        let names = BUNDLED.iter().map(|(known, _)| *known).chain([ALL]);
        let wanted: Vec<_> = BUNDLED.iter().filter(|(known, _)| name == ALL || name == *known).collect();
        if wanted.is_empty() {
            return Err(catalog::unknown("experiment", name, names));
        }
        let parse = |(name, text): &&(&str, &str)| {
            Self::parse(text).map_err(|error| error.within(format!("experiments/{name}.toml")))
        };
        wanted.iter().map(parse).collect()
    }

    /// What captions call the paper.
    pub fn short(&self) -> &str {
        self.short.as_ref().unwrap_or(&self.title)
    }

    /// Whether it has policies that see speedups of threads.
    pub fn knows_speedups(&self) -> bool {
        self.sets.iter().any(|set| matches!(set.carrier, Carrier::Threads))
    }

    /// The policies of a set.
    pub fn policies_of<'a>(&'a self, set: &'a Set) -> &'a [String] {
        set.policies.as_ref().unwrap_or(&self.policies)
    }

    /// How a policy shares out cores, by arithmetic.
    pub fn sharing(&self, policy: &str) -> Option<Sharing> {
        let name = policy.split_once(':').map_or(policy, |(name, _)| name);
        self.arithmetic.get(name).copied()
    }

    /// The policies of a set as they are set up, under the names that rows use.
    ///
    /// # Errors
    /// There is no such policy.
    pub fn setups_of(&self, set: &Set) -> Result<Vec<Setup>> {
        let setup = |name: &String| {
            // Of `colab` and `colab:own` the longer one.
            let Some((short, long)) = self.shorthands.iter().rev().find(|(short, _)| name.starts_with(short.as_str()))
            else {
                return Ok(catalog::policy(name)?.called(name));
            };
            // A knob that another policy lacks is one of the paper's own, which runs as it would without `substitute`.
            let setup = catalog::policy(&name.replacen(short.as_str(), long, 1));
            Ok(setup.or_else(|error| catalog::policy(name).map_err(|_| error))?.called(name))
        };
        self.policies_of(set).iter().map(setup).collect()
    }

    /// Runs another policy in the place of one, under the name that rows use: what comes out under another reading of the paper.
    /// What has further knobs there (`wash:own:no-locks`) is set up from the other one as well, if it has such.
    fn substitute(&mut self, name: &str, other: &str) {
        self.shorthands.insert(name.to_owned(), other.to_owned());
        self.title += &format!(", with {other} for {name}");
    }

    /// Every policy that threads run under, by the names that rows use.
    fn policies(&self) -> impl Iterator<Item = &str> {
        let of_threads = self.sets.iter().filter(|set| matches!(set.carrier, Carrier::Threads));
        of_threads.flat_map(|set| self.policies_of(set)).map(String::as_str)
    }

    /// An experiment from the text of its file.
    ///
    /// # Errors
    /// The text has a mistake.
    pub fn parse(text: &str) -> Result<Self> {
        let read: Self = toml::from_str(text).map_err(|mistake| Error::ExperimentFile(mistake.to_string()))?;
        figures::check(&read)?;
        Ok(read)
    }
}

/// Runs another policy in the place of one, in every experiment that has it: `NAME=POLICY`. Names have `=` of their own
/// (`bias:window=2`), so the first that an experiment has counts.
///
/// # Errors
/// None of them has it, or there is no policy like the other one.
pub fn substitute(experiments: &mut [Experiment], text: &str) -> Result<()> {
    let splits = || text.match_indices('=').map(|(at, _)| (&text[..at], &text[at + 1..]));
    let is_known = |name: &str| experiments.iter().flat_map(Experiment::policies).any(|policy| policy == name);
    let Some((name, other)) = splits().find(|(name, _)| is_known(name)).or_else(|| splits().next()) else {
        let why = "expected the name of a policy there and a policy, such as colab:own=colab";
        return Err(Error::File(format!("--with {text}: {why}")));
    };
    catalog::policy(other)?;
    let mut found = false;
    for experiment in experiments.iter_mut() {
        if experiment.policies().any(|policy| policy == name) {
            experiment.substitute(name, other);
            found = true;
        }
    }
    let known = || experiments.iter().flat_map(Experiment::policies).collect::<BTreeSet<_>>();
    if found { Ok(()) } else { Err(catalog::unknown("policy of this evaluation", name, known())) }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::paper::published::{Aggregate, Compare};

    fn every_row_of(experiment: &Experiment) {
        let mut ids = BTreeSet::new();
        for row in &experiment.rows {
            assert!(ids.insert(&row.id), "{} is there twice", row.id);
            let set = |name: &str| experiment.sets.iter().find(|set| set.name == name);
            let own = set(&row.select.set).unwrap_or_else(|| panic!("{}: no such set", row.id));
            assert_eq!(row.policy.is_none(), row.metric == Metric::Runs, "{}", row.id);
            let runs = |set: &Set, policy: &str| experiment.policies_of(set).iter().any(|known| known == policy);
            assert!(row.policy.iter().all(|policy| runs(own, policy)), "{}: {:?} is not run", row.id, row.policy);
            for baseline in row.baseline.iter().chain(&row.unit) {
                let other = baseline.set().unwrap_or(&own.name);
                let other = set(other).unwrap_or_else(|| panic!("{}: no set {other}", row.id));
                let policy = baseline.policy().or(row.policy.as_deref()).unwrap();
                assert!(runs(other, policy), "{}: {policy} is not run", row.id);
                for machine in baseline.machine().iter().chain(&row.select.machine.as_deref()) {
                    assert!(
                        [own, other].iter().any(|set| set.machines.iter().any(|known| known == machine)),
                        "{machine}"
                    );
                }
            }
            let of_means = row.aggregate == Aggregate::OfMeans;
            assert!(!of_means || row.baseline.is_some(), "{}: the means of one thing", row.id);
            assert!(of_means || row.unit.is_none(), "{}: the unit cancels out", row.id);
            let effect = row.baseline.is_some() && row.compare == Compare::Effect && !row.metric.more_is_better();
            assert!(!effect || row.published >= -1.0, "{}: effects are fractions", row.id);
        }
    }

    #[test]
    fn every_row_of_the_bundled_experiments_can_be_computed() {
        Experiment::by_name(ALL).unwrap().iter().for_each(every_row_of);
    }

    #[test]
    fn what_is_told_apart_is_run() {
        for experiment in Experiment::by_name(ALL).unwrap() {
            assert!(!experiment.separations.is_empty(), "{}", experiment.name);
            for wanted in &experiment.separations {
                let set = |name: &String| experiment.sets.iter().find(|set| set.name == *name).unwrap();
                let (own, others) = (set(wanted.of.as_ref().unwrap_or(&wanted.set)), set(&wanted.set));
                assert!(experiment.policies_of(own).contains(&wanted.policy), "{}", experiment.name);
                assert!(own.seeds > 1 && own.seeds == others.seeds, "{}: no pairs, no interval", experiment.name);
            }
            let shares = |set: &&Set| matches!(set.carrier, Carrier::Threads);
            for row in &experiment.rows {
                let set = experiment.sets.iter().filter(shares).find(|set| set.name == row.select.set);
                let policy = row.policy.as_ref().filter(|_| set.is_some());
                assert!(
                    policy.is_none_or(|policy| experiment.sharing(policy).is_some()),
                    "{policy:?} shares out no cores"
                );
            }
        }
    }

    #[test]
    fn a_policy_is_run_otherwise_wherever_it_is_and_with_the_knobs_that_it_has_there() {
        let mut all = Experiment::by_name(ALL).unwrap();
        let spec = |all: &[Experiment], name: &str, policy: &str| {
            let experiment = all.iter().find(|experiment| experiment.name == name).unwrap();
            let setups = experiment.sets.iter().flat_map(|set| experiment.setups_of(set).unwrap());
            setups.into_iter().find(|setup| setup.name() == policy).unwrap().in_full()
        };
        let full = |spec: &str| Setup::parse(spec).unwrap().in_full();
        assert_eq!(spec(&all, "colab", "colab:own"), full("colab:blame=all:deal=turn"), "what the paper says");
        assert_eq!(spec(&all, "colab", "colab"), full("colab"));
        substitute(&mut all, "colab:own=colab:deal=load").unwrap();
        substitute(&mut all, "wash:own=wash").unwrap();
        substitute(&mut all, "bias=fcf").unwrap();
        substitute(&mut all, "bias:starved=65=pfs").unwrap();
        assert_eq!(spec(&all, "colab", "colab:own"), full("colab:deal=load"));
        assert_eq!(spec(&all, "wash", "wash:own:no-locks"), full("wash:no-locks"));
        assert!(all[0].title.ends_with(", with colab:deal=load for colab:own"), "{}", all[0].title);
        assert_eq!(spec(&all, "bias", "bias"), full("fcf"));
        assert_eq!(spec(&all, "bias", "bias:starved=65"), full("pfs"));
        assert_eq!(spec(&all, "bias", "bias:window=0.125"), full("bias:window=0.125"), "fcf has no window");
        let complaint = |text| substitute(&mut Experiment::by_name("colab").unwrap(), text).unwrap_err();
        assert!(complaint("colab:own").to_string().contains("such as colab:own=colab"));
        let none = complaint("colab:on=colab").to_string();
        assert_eq!(none, r#"unknown policy of this evaluation "colab:on": did you mean "colab:own"?"#);
        assert_eq!(complaint("cfs=csf").to_string(), r#"unknown policy "csf": did you mean "cfs"?"#);
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
