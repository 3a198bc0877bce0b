//! Per-entity load tracking: the share of recent time in which a thread was runnable, or how much of a core it used.
//!
//! A geometric series over periods of about a millisecond in which a contribution halves after 32 periods, as Linux
//! has done since 3.8. Fixed point, so that every machine computes the same bits.

use evenkeel_model::Ns;

/// The load of a thread that is always runnable.
pub const FULL: u32 = evenkeel_model::FULL_LOAD;

/// 2^20 ns, Linux's 1024 us.
pub(crate) const PERIOD: u64 = 1 << 20;

/// y^n in units of 2^-32, with y^32 = 1/2.
const DECAY: [u64; 32] = [
    0xffff_ffff,
    0xfa83_b2da,
    0xf525_7d14,
    0xefe4_b99a,
    0xeac0_c6e6,
    0xe5b9_06e6,
    0xe0cc_deeb,
    0xdbfb_b796,
    0xd744_fcc9,
    0xd2a8_1d91,
    0xce24_8c14,
    0xc9b9_bd85,
    0xc567_2a10,
    0xc12c_4cc9,
    0xbd08_a39e,
    0xb8fb_af46,
    0xb504_f333,
    0xb123_f581,
    0xad58_3ee9,
    0xa9a1_5ab4,
    0xa5fe_d6a9,
    0xa270_4302,
    0x9ef5_325f,
    0x9b8d_39b9,
    0x9837_f050,
    0x94f4_efa8,
    0x91c3_d373,
    0x8ea4_398a,
    0x8b95_c1e3,
    0x8898_0e80,
    0x85aa_c367,
    0x82cd_8698,
];

/// A load average.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pelt {
    /// Average over whole periods, in units of 2^-20 of [`FULL`]/1024.
    average: u64,
    /// Time in the current period, and how much of it counts.
    elapsed: u64,
    counted: u64,
    last: Ns,
}

const ONE: u64 = 1 << 20;

impl Pelt {
    /// Accounts for the time since the last update, during which the thread was or was not runnable.
    pub fn update(&mut self, now: Ns, runnable: bool) {
        self.accrue(now, if runnable { FULL } else { 0 });
    }

    /// Accounts for the time since the last update, which counts for so much of `FULL_LOAD`.
    pub fn accrue(&mut self, now: Ns, level: u32) {
        let counts = |time: u64| time * u64::from(level) / u64::from(FULL);
        let mut delta = now.since(self.last).0;
        self.last = now;
        let room = PERIOD - self.elapsed;
        if delta < room {
            self.elapsed += delta;
            self.counted += counts(delta);
            return;
        }
        delta -= room;
        let share = (self.counted + counts(room)) * ONE / PERIOD;
        self.average = decay(self.average, 1) + share - decay(share, 1);
        let whole = delta / PERIOD;
        if whole > 0 {
            let level = counts(ONE);
            self.average = decay(self.average, whole) + level - decay(level, whole);
        }
        self.elapsed = delta % PERIOD;
        self.counted = counts(self.elapsed);
    }

    /// The load, 0 to `FULL_LOAD`.
    pub fn load(&self) -> u32 {
        (self.average * u64::from(FULL) / ONE) as u32
    }

    /// What is left of the load at a later time if nothing adds to it.
    pub fn load_at(&self, now: Ns) -> u32 {
        let mut later = *self;
        later.accrue(now, 0);
        later.load()
    }

    /// When within [`PERIOD`] one of its periods ends and the next begins: only then does [`Self::load`] change.
    pub(crate) fn phase(&self) -> u64 {
        (self.last.0 % PERIOD + PERIOD - self.elapsed) % PERIOD
    }

    /// A load that has always been the same. A new thread counts as having always been runnable, so that it is not
    /// mistaken for idle.
    pub fn constant(load: u32, now: Ns) -> Self {
        Self { average: u64::from(load) * ONE / u64::from(FULL), last: now, ..Self::default() }
    }
}

fn decay(value: u64, periods: u64) -> u64 {
    if periods >= 32 * 21 {
        return 0;
    }
    ((value >> (periods / 32)) * DECAY[(periods % 32) as usize]) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_follows_the_duty_cycle() {
        let mut pelt = Pelt::default();
        for millisecond in 0..2_000u64 {
            pelt.update(Ns::from_ms(millisecond), millisecond % 4 == 0);
        }
        assert!((200..320).contains(&pelt.load()), "a quarter of 1024, give or take the ripple: {}", pelt.load());
    }

    #[test]
    fn load_halves_in_32_periods() {
        let mut pelt = Pelt::constant(FULL, Ns::ZERO);
        pelt.update(Ns(32 * PERIOD), false);
        assert!((505..=520).contains(&pelt.load()), "{}", pelt.load());
        assert_eq!(pelt.load_at(Ns(64 * PERIOD)), pelt.load() / 2);
        pelt.update(Ns::from_secs(10), false);
        assert_eq!(pelt.load(), 0);
    }

    /// Half of the time at full speed and all of the time at half speed are the same use.
    #[test]
    fn what_counts_less_adds_less() {
        let mut pelt = Pelt::default();
        pelt.accrue(Ns::from_secs(1), FULL / 4);
        assert!((254..=256).contains(&pelt.load()), "{}", pelt.load());
        let mut fast = Pelt::default();
        for millisecond in 0..2_000u64 {
            fast.accrue(Ns::from_ms(millisecond), if millisecond % 2 == 0 { FULL / 2 } else { 0 });
        }
        assert!(fast.load().abs_diff(pelt.load()) < 16, "{} and {}", fast.load(), pelt.load());
    }
}
