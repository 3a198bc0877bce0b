//! How much two schedulers differ: repetitions run both in turn, so a repetition is a pair.

use evenkeel_model::Difference;

/// From the ratios in each repetition of each boot. Repetitions in one boot have more in common than boots have, so each boot is
/// one pair where there are several.
pub(super) fn of_boots(boots: impl IntoIterator<Item = Vec<f64>>) -> Option<Difference> {
    let mut boots: Vec<Vec<f64>> = boots.into_iter().filter(|ratios| !ratios.is_empty()).collect();
    match &mut boots[..] {
        [one] => Difference::of(std::mem::take(one)),
        several => Difference::of(
            several.iter().filter_map(|ratios| Some(1.0 + Difference::of(ratios.iter().copied())?.value)),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_several_boots_is_one_pair() {
        let (one, other) = (vec![0.5, 0.5, 0.5], vec![0.8]);
        assert_eq!(of_boots([one.clone(), Vec::new()]), Difference::of(one.clone()));
        let both = of_boots([one, other]).unwrap();
        let expected = Difference::of([0.5, 0.8]).unwrap();
        assert!((both.value - expected.value).abs() < 1e-12 && both.pairs() == 2, "{both:?}");
        assert_eq!(of_boots([]), None);
    }
}
