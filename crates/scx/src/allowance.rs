//! How much of a core the thread that decides may have. It comes before all others: what waits on its core, such as a thread that it
//! has interrupted and those of the kernel that may use no other core, would wait for as long as it has something to do.

use evenkeel_model::Ns;

/// It rests for a part of what it has worked, a ninth: so it has nine tenths of a core at most, while no turn is so long that the longest
/// rest is too short for it (assumed: in an emulated guest with more to decide than it could, a nineteenth left a thread waiting for 5.8 s).
const PART: u64 = 9;

/// A rest that is not worth a switch is put off until there is more of it: some hundred times what switches to another thread and
/// back cost.
const LEAST: Ns = Ns::from_ms(1);

/// And none is as long as to be missed: cores help themselves after 20 ms. What is left is owed.
const MOST: Ns = Ns::from_ms(10);

/// What it has worked and not yet rested for.
pub(crate) struct Allowance {
    owed: Ns,
    /// Until when that has been counted.
    counted: Ns,
}

impl Allowance {
    pub(crate) fn new(now: Ns) -> Self {
        Self { owed: Ns::ZERO, counted: now }
    }

    /// It has worked between two moments, and waited before. Returns for how long it is to rest now, if it is.
    pub(crate) fn worked(&mut self, began: Ns, ended: Ns) -> Option<Ns> {
        let (waited, worked) = (began.since(self.counted), ended.since(began));
        self.owed = Ns(self.owed.0.saturating_sub(waited.0) + worked.0 / PART);
        self.counted = ended;
        (self.owed >= LEAST).then(|| self.owed.min(MOST))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Turns of so much work and, where none has to be longer, such pauses after each. Returns the work and all time.
    fn play(turns: &[(u64, u64)]) -> (u64, u64) {
        let (mut allowance, mut now, mut worked) = (Allowance::new(Ns::ZERO), Ns::ZERO, 0);
        for (work, pause) in turns {
            let rest = allowance.worked(now, now + Ns(*work)).unwrap_or_default();
            worked += work;
            now += Ns(*work) + rest.max(Ns(*pause));
        }
        (worked, now.0)
    }

    #[test]
    fn who_rests_enough_by_itself_is_told_nothing() {
        let mut allowance = Allowance::new(Ns::ZERO);
        let us = Ns::from_us;
        assert!((1..10_000).all(|turn| allowance.worked(us(turn * 100), us(turn * 100 + 80)).is_none()));
        // 9 ms in one go, from which what was waited before is not taken.
        assert_eq!(allowance.worked(Ns::from_secs(2), Ns::from_secs(2) + us(9_000)), Some(us(1_000)));
    }

    proptest! {
        /// Turns last up to 20 ms, so that no rest needs to be longer than the longest one.
        #[test]
        fn others_have_a_tenth_of_the_core(turns in prop::collection::vec((0..20_000_000u64, 0..3_000_000u64), 1..200)) {
            let (worked, all) = play(&turns);
            prop_assert!((all - worked + LEAST.0) * 9 + turns.len() as u64 * 9 >= worked, "{worked} of {all}");
        }
    }
}
