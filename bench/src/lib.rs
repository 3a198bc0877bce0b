//! What the benchmarks share.

/// The least, the middle and the greatest of some values.
pub struct Spread {
    /// The least.
    pub min: f64,
    /// The one in the middle; of an even number the upper one.
    pub median: f64,
    /// The greatest.
    pub max: f64,
}

/// How some values, one at least, are spread.
pub fn spread(mut values: Vec<f64>) -> Spread {
    values.sort_by(f64::total_cmp);
    Spread { min: values[0], median: values[values.len() / 2], max: values[values.len() - 1] }
}
