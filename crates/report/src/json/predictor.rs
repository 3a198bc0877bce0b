//! What `train` prints.

use evenkeel_experiment::{thresholds, training};
use serde::Serialize;

/// The speedup predictor of a machine.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Trained<'a> {
    /// The machine's name.
    pub machine: &'a str,
    /// One model for each core type on which counters may be read.
    pub models: Vec<Model<'a>>,
    /// When bias scheduling takes threads to be better off on little cores of this machine.
    pub thresholds: Thresholds<'a>,
}

/// Thresholds of bias scheduling, found by programs that stall.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Thresholds<'a> {
    /// The policy with these thresholds, as commands take it.
    pub policy: String,
    /// The speedup of a big core over a little one below which a program is to be on a little one.
    pub split: f64,
    /// Starved cycles in 1000 instructions from which on internal stalls dominate.
    pub starved: f64,
    /// Requests that leave the core, in 1000 instructions, from which on external stalls dominate.
    pub offcore: f64,
    /// The programs, in order of their speedups.
    pub programs: Vec<Stalling<'a>>,
}

/// What a program stalls on: means over the core types on which it was counted.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Stalling<'a> {
    /// Its name.
    pub name: &'a str,
    /// How many times faster the biggest core type runs it than the smallest one.
    pub speedup: f64,
    /// Starved cycles in 1000 instructions.
    pub starved: f64,
    /// Requests that leave the core, in 1000 instructions.
    pub offcore: f64,
    /// On so many core types the thresholds put it on the other side than its speedup does.
    pub wrong_on: usize,
}

/// One model: for counters that were read on one core type.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Model<'a> {
    /// The core type on which the counters are read, with its highest frequency.
    pub observed_on: &'a str,
    /// The biggest core type: the predicted speedup is that of `faster` over `slower`.
    pub faster: &'a str,
    /// The smallest core type.
    pub slower: &'a str,
    /// Speedup = `intercept` + sum of `weight` x `counter` / instructions.
    pub intercept: f64,
    /// The terms of that sum.
    pub terms: Vec<Term>,
    /// Mean over threads of the distance from the truth as a share of the truth, each program predicted by the model of all
    /// others.
    pub mean_error: f64,
    /// Those predictions by program.
    pub programs: Vec<PredictedProgram<'a>>,
}

/// A term of a model.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Term {
    /// The counter.
    pub counter: &'static str,
    /// Its weight.
    pub weight: f64,
}

/// A program, predicted by the model of the others: means over its threads.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PredictedProgram<'a> {
    /// Its name.
    pub name: &'a str,
    /// The true speedup.
    pub speedup: f64,
    /// The predicted one.
    pub predicted: f64,
}

impl<'a> From<&'a training::Trained> for Trained<'a> {
    fn from(trained: &'a training::Trained) -> Self {
        let models = trained.models.iter().map(Model::from).collect();
        Self { machine: &trained.machine, models, thresholds: Thresholds::from(&trained.thresholds) }
    }
}

impl<'a> From<&'a thresholds::Thresholds> for Thresholds<'a> {
    fn from(found: &'a thresholds::Thresholds) -> Self {
        let program = |program: &'a thresholds::Stalling| Stalling {
            name: &program.name,
            speedup: program.speedup,
            starved: program.starved,
            offcore: program.offcore,
            wrong_on: program.wrong_on,
        };
        Self {
            policy: found.policy(),
            split: found.split,
            starved: found.starved,
            offcore: found.offcore,
            programs: found.programs.iter().map(program).collect(),
        }
    }
}

impl<'a> From<&'a training::TrainedModel> for Model<'a> {
    fn from(model: &'a training::TrainedModel) -> Self {
        let term =
            |(counter, weight): &(evenkeel_model::Counter, f64)| Term { counter: counter.name(), weight: *weight };
        let program = |program: &'a training::PredictedProgram| PredictedProgram {
            name: &program.name,
            speedup: program.speedup,
            predicted: program.predicted,
        };
        Self {
            observed_on: &model.observed_on,
            faster: &model.faster,
            slower: &model.slower,
            intercept: model.intercept,
            terms: model.terms.iter().map(term).collect(),
            mean_error: model.mean_error,
            programs: model.programs.iter().map(program).collect(),
        }
    }
}
