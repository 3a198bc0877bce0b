//! Linear regression on selected counters, normalised by instructions.

use nalgebra::{DMatrix, DVector};

use super::select::select;
use super::{PredictError, Quality, Sample};
use crate::{Counter, Counters};

/// A linear model: `intercept + sum(weight x counter / instructions)`, kept within the range of what it was trained on.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The constant.
    pub intercept: f64,
    /// The selected counters with their weights, the most telling first.
    pub terms: Vec<(Counter, f64)>,
    /// The lowest and highest speedup seen in training.
    pub range: (f64, f64),
}

impl Model {
    /// The predicted speedup, or `None` if no instruction was counted. Allocates nothing.
    pub fn predict(&self, counters: &Counters) -> Option<f64> {
        let instructions = counters.get(Counter::Instructions);
        if instructions <= 0.0 {
            return None;
        }
        let sum: f64 = self.terms.iter().map(|(counter, weight)| weight * counters.get(*counter)).sum();
        Some((self.intercept + sum / instructions).clamp(self.range.0, self.range.1))
    }

    /// The model with the additive inverse of every weight, in the same range.
    #[must_use]
    pub fn inverted(mut self) -> Self {
        self.intercept = self.range.0 + self.range.1 - self.intercept;
        self.terms.iter_mut().for_each(|(_, weight)| *weight = -*weight);
        self
    }
}

/// One sample predicted by a model that never saw its program.
#[derive(Clone, Debug, PartialEq)]
pub struct Validation {
    /// The program.
    pub group: String,
    /// The true speedup.
    pub actual: f64,
    /// What the model of the other programs predicts.
    pub predicted: f64,
}

/// Fits a model with at most `counters` counters.
///
/// # Errors
/// Too few samples, or samples that do not differ.
pub fn fit(samples: &[Sample], counters: usize, quality: Quality) -> Result<Model, PredictError> {
    let needed = counters + 2;
    if samples.len() < needed {
        return Err(PredictError::TooFewSamples { samples: samples.len(), needed, counters });
    }
    let best = select(samples, counters, &[]);
    let chosen = if quality == Quality::SecondBest { select(samples, counters, &best) } else { best };
    if chosen.is_empty() {
        return Err(PredictError::NoVariation);
    }
    let value = |row: usize, column: usize| match column {
        0 => 1.0,
        column => {
            let counters = &samples[row].counters;
            counters.get(chosen[column - 1]) / counters.get(Counter::Instructions).max(1.0)
        }
    };
    // Columns are scaled to their largest value before the solver sees them: counts per instruction differ by a million.
    let scale: Vec<f64> = (0..=chosen.len())
        .map(|column| (0..samples.len()).map(|row| value(row, column).abs()).fold(1e-300, f64::max))
        .collect();
    let matrix = DMatrix::from_fn(samples.len(), chosen.len() + 1, |row, column| value(row, column) / scale[column]);
    let speedups = DVector::from_iterator(samples.len(), samples.iter().map(|sample| sample.speedup));
    let weights = matrix.svd(true, true).solve(&speedups, 1e-9).map_err(|_| PredictError::NoVariation)?;
    let range = samples
        .iter()
        .fold((f64::INFINITY, 0.0f64), |(low, high), sample| (low.min(sample.speedup), high.max(sample.speedup)));
    let terms = chosen.iter().enumerate().map(|(at, counter)| (*counter, weights[at + 1] / scale[at + 1]));
    let model = Model { intercept: weights[0] / scale[0], terms: terms.collect(), range };
    Ok(if quality == Quality::Inverted { model.inverted() } else { model })
}

