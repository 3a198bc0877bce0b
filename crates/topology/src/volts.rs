//! Voltages from powers. What says powers says no voltages, or says both by `P = C f V^2`, so voltages follow up to a factor: `V` is proportional to
//! `sqrt(P / f)`. The factor cancels in every comparison of powers; the highest frequency has 1 V here.
//!
//! That cannot be where a cycle takes less energy at a higher frequency, since no voltage falls with the frequency: such a core leaks. Then the law of
//! the first-order model with leakage (Torng et al., ISCA 2016, Equations 1 and 4) is fitted to the powers.

use evenkeel_model::{Behaviour, CoreType, Hz, Opp, Volts, Watts};

use crate::machine::{HIGHEST_VOLTS, LOWEST_VOLTS};

/// The core type with powers, of which there is at least one, instead of those that were assumed. All power counts as switching power, unless it cannot be.
pub(crate) fn with_powers(assumed: CoreType, powers: &[(Hz, Watts)]) -> CoreType {
    let top = assumed.max_frequency();
    let law = leaks(powers).then(|| Law::of(powers, top));
    let highest = law.map_or_else(|| a_cycle(powers, top), |law| law.switching);
    let volts = |hz: Hz| {
        law.map_or_else(|| (a_cycle(powers, hz) / highest).sqrt(), |law| law.volts(hz.per_ns() / top.per_ns()))
    };
    let rounded = |volts: f64| Volts(((volts * 1000.0).round() / 1000.0).clamp(LEAST_VOLTS, MOST_VOLTS));
    let opp = |opp: &Opp| Opp { frequency: opp.frequency, voltage: rounded(volts(opp.frequency)) };
    // The code whose power is meant has this many instructions a cycle, as `marginal::System::of` counts.
    let ipc = (Behaviour::REFERENCE.ilp * assumed.extract).min(assumed.width);
    let activity = (highest / ipc).min(MOST_ACTIVITY);
    let leakage = law.map_or(0.0, |law| law.leakage.min(MOST_LEAKAGE));
    CoreType { opps: assumed.opps.iter().map(opp).collect(), activity, leakage, ..assumed }
}

/// Energies closer than this differ by rounding: the kernel cuts off what is below a microwatt.
const ROUNDING: f64 = 0.01;

/// Whether a cycle takes less energy at a higher frequency.
fn leaks(powers: &[(Hz, Watts)]) -> bool {
    let mut most = 0.0_f64;
    powers.iter().any(|one| {
        most = most.max(energy(*one));
        energy(*one) < (1.0 - ROUNDING) * most
    })
}

/// The slope that is assumed where no power is known. Two powers fit laws of many slopes: then the nearest to it is taken.
const ASSUMED_SLOPE: f64 = (HIGHEST_VOLTS - LOWEST_VOLTS) / HIGHEST_VOLTS;
/// How much being near counts: next to nothing where powers fit one slope better than others.
const NEARNESS: f64 = 1e-9;
/// Halvings of the search for the slope: more than the digits of a voltage.
const STEPS: u32 = 40;

/// Power as `switching f V^2 + leakage V`, where `V` is linear in the frequency and 1 at the highest.
#[derive(Clone, Copy)]
struct Law {
    /// How far the voltage falls from the highest frequency to none.
    slope: f64,
    /// In nanojoules a cycle at 1 V.
    switching: f64,
    /// In amperes.
    leakage: f64,
}

impl Law {
    /// The one with the least squares of errors as shares of the powers.
    fn of(powers: &[(Hz, Watts)], top: Hz) -> Self {
        let points: Vec<(f64, f64)> = powers.iter().map(|(hz, watts)| (hz.per_ns() / top.per_ns(), watts.0)).collect();
        let (mut from, mut to) = (0.0, 1.0);
        for _ in 0..STEPS {
            let third = (to - from) / 3.0;
            let off = |slope: f64| Self::at(slope, &points, top).1 + NEARNESS * (slope - ASSUMED_SLOPE).powi(2);
            if off(from + third) < off(to - third) { to -= third } else { from += third }
        }
        Self::at((from + to) / 2.0, &points, top).0
    }

    /// The best one of a slope, and its squares of errors.
    fn at(slope: f64, points: &[(f64, f64)], top: Hz) -> (Self, f64) {
        // Normal equations of `switching x + leakage y = 1`.
        let parts = |(share, watts): &(f64, f64)| {
            let volts = 1.0 - slope * (1.0 - share);
            (share * top.per_ns() * volts * volts / watts, volts / watts)
        };
        let sum = |of: fn(f64, f64) -> f64| points.iter().map(parts).map(|(x, y)| of(x, y)).sum::<f64>();
        let (xx, xy, yy) = (sum(|x, _| x * x), sum(|x, y| x * y), sum(|_, y| y * y));
        let (x, y) = (sum(|x, _| x), sum(|_, y| y));
        let (switching, leakage) = ((x * yy - y * xy) / (xx * yy - xy * xy), (y * xx - x * xy) / (xx * yy - xy * xy));
        // Neither is below nothing.
        let (switching, leakage) = match (switching > 0.0, leakage > 0.0) {
            (true, true) => (switching, leakage),
            (false, _) => (f64::MIN_POSITIVE, y / yy),
            (true, false) => (x / xx, 0.0),
        };
        let off = |part: (f64, f64)| (switching * part.0 + leakage * part.1 - 1.0).powi(2);
        (Self { slope, switching, leakage }, points.iter().map(parts).map(off).sum())
    }

    /// The voltage at a share of the highest frequency.
    fn volts(self, share: f64) -> f64 {
        1.0 - self.slope * (1.0 - share)
    }
}

/// What a machine file takes.
const LEAST_VOLTS: f64 = 0.001;
const MOST_VOLTS: f64 = 10.0;
const MOST_ACTIVITY: f64 = 1000.0;
const MOST_LEAKAGE: f64 = 1000.0;

/// The energy of a cycle, in nanojoules.
fn energy((hz, watts): (Hz, Watts)) -> f64 {
    watts.0 / hz.per_ns()
}

/// The energy of a cycle, in nanojoules: linear between the frequencies of which it is known, and the same beyond them.
fn a_cycle(powers: &[(Hz, Watts)], hz: Hz) -> f64 {
    let above = powers.partition_point(|(known, _)| *known < hz);
    match (above.checked_sub(1).map(|below| powers[below]), powers.get(above).copied()) {
        (Some(below), Some(above)) => {
            let share = (hz.per_ns() - below.0.per_ns()) / (above.0.per_ns() - below.0.per_ns());
            energy(below) + share * (energy(above) - energy(below))
        }
        (Some(one), None) | (None, Some(one)) => energy(one),
        (None, None) => 0.0,
    }
}
