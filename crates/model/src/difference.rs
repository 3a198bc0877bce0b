//! How much two things differ that were measured in pairs: what disturbs a pair disturbs both, so ratios are formed within a
//! pair, and their spread is that of what was measured.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// What one takes against the other, as a share: -0.4 is 40 % less.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The geometric mean of the ratios, less one.
    pub value: f64,
    /// Its standard error; `None` for a single pair.
    pub error: Option<f64>,
    /// The 95 % interval; `None` for a single pair.
    pub interval: Option<(f64, f64)>,
    mean: Logarithm,
}

/// The mean of logarithms, in which twice as long and half as long are equally far from no difference.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Logarithm {
    mean: f64,
    /// Of the mean; 0 for a single pair.
    error: f64,
    /// Pairs.
    number: usize,
}

/// Of intervals, unless said otherwise.
const CONFIDENCE: f64 = 0.95;

impl Difference {
    /// From observed ratios; `None` without any. Ratios that are no positive numbers do not count.
    pub fn of(ratios: impl IntoIterator<Item = f64>) -> Option<Self> {
        Self::of_logarithms(ratios.into_iter().map(libm::log))
    }

    /// From the logarithms of ratios; `None` without any. Those that are no numbers do not count.
    pub fn of_logarithms(logs: impl IntoIterator<Item = f64>) -> Option<Self> {
        let logs: Vec<f64> = logs.into_iter().filter(|log| log.is_finite()).collect();
        if logs.is_empty() {
            return None;
        }
        let number = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / number;
        let squares: f64 = logs.iter().map(|log| (log - mean) * (log - mean)).sum();
        let several = logs.len() > 1;
        let error = if several { libm::sqrt(squares / (number - 1.0) / number) } else { 0.0 };
        let mean = Logarithm { mean, error, number: logs.len() };
        Some(Self {
            value: libm::expm1(mean.mean),
            error: several.then(|| libm::exp(mean.mean) * error),
            interval: mean.interval(CONFIDENCE),
            mean,
        })
    }

    /// How many pairs were observed.
    pub fn pairs(&self) -> usize {
        self.mean.number
    }

    /// Whether the two are told apart: the 95 % interval is on one side of zero.
    pub fn is_clear(&self) -> bool {
        self.is_clear_among(1)
    }

    /// Whether the two are told apart although this difference was picked out of so many: of twenty that are none, one is
    /// clear by itself.
    pub fn is_clear_among(&self, differences: usize) -> bool {
        self.interval_among(differences).is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }

    /// The interval of a difference that is one of so many, all of which lie within theirs with 95 %. Bonferroni's correction:
    /// each gets its part of the 5 %. `None` for a single pair.
    pub fn interval_among(&self, differences: usize) -> Option<(f64, f64)> {
        self.mean.interval(1.0 - (1.0 - CONFIDENCE) / differences.max(1) as f64)
    }
}

impl Logarithm {
    /// Student's, as shares.
    fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        if self.number < 2 {
            return None;
        }
        let student = StudentsT::new(0.0, 1.0, self.number as f64 - 1.0);
        let times = student.map_or(f64::INFINITY, |student| student.inverse_cdf(0.5 + confidence / 2.0));
        // Pairs that are all alike leave nothing to chance, however few they are.
        let half = if self.error == 0.0 { 0.0 } else { times * self.error };
        Some((libm::expm1(self.mean - half), libm::expm1(self.mean + half)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-3, "{found} {expected}");
    }

    #[test]
    fn a_difference_is_symmetric_and_has_an_interval() {
        let faster = Difference::of([0.5, 0.5, 0.5]).unwrap();
        close(faster.value, -0.5);
        close(faster.error.unwrap(), 0.0);
        assert!(faster.is_clear_among(1000), "nothing is left to chance");
        // Half as long and twice as long are no difference together.
        let none = Difference::of([0.5, 2.0]).unwrap();
        close(none.value, 0.0);
        close(none.error.unwrap(), 2.0_f64.ln());
        assert!(!none.is_clear());
        let (low, high) = none.interval.unwrap();
        close((1.0 + low) * (1.0 + high), 1.0);
        // By hand: logarithms -0.1, 0, 0.1; standard error 0.1 / sqrt(3).
        let three = Difference::of([-0.1_f64, 0.0, 0.1].map(f64::exp)).unwrap();
        close(three.error.unwrap(), 0.0577);
        close(three.interval.unwrap().1, (4.302_65_f64 * 0.057_735).exp() - 1.0);
    }

    #[test]
    fn a_single_pair_has_no_spread_and_none_has_no_difference() {
        let single = Difference::of([1.1]).unwrap();
        close(single.value, 0.1);
        assert_eq!((single.error, single.interval, single.pairs()), (None, None, 1));
        assert!(!single.is_clear());
        assert_eq!(Difference::of([]), None);
        assert_eq!(Difference::of([0.0, -1.0, f64::NAN]), None);
    }

    /// Student's distribution is the normal one then.
    #[test]
    fn many_pairs_have_the_interval_of_a_normal_distribution() {
        for pairs in [1_000, 250_000] {
            let found =
                Difference::of_logarithms((0..pairs).map(|pair| if pair % 2 == 0 { 0.1 } else { -0.1 })).unwrap();
            let times = libm::log1p(found.interval.unwrap().1) / found.error.unwrap();
            assert!((times - 1.96).abs() < 0.003, "{pairs}: {times}");
        }
    }

    /// Five logarithms whose mean is 0.2 with an error of 0.035: t is 5.7, beyond 2.78 (alone) and 4.60 (one of five), not 8.61
    /// (one of fifty). Three with the same mean have t = 3.5 of 4.30.
    #[test]
    fn one_picked_out_of_many_must_be_clearer() {
        let three = Difference::of_logarithms([0.1, 0.2, 0.3]).unwrap();
        assert!(!three.is_clear());
        let five = Difference::of_logarithms([0.1, 0.15, 0.2, 0.25, 0.3]).unwrap();
        assert!(five.is_clear() && five.is_clear_among(5) && !five.is_clear_among(50));
    }
}