/// Predicts every sample from the samples of the other programs (WASH 5, "leave-one-out validation").
///
/// # Errors
/// As [`fit`], for the samples that are left.
pub fn leave_one_out(samples: &[Sample], counters: usize) -> Result<Vec<Validation>, PredictError> {
    let mut groups: Vec<&str> = samples.iter().map(|sample| sample.group.as_str()).collect();
    groups.sort_unstable();
    groups.dedup();
    let mut validations = Vec::new();
    for group in groups {
        let others: Vec<Sample> = samples.iter().filter(|sample| sample.group != group).cloned().collect();
        let model = fit(&others, counters, Quality::Best)?;
        for sample in samples.iter().filter(|sample| sample.group == group) {
            let predicted = model.predict(&sample.counters).unwrap_or(f64::NAN);
            validations.push(Validation { group: group.to_owned(), actual: sample.speedup, predicted });
        }
    }
    Ok(validations)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Speedup falls with memory stalls; branches are noise, and L2 refills repeat what the stalls say.
    fn samples() -> Vec<Sample> {
        let sample = |index: usize| {
            let stalls = index as f64 * 0.1;
            let mut counters = Counters::default();
            counters.0[Counter::Instructions as usize] = 1000.0;
            counters.0[Counter::MemoryStallCycles as usize] = 1000.0 * stalls;
            counters.0[Counter::L2Refills as usize] = 10.0 * stalls;
            counters.0[Counter::Branches as usize] = 100.0 + 7.0 * ((index * 5) % 3) as f64;
            Sample { group: format!("p{}", index / 2), counters, speedup: 3.0 - stalls }
        };
        (0..12).map(sample).collect()
    }

    #[test]
    fn a_linear_world_is_learned_exactly_and_redundant_counters_are_dropped() {
        let samples = samples();
        let model = fit(&samples, 6, Quality::Best).unwrap();
        let telling = [Counter::MemoryStallCycles, Counter::L2Refills];
        assert_eq!(model.terms.iter().filter(|(counter, _)| telling.contains(counter)).count(), 1, "{model:?}");
        assert!(telling.contains(&model.terms[0].0), "the most telling comes first: {model:?}");
        for sample in &samples {
            assert!((model.predict(&sample.counters).unwrap() - sample.speedup).abs() < 1e-6);
        }
        assert_eq!(model.predict(&Counters::default()), None);
    }

    #[test]
    fn predictions_stay_in_the_range_of_training() {
        let samples = samples();
        let model = fit(&samples, 2, Quality::Best).unwrap();
        let mut far = samples[11].counters;
        far.0[Counter::MemoryStallCycles as usize] *= 100.0;
        far.0[Counter::L2Refills as usize] *= 100.0;
        assert_eq!(model.predict(&far), Some(model.range.0));
    }

    #[test]
    fn worse_models_use_other_counters_or_turn_the_order_round() {
        let samples = samples();
        let best = fit(&samples, 1, Quality::Best).unwrap();
        let second = fit(&samples, 1, Quality::SecondBest).unwrap();
        assert_ne!(best.terms[0].0, second.terms[0].0);
        let inverted = fit(&samples, 1, Quality::Inverted).unwrap();
        for sample in &samples {
            let (good, bad) = (best.predict(&sample.counters).unwrap(), inverted.predict(&sample.counters).unwrap());
            assert!((good + bad - (best.range.0 + best.range.1)).abs() < 1e-9, "{good} and {bad}");
        }
    }

    #[test]
    fn programs_are_left_out_as_a_whole() {
        let validations = leave_one_out(&samples(), 2).unwrap();
        assert_eq!(validations.len(), 12);
        // The first and last programs lie outside what the others show, so their predictions are clamped; the rest is exact.
        let off: Vec<&str> =
            validations.iter().filter(|v| (v.actual - v.predicted).abs() > 1e-6).map(|v| v.group.as_str()).collect();
        assert!(off.iter().all(|group| ["p0", "p5"].contains(group)), "{off:?}");
    }

    #[test]
    fn too_little_to_learn_from_is_an_error() {
        assert!(matches!(
            fit(&samples()[..3], 6, Quality::Best),
            Err(PredictError::TooFewSamples { samples: 3, needed: 8, .. })
        ));
        let same = vec![samples()[3].clone(); 12];
        assert_eq!(fit(&same, 2, Quality::Best), Err(PredictError::NoVariation));
    }
}
