//! What cluster switching and the in-kernel switcher share: an enhanced cpufreq driver that decides by CPU utilisation
//! whether the big or the little side is active ("Exploiting Asymmetric Multi-Core Processors with Flexible System
//! Software", sections III.A and III.B). The paper gives no thresholds; these are those of Linux's and Android's governors.

use evenkeel_model::{CoreId, Ns};

use crate::policy::description::{Knob, Setup, Value};
use crate::state::State;

/// Of both policies. 0.8 is up_threshold of Linux's ondemand governor. 0.2 is assumed: four fifths of a little core a
/// quarter as fast, so that what comes down does not go up again at once. The times are those of Android's interactive governor.
pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        name: "up",
        summary: "the big side takes over if more than this share of a little core is used",
        value: Value::Number { default: 0.8, from: 0.0, to: 1.0 },
    },
    Knob {
        name: "down",
        summary: "the little side takes over if no more than this share of a big core is used for a while",
        value: Value::Number { default: 0.2, from: 0.0, to: 1.0 },
    },
    Knob {
        name: "hold",
        summary: "for how long a big core must be used no more than `down` before the little side takes over (min_sample_time of Android's interactive governor)",
        value: Value::Time(Ns::from_ms(80)),
    },
    Knob {
        name: "period",
        summary: "how often it is checked how much the active side is used (timer_rate of that governor)",
        value: Value::Time(Ns::from_ms(20)),
    },
];

/// When to change sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thresholds {
    up: f64,
    down: f64,
    /// For how long the big side must be too fast before it is left.
    hold: Ns,
    /// How often the driver samples.
    pub(crate) period: Ns,
}

impl Thresholds {
    pub(crate) fn new(setup: &Setup) -> Self {
        let (up, down) = (setup.number("up"), setup.number("down"));
        Self { up, down, hold: setup.time("hold"), period: setup.time("period") }
    }
}

/// The active one of two sides: at first the little one, where background work runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Switch {
    big: bool,
    /// When the big side was last needed.
    needed: Ns,
}

impl Switch {
    /// Whether the big side is active.
    pub(crate) fn big(self) -> bool {
        self.big
    }

    /// Takes a sample of the share of the active side that is used. Returns whether it changes sides.
    pub(crate) fn sample(&mut self, now: Ns, used: f64, thresholds: Thresholds) -> bool {
        let was = self.big;
        if used > if self.big { thresholds.down } else { thresholds.up } {
            self.big = true;
            self.needed = now;
        } else if now.since(self.needed) >= thresholds.hold {
            self.big = false;
        }
        was != self.big
    }
}

/// The share of a core's capacity that is used.
pub(crate) fn used(s: &State, core: CoreId) -> f64 {
    f64::from(s.usage(core, None)) / f64::from(s.capacity(core))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_up_at_once_and_down_after_a_while() {
        let mut switch = Switch::default();
        let thresholds = Thresholds::new(&Setup::parse("iks").unwrap());
        let mut sample = |ms, used| {
            let changed = switch.sample(Ns::from_ms(ms), used, thresholds);
            (changed, switch.big())
        };
        assert_eq!(sample(20, 0.8), (false, false));
        assert_eq!(sample(40, 0.81), (true, true));
        assert_eq!(sample(60, 0.1), (false, true));
        assert_eq!(sample(80, 0.21), (false, true), "needed again: the wait starts anew");
        assert_eq!(sample(140, 0.1), (false, true));
        assert_eq!(sample(160, 0.1), (true, false));
    }
}
