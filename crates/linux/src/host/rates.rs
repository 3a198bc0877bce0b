//! What a thread gains from a big core, measured.

use evenkeel_model::{Instructions, Ns};

use crate::sample::MAX_TYPES;

/// In less time a thread retires too few instructions to measure its rate.
const MEASURABLE: Ns = Ns::from_ms(1);

/// How fast a thread retires instructions on each core type.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rates {
    retired: Option<Instructions>,
    ran: [Ns; MAX_TYPES],
    /// Instructions a nanosecond, when it last ran there and nowhere else between two counts.
    rates: [Option<f64>; MAX_TYPES],
}

impl Rates {
    /// All that the thread has retired, if that is counted, and how long it has run on each core type. Returns what it retired
    /// since the last call, if all of that was on one core type, and on which.
    pub fn count(&mut self, retired: Option<Instructions>, ran: &[Ns; MAX_TYPES]) -> Option<(usize, Instructions)> {
        let (before, after) = (std::mem::replace(&mut self.retired, retired), retired);
        let old = std::mem::replace(&mut self.ran, *ran);
        let (before, after) = (before?, after?);
        let time: [Ns; MAX_TYPES] = std::array::from_fn(|on| ran[on].since(old[on]));
        let mut on = (0..MAX_TYPES).filter(|on| time[*on] > Ns::ZERO);
        let (Some(only), None) = (on.next(), on.next()) else { return None };
        let new = after.0.saturating_sub(before.0);
        if time[only] >= MEASURABLE {
            self.rates[only] = Some(new as f64 / time[only].0 as f64);
        }
        Some((only, Instructions(new)))
    }

    /// What has been learnt, for a policy that takes the thread over. Its host may count anew.
    pub fn learnt(&self) -> Self {
        Self { rates: self.rates, ..Self::default() }
    }

    /// How much faster the thread was on the biggest of so many core types than on the smallest, once it has run on both.
    pub fn speedup(&self, types: usize) -> Option<f64> {
        let smallest = types.min(MAX_TYPES).checked_sub(1).filter(|smallest| *smallest > 0)?;
        let (big, little) = (self.rates[0]?, self.rates[smallest].filter(|rate| *rate > 0.0)?);
        Some(big / little)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_retired_on_one_core_type_tells_its_rate() {
        let mut rates = Rates::default();
        let mut count = |retired: u64, big: u64, little: u64| {
            let mut ran = [Ns::ZERO; MAX_TYPES];
            (ran[0], ran[1]) = (Ns::from_ms(big), Ns::from_ms(little));
            let new = rates.count(Some(Instructions(retired)), &ran).map(|(on, new)| (on, new.0));
            (new, rates.speedup(2))
        };
        assert_eq!(count(0, 0, 0), (None, None), "nothing to compare with");
        assert_eq!(count(4_000_000, 2, 0), (Some((0, 4_000_000)), None), "not on the other type yet");
        assert_eq!(count(9_000_000, 3, 1), (None, None), "on both, and how much on which is not known");
        assert_eq!(count(10_000_000, 3, 3), (Some((1, 1_000_000)), Some(4.0)));
        assert_eq!(rates.speedup(1), None, "all cores are alike");
        let mut later = rates.learnt();
        assert_eq!(later.count(Some(Instructions(7)), &[Ns::ZERO; MAX_TYPES]), None, "it counts anew");
        assert_eq!(later.speedup(2), Some(4.0));
    }
}
