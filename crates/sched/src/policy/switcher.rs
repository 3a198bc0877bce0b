//! What cluster switching and the in-kernel switcher share: an enhanced cpufreq driver that decides by CPU utilisation
//! whether the big or the little side is active ("Exploiting Asymmetric Multi-Core Processors with Flexible System
//! Software", sections III.A and III.B). The paper gives no thresholds; these are those of Linux's and Android's governors.

use evenkeel_model::{CoreId, Ns};

use crate::state::State;

/// How often the driver looks (timer_rate of Android's interactive governor).
pub(super) const PERIOD: Ns = Ns::from_ms(20);
/// The little side is too slow when it is used more than this share of its capacity (up_threshold of ondemand).
pub(super) const UP: f64 = 0.8;
/// The big side is too fast when it is used less than this. Assumed: four fifths of a little core a quarter as fast, so
/// that what comes down does not go up again at once.
pub(super) const DOWN: f64 = 0.2;
/// For how long the big side must be too fast before it is left (min_sample_time of the interactive governor).
const HOLD: Ns = Ns::from_ms(80);

/// The active one of two sides: at first the little one, where background work runs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Switch {
    big: bool,
    /// When the big side was last needed.
    needed: Ns,
}

impl Switch {
    /// Whether the big side is active.
    pub(super) fn big(self) -> bool {
        self.big
    }

    /// Looks at the share of the active side that is used. Answers whether it changes sides.
    pub(super) fn look(&mut self, now: Ns, used: f64) -> bool {
        let was = self.big;
        if used > if self.big { DOWN } else { UP } {
            self.big = true;
            self.needed = now;
        } else if now.since(self.needed) >= HOLD {
            self.big = false;
        }
        was != self.big
    }
}

/// The share of a core's capacity that is used.
pub(super) fn used(s: &State, core: CoreId) -> f64 {
    f64::from(s.usage(core, None)) / f64::from(s.capacity(core))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_up_at_once_and_down_after_a_while() {
        let mut switch = Switch::default();
        let at = Ns::from_ms;
        assert!(!switch.look(at(20), 0.8) && !switch.big());
        assert!(switch.look(at(40), 0.81) && switch.big());
        assert!(!switch.look(at(60), 0.1) && !switch.look(at(80), 0.21), "needed again: the wait starts anew");
        assert!(!switch.look(at(140), 0.1) && switch.big());
        assert!(switch.look(at(160), 0.1) && !switch.big());
    }
}
