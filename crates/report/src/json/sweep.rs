//! What `sweep` and `merge` print.

use std::borrow::Cow;

use evenkeel_sweep::{PolicySummary, Summary};
use serde::Serialize;

use super::run::Effect;
use crate::headline;

/// What a sweep amounts to. The runs themselves are in `file`, a [Parquet](https://parquet.apache.org) table whose columns
/// [sweeps](sweeps.md#the-table) describes.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Swept<'a> {
    /// The table.
    pub file: Cow<'a, str>,
    /// How many runs are in it.
    pub runs: u64,
    /// How many of them were done by this command; the others were done before. `null` of `merge`.
    pub computed: Option<u64>,
    /// How many of them could not be carried to their end.
    pub failed: u64,
    /// How many workloads on machines under certain conditions there are.
    pub cells: u64,
    /// Wall-clock time of the command, in seconds: the one field that differs from one execution to the next.
    pub seconds: f64,
    /// What was found, in a sentence.
    pub headline: String,
    /// How much each policy differs from the baseline.
    pub effects: Vec<SweptPolicy<'a>>,
    /// The same for each value of what has several: workloads, machines, what else was varied but for knobs of policies, and core
    /// orders (`order`).
    pub varied: Vec<SweptValues<'a>>,
}

/// Something that has several values, and what came out with each, over everything else that was varied.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SweptValues<'a> {
    /// Its column.
    pub name: &'a str,
    /// One entry a value.
    pub values: Vec<SweptValue<'a>>,
}

/// What came out with one value.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SweptValue<'a> {
    /// The value; `default` where the grid does not set it.
    pub value: &'a str,
    /// One entry a policy but the baseline.
    pub effects: Vec<SweptEffects<'a>>,
}

/// The effects of a policy against the baseline.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SweptEffects<'a> {
    /// The policy's name.
    pub policy: &'a str,
    /// On H_ANTT.
    pub h_antt: Option<Effect>,
    /// On H_STP.
    pub h_stp: Option<Effect>,
    /// On the energy.
    pub energy_j: Option<Effect>,
}

/// A policy against the baseline: geometric means over everything that was varied, in pairs with the same seed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SweptPolicy<'a> {
    /// The policy's name.
    pub policy: &'a str,
    /// The baseline's name.
    pub against: &'a str,
    /// On H_ANTT.
    pub h_antt: Option<Effect>,
    /// On H_STP.
    pub h_stp: Option<Effect>,
    /// On the energy.
    pub energy_j: Option<Effect>,
    /// In how many cells they are compared: all of their runs have an H_ANTT.
    pub cells: u64,
    /// In how many of these its H_ANTT is lower, its 95 % interval below zero.
    pub better: u64,
    /// In how many it is higher.
    pub worse: u64,
}

impl<'a> Swept<'a> {
    /// Of a table.
    pub fn of(file: Cow<'a, str>, runs: u64, computed: Option<u64>, summary: &'a Summary, seconds: f64) -> Self {
        let effect = |difference| Effect::of_seeds(difference, summary.seeds);
        let policy = |of: &'a PolicySummary| SweptPolicy {
            policy: &of.policy,
            against: &summary.baseline,
            h_antt: of.effects.h_antt.map(effect),
            h_stp: of.effects.h_stp.map(effect),
            energy_j: of.effects.energy.map(effect),
            cells: of.cells,
            better: of.better,
            worse: of.worse,
        };
        Self {
            file,
            runs,
            computed,
            failed: summary.failed,
            cells: summary.cells,
            seconds,
            headline: headline::of_sweep(summary),
            effects: summary.policies.iter().map(policy).collect(),
            varied: summary.varied.iter().map(|varied| SweptValues::of(summary, varied)).collect(),
        }
    }
}

impl<'a> SweptValues<'a> {
    fn of(summary: &'a Summary, varied: &'a evenkeel_sweep::Varied) -> Self {
        let effect = |difference| Effect::of_seeds(difference, summary.seeds);
        let effects = |at: &evenkeel_sweep::AtValue| {
            let policies = summary.policies.iter().zip(&at.policies);
            let of = policies.map(|(of, effects)| SweptEffects {
                policy: &of.policy,
                h_antt: effects.h_antt.map(effect),
                h_stp: effects.h_stp.map(effect),
                energy_j: effects.energy.map(effect),
            });
            of.collect()
        };
        let values = varied.values.iter().map(|at| SweptValue { value: &at.value, effects: effects(at) });
        Self { name: &varied.name, values: values.collect() }
    }
}

/// What `sweep --dry-run` would run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Planned<'a> {
    /// How many runs the grid has.
    pub runs: u64,
    /// The part that `--shard` names, such as `3/8`; `1/1` is the whole.
    pub shard: String,
    /// How many runs that part has.
    pub shard_runs: u64,
    /// How many of those are done already, in the table or its journal.
    pub done: u64,
    /// What is varied.
    pub varied: Vec<Varied<'a>>,
}

/// Something that is varied.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Varied<'a> {
    /// The column.
    pub name: &'a str,
    /// The values, as TOML has them.
    pub values: &'a [String],
}

impl<'a> Planned<'a> {
    /// Of a grid, and a part of it with its runs, so many of which are done.
    pub fn of(varied: &'a [(String, Vec<String>)], runs: u64, (shard, shard_runs, done): (String, u64, u64)) -> Self {
        let varied = varied.iter().map(|(name, values)| Varied { name, values }).collect();
        Self { runs, shard, shard_runs, done, varied }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_model::Difference;
    use evenkeel_sweep::Effects;

    use super::*;

    /// Of many seeds several are one pair.
    #[test]
    fn effects_are_from_all_seeds() {
        let difference = Difference::of_logarithms((0..1024).map(|pair| f64::from(pair) * 1e-6)).unwrap();
        let effects = Effects { h_antt: Some(difference), ..Effects::default() };
        let gts = PolicySummary { policy: "gts".into(), effects, cells: 1, better: 0, worse: 1 };
        let summary = Summary {
            baseline: "cfs".into(),
            cells: 1,
            seeds: 2048,
            failed: 0,
            first_error: None,
            drawn: true,
            policies: vec![gts],
            varied: Vec::new(),
        };
        let swept = Swept::of("t.parquet".into(), 4096, None, &summary, 0.0);
        assert_eq!(swept.effects[0].h_antt.unwrap().seeds, 2048);
    }
}
