//! What a thread gains from a big core, measured.

use evenkeel_model::Ns;
use evenkeel_sched::Span;

use crate::counts::Counts;
use crate::sample::MAX_TYPES;

/// In less time a thread retires too few instructions to measure its rate.
const MEASURABLE: Ns = Ns::from_ms(1);

/// What has been counted of a thread while it ran on one core type only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Increment {
    on: usize,
    counts: Counts,
}

impl Increment {
    /// A span on a core type, with this if it was counted there.
    pub fn span(increment: Option<Self>, on: usize) -> Span {
        increment.filter(|increment| increment.on == on).map_or_else(Span::default, |increment| increment.counts.into())
    }
}

/// How fast a thread retires instructions on each core type.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rates {
    counts: Option<Counts>,
    ran: [Ns; MAX_TYPES],
    /// Instructions a nanosecond, when it last ran there and nowhere else between two counts.
    rates: [Option<f64>; MAX_TYPES],
}

impl Rates {
    /// All that has been counted of the thread, if anything is, and how long it has run on each core type. Returns what has come since
    /// the last call, if the thread ran on one core type only.
    pub fn count(&mut self, counts: Option<Counts>, ran: &[Ns; MAX_TYPES]) -> Option<Increment> {
        let (before, after) = (std::mem::replace(&mut self.counts, counts), counts);
        let old = std::mem::replace(&mut self.ran, *ran);
        let (before, after) = (before?, after?);
        let time: [Ns; MAX_TYPES] = std::array::from_fn(|on| ran[on].since(old[on]));
        let mut on = (0..MAX_TYPES).filter(|on| time[*on] > Ns::ZERO);
        let (Some(only), None) = (on.next(), on.next()) else { return None };
        let counts = after.since(&before);
        if time[only] >= MEASURABLE {
            self.rates[only] = Some(counts.instructions.0 as f64 / time[only].0 as f64);
        }
        Some(Increment { on: only, counts })
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
    use evenkeel_model::Instructions;

    use super::*;

    fn counts(retired: u64) -> Option<Counts> {
        Some(Counts { instructions: Instructions(retired), stalls: None })
    }

    #[test]
    fn only_what_was_retired_on_one_core_type_tells_its_rate() {
        let mut rates = Rates::default();
        let mut count = |retired: u64, big: u64, little: u64| {
            let mut ran = [Ns::ZERO; MAX_TYPES];
            (ran[0], ran[1]) = (Ns::from_ms(big), Ns::from_ms(little));
            let new = rates.count(counts(retired), &ran).map(|new| (new.on, new.counts.instructions.0));
            (new, rates.speedup(2))
        };
        assert_eq!(count(0, 0, 0), (None, None), "nothing to compare with");
        assert_eq!(count(4_000_000, 2, 0), (Some((0, 4_000_000)), None), "not on the other type yet");
        assert_eq!(count(9_000_000, 3, 1), (None, None), "on both, and how much on which is not known");
        assert_eq!(count(10_000_000, 3, 3), (Some((1, 1_000_000)), Some(4.0)));
        assert_eq!(rates.speedup(1), None, "all cores are alike");
        let mut later = rates.learnt();
        assert_eq!(later.count(counts(7), &[Ns::ZERO; MAX_TYPES]), None, "it counts anew");
        assert_eq!(later.speedup(2), Some(4.0));
    }
}
