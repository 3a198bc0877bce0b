//! Means, and how far values lie from them.

/// Mean and sample standard deviation, in the unit of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The sample standard deviation; 0 for a single value.
    pub deviation: f64,
}

impl Spread {
    /// Of some values; not a number without any.
    pub fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let deviation = if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        Self { mean, deviation }
    }
}

/// The arithmetic mean; `None` of nothing.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.into_iter().fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_is_that_of_a_sample() {
        let spread = Spread::of(&[1.0, 2.0, 3.0]);
        assert_eq!(spread, Spread { mean: 2.0, deviation: 1.0 });
        assert_eq!(Spread::of(&[5.0]).deviation, 0.0);
    }

    #[test]
    fn nothing_has_no_mean() {
        assert_eq!((mean([]), mean([1.0, 2.0])), (None, Some(1.5)));
    }
}
