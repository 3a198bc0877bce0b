//! Which counters to read: those that matter most to the principal components that matter for speedup.

use nalgebra::{DMatrix, SymmetricEigen};

use super::Sample;
use crate::{COUNTERS, Counter};

/// Two counters that correlate more than this say the same; only one of them is kept ("redundancy", WASH 5).
const REDUNDANT: f64 = 0.98;

/// Counters per instruction, in the order of [`Counter::ALL`] without the instructions themselves.
pub(super) fn features(sample: &Sample) -> Option<[f64; COUNTERS - 1]> {
    let instructions = sample.counters.get(Counter::Instructions);
    let mut features = [0.0; COUNTERS - 1];
    for (feature, counter) in features.iter_mut().zip(&Counter::ALL[1..]) {
        *feature = sample.counters.get(*counter) / instructions;
    }
    (instructions > 0.0).then_some(features)
}

/// Values with mean 0 and variance 1, or all 0 if they do not vary.
fn standardise(values: &mut [f64]) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    values.iter_mut().for_each(|value| *value -= mean);
    let deviation = (values.iter().map(|value| value * value).sum::<f64>() / count).sqrt();
    let scale = if deviation > 1e-12 * mean.abs().max(1e-300) { 1.0 / deviation } else { 0.0 };
    values.iter_mut().for_each(|value| *value *= scale);
}

/// Plain loops, so that the result does not depend on the vector units of the machine that trains.
fn mean_product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / a.len() as f64
}

/// The `most` best counters, best first, `others` left out. The weight of a counter is the sum over the principal components of its share
/// in the component times the component's correlation with the speedup: its "effect on speedup modeling" (COLAB 4.1).
pub(super) fn select(samples: &[Sample], most: usize, others: &[Counter]) -> Vec<Counter> {
    let rows: Vec<[f64; COUNTERS - 1]> = samples.iter().filter_map(features).collect();
    let mut speedup: Vec<f64> = samples.iter().map(|sample| sample.speedup).collect();
    standardise(&mut speedup);
    let columns: Vec<Vec<f64>> = (0..COUNTERS - 1)
        .map(|at| {
            let mut column: Vec<f64> = rows.iter().map(|row| row[at]).collect();
            standardise(&mut column);
            column
        })
        .collect();
    let correlation = DMatrix::from_fn(COUNTERS - 1, COUNTERS - 1, |i, j| mean_product(&columns[i], &columns[j]));
    let eigen = SymmetricEigen::new(correlation.clone());
    let mut weights = [0.0; COUNTERS - 1];
    for (component, variance) in eigen.eigenvalues.iter().enumerate() {
        if *variance < 1e-9 {
            continue;
        }
        let loading = eigen.eigenvectors.column(component);
        let scores: Vec<f64> = (0..rows.len())
            .map(|row| (0..COUNTERS - 1).map(|at| columns[at][row] * loading[at]).sum::<f64>() / variance.sqrt())
            .collect();
        let relevance = mean_product(&scores, &speedup).abs();
        for (at, weight) in weights.iter_mut().enumerate() {
            *weight += (loading[at] * variance.sqrt()).abs() * relevance;
        }
    }
    let mut order: Vec<usize> = (0..COUNTERS - 1).collect();
    order.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]).then(a.cmp(b)));
    let mut chosen: Vec<usize> = Vec::new();
    for at in order {
        let varies = correlation[(at, at)] > 0.5;
        let redundant = chosen.iter().any(|other| correlation[(at, *other)].abs() > REDUNDANT);
        let left_out = others.contains(&Counter::ALL[at + 1]);
        if varies && !redundant && !left_out && chosen.len() < most {
            chosen.push(at);
        }
    }
    chosen.into_iter().map(|at| Counter::ALL[at + 1]).collect()
}
