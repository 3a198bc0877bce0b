//! Many times, in bounded memory.

use std::collections::BTreeMap;

use evenkeel_model::Ns;

/// Not more different times than this are told apart.
const DIFFERENT: usize = 2048;

/// How often something took how long. Of a great many different times, those that are near each other count as the longest of
/// them: as many leading binary digits are told apart as there is room for, which leaves an error of 2 % at most where the longest
/// time is a hundred million times the shortest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Times {
    counts: BTreeMap<Ns, u64>,
    /// How many leading binary digits are told apart.
    digits: u32,
    longest: Ns,
}

impl Default for Times {
    fn default() -> Self {
        Self { counts: BTreeMap::new(), digits: u64::BITS, longest: Ns::ZERO }
    }
}

impl Times {
    /// Adds a time.
    pub fn add(&mut self, time: Ns) {
        self.add_times(time, 1);
    }

    /// Adds all of others.
    pub fn merge(&mut self, others: &Self) {
        self.digits = self.digits.min(others.digits);
        for (time, count) in &others.counts {
            self.add_times(*time, *count);
        }
        // What the others' last one stands for may be shorter.
        self.longest = self.longest.max(others.longest);
    }

    fn add_times(&mut self, time: Ns, count: u64) {
        self.longest = self.longest.max(time);
        *self.counts.entry(rounded(time, self.digits)).or_default() += count;
        while self.counts.len() > DIFFERENT {
            self.digits -= 1;
            for (time, count) in std::mem::take(&mut self.counts) {
                *self.counts.entry(rounded(time, self.digits)).or_default() += count;
            }
        }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The longest; zero if there are none.
    pub fn longest(&self) -> Ns {
        self.longest
    }

    /// The times in order, each with how many took no longer.
    pub fn cumulative(&self) -> impl Iterator<Item = (Ns, u64)> {
        self.counts.iter().scan(0, |sum, (time, count)| {
            *sum += count;
            Some(((*time).min(self.longest), *sum))
        })
    }

    /// The least time that this share of cases does not exceed; zero if there are none.
    pub fn quantile(&self, share: f64) -> Ns {
        let rank = (share * self.count() as f64).ceil().max(1.0) as u64;
        self.cumulative().find(|(_, upto)| *upto >= rank).map_or(self.longest, |(time, _)| time)
    }
}

/// The next time up that has no more binary digits but zeros.
fn rounded(time: Ns, digits: u32) -> Ns {
    let rest = (u64::BITS - time.0.leading_zeros()).saturating_sub(digits);
    let mask = (1u64 << rest) - 1;
    Ns(time.0.saturating_add(mask) & !mask)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn few_times_are_exact() {
        let mut times = Times::default();
        for time in [5, 3, 1000, 3] {
            times.add(Ns(time));
        }
        assert_eq!((times.count(), times.longest()), (4, Ns(1000)));
        assert_eq!(times.cumulative().collect::<Vec<_>>(), [(Ns(3), 2), (Ns(5), 3), (Ns(1000), 4)]);
        assert_eq!([0.0, 0.5, 0.51, 1.0].map(|share| times.quantile(share).0), [3, 3, 5, 1000]);
        assert_eq!(Times::default().quantile(0.5), Ns::ZERO);
    }

    proptest! {
        #[test]
        fn many_are_counted_and_hardly_rounded(drawn in proptest::collection::vec((7..34u32, any::<u64>()), 5000)) {
            // Eight decades.
            let all: Vec<Ns> = drawn.iter().map(|(digits, draw)| Ns((1 << digits) + draw % (1 << digits))).collect();
            let (mut times, mut others) = (Times::default(), Times::default());
            for (index, time) in all.iter().enumerate() {
                if index % 3 == 0 { others.add(*time) } else { times.add(*time) }
            }
            times.merge(&others);
            let mut sorted = all;
            sorted.sort_unstable();
            prop_assert!(times.counts.len() <= DIFFERENT);
            prop_assert_eq!((times.count(), times.longest()), (5000, sorted[4999]));
            for share in [0.01, 0.5, 0.95, 0.99, 1.0] {
                let exact = sorted[((share * 5000.0) as usize).max(1) - 1].0 as f64;
                let error = times.quantile(share).0 as f64 / exact - 1.0;
                prop_assert!((0.0..=0.02).contains(&error), "{} at {}", error, share);
            }
        }
    }
}
