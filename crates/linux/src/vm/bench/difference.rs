//! How much two schedulers differ: repetitions run both in turn, so that what disturbs a repetition disturbs both. So
//! ratios are formed within a repetition, and their spread is that of what was measured.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// What one scheduler takes against another, as a share: -0.4 is 40 % less.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The geometric mean of the ratios, less one.
    pub value: f64,
    /// Its standard error; `None` for a single observation.
    pub error: Option<f64>,
    /// The 95 % interval; `None` for a single observation.
    pub interval: Option<(f64, f64)>,
}

impl Difference {
    /// From the ratios in each repetition of each boot. Repetitions in one boot have more in common than boots have, so each
    /// boot is one observation where there are several.
    pub(super) fn of_boots(boots: impl IntoIterator<Item = Vec<f64>>) -> Option<Self> {
        let mut boots: Vec<Vec<f64>> = boots.into_iter().filter(|ratios| !ratios.is_empty()).collect();
        match &mut boots[..] {
            [one] => Self::of(std::mem::take(one)),
            several => {
                Self::of(several.iter().filter_map(|ratios| Some(1.0 + Self::of(ratios.iter().copied())?.value)))
            }
        }
    }

    /// From observed ratios; `None` without any. In logarithms, in which twice as long and half as long are
    /// equally far from no difference.
    fn of(ratios: impl IntoIterator<Item = f64>) -> Option<Self> {
        let logs: Vec<f64> = ratios.into_iter().map(f64::ln).filter(|log| log.is_finite()).collect();
        if logs.is_empty() {
            return None;
        }
        let number = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / number;
        let spread = (logs.len() > 1).then(|| {
            let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
            (squares / (number - 1.0) / number).sqrt()
        });
        let interval = |error: f64| {
            let student = StudentsT::new(0.0, 1.0, number - 1.0);
            let half = student.map_or(f64::INFINITY, |student| student.inverse_cdf(0.975)) * error;
            ((mean - half).exp() - 1.0, (mean + half).exp() - 1.0)
        };
        Some(Self {
            value: mean.exp() - 1.0,
            error: spread.map(|error| mean.exp() * error),
            interval: spread.map(interval),
        })
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
        // Half as long and twice as long are no difference together.
        let none = Difference::of([0.5, 2.0]).unwrap();
        close(none.value, 0.0);
        close(none.error.unwrap(), 2.0_f64.ln());
        let (low, high) = none.interval.unwrap();
        close((1.0 + low) * (1.0 + high), 1.0);
        // By hand: logarithms -0.1, 0, 0.1; standard error 0.1 / sqrt(3).
        let three = Difference::of([-0.1_f64, 0.0, 0.1].map(f64::exp)).unwrap();
        close(three.error.unwrap(), 0.0577);
        close(three.interval.unwrap().1, (4.302_65_f64 * 0.057_735).exp() - 1.0);
    }

    #[test]
    fn each_of_several_boots_is_one_observation() {
        let (one, other) = (vec![0.5, 0.5, 0.5], vec![0.8]);
        assert_eq!(Difference::of_boots([one.clone(), Vec::new()]), Difference::of(one.clone()));
        let both = Difference::of_boots([one, other]).unwrap();
        assert_eq!(Some(both), Difference::of([0.5, 0.8]));
        assert_eq!(Difference::of_boots([]), None);
    }

    #[test]
    fn a_single_repetition_has_no_spread_and_none_has_no_difference() {
        let single = Difference::of([1.1]).unwrap();
        close(single.value, 0.1);
        assert_eq!((single.error, single.interval), (None, None));
        assert_eq!(Difference::of([]), None);
        assert_eq!(Difference::of([0.0, f64::NAN]), None);
    }
}
