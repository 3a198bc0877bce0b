//! Speedup prediction from performance counters (COLAB 4.1, WASH 5): principal component analysis selects the counters,
//! linear regression weighs them.

mod fit;
mod select;
mod table;

pub use fit::{Model, Validation, fit, leave_one_out};
pub use table::{MachinePredictor, Predictor, key};

use crate::Counters;

/// One training observation: what a thread's counters showed on one core type, and how much faster the biggest core type
/// ran it than the smallest.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The program that it is from; leave-one-out validation leaves out whole programs.
    pub group: String,
    /// What was counted.
    pub counters: Counters,
    /// Time on the smallest core type over time on the biggest.
    pub speedup: f64,
}

/// How good a model is to be. Worse models show how much depends on predictions (WASH 8.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quality {
    /// As good as can be.
    #[default]
    Best,
    /// From the next best counters, without those of the best model.
    SecondBest,
    /// The best model with the additive inverse of its weights: what gains most is predicted to gain least.
    Inverted,
}

/// Why a predictor cannot be made or read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PredictError {
    /// Not enough to learn from.
    #[error("{samples} training samples: at least {needed} are needed for {counters} counters")]
    TooFewSamples {
        /// How many there are.
        samples: usize,
        /// How many there should be.
        needed: usize,
        /// How many counters the model is to have.
        counters: usize,
    },
    /// No counter varies from sample to sample.
    #[error("the counters are the same in every sample: nothing can be learned from them")]
    NoVariation,
    /// A predictor file cannot be read.
    #[error("{0}")]
    File(String),
}
