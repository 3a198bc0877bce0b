//! When the host samples: once a period, sooner when a big core goes idle, more rarely while nothing changes, and so rarely that it does
//! not cost too much.

use evenkeel_model::Ns;

/// Sampling and deciding may use this share of the machine's time. The host samples more rarely to keep to it, but not
/// more rarely than once in [`STRETCH`] periods.
const COST: f64 = 0.005;
const STRETCH: u64 = 8;
/// While nothing changes, samples become rarer: each that finds all as it was doubles the time to the next, up to so
/// many periods.
const CALM: u64 = 4;
/// What was not used may be used later, up to this.
const SAVED: f64 = 10e6;
/// Big cores that go idle bring forward the next sample, but not to sooner than this.
pub(super) const SOONEST: Ns = Ns::from_ms(1);
/// The usual time from one sample to the next.
pub const PERIOD: Ns = Ns::from_ms(10);

/// The pace of samples.
pub(super) struct Pace {
    period: Ns,
    /// How many periods are to go by until the next sample.
    periods: u64,
    cores: usize,
    /// The time in ns that sampling may still use.
    budget: f64,
    sampled: Ns,
}

impl Pace {
    /// On a machine with so many cores, from now on.
    pub fn new(period: Ns, cores: usize, now: Ns) -> Self {
        Self { period, periods: 1, cores, budget: SAVED, sampled: now }
    }

    /// A sample was taken, which cost so much, and found all as it was, or not. Returns how long ago the one before was.
    pub fn sampled(&mut self, now: Ns, cost: Ns, steady: bool) -> Ns {
        let gap = now.since(self.sampled);
        let earned = gap.0 as f64 * COST * self.cores as f64;
        self.budget = (self.budget + earned - cost.0 as f64).clamp(-SAVED, SAVED);
        self.periods = if steady { (2 * self.periods).min(CALM) } else { 1 };
        self.sampled = now;
        gap
    }

    /// When the next sample is due, and from when on a big core that goes idle brings it forward, if one does.
    pub fn next(&self) -> (Ns, Option<Ns>) {
        let debt = Ns((-self.budget.min(0.0) / COST / self.cores as f64) as u64);
        let debt = debt.min(Ns(STRETCH * self.period.0));
        let regular = Ns(self.periods * self.period.0);
        if debt < self.period {
            (self.sampled + regular, Some(self.sampled + SOONEST))
        } else {
            (self.sampled + regular.max(debt), None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_costs_too_much_comes_rarely_and_what_finds_nothing_does_too() {
        let ms = Ns::from_ms;
        let mut pace = Pace::new(ms(10), 4, Ns::ZERO);
        assert_eq!(pace.sampled(ms(10), Ns::from_us(100), false), ms(10));
        assert_eq!(pace.next(), (ms(20), Some(ms(11))));
        pace.sampled(ms(20), Ns::ZERO, true);
        pace.sampled(ms(40), Ns::ZERO, true);
        pace.sampled(ms(80), Ns::ZERO, true);
        assert_eq!(pace.next(), (ms(120), Some(ms(81))));
        // All that was saved, and 1.2 ms more than was earned: at a fiftieth of the time that takes 60 ms.
        pace.sampled(ms(120), ms(12), false);
        assert_eq!(pace.next(), (ms(180), None));
        pace.sampled(ms(180), Ns::from_secs(1), false);
        assert_eq!(pace.next(), (ms(260), None));
    }
}
