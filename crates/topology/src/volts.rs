//! Voltages from powers. What says powers says no voltages, or says both by `P = C f V^2`, so voltages follow up to a factor: `V` is proportional to
//! `sqrt(P / f)`. The factor cancels in every comparison of powers; the highest frequency has 1 V here.

use evenkeel_model::{Behaviour, CoreType, Hz, Opp, Volts, Watts};

/// The core type with powers, of which there is at least one, instead of those that were assumed. All power counts as switching power, as nothing separates
/// leakage from it.
pub(crate) fn with_powers(assumed: CoreType, powers: &[(Hz, Watts)]) -> CoreType {
    let top = assumed.max_frequency();
    let highest = a_cycle(powers, top);
    let volts = |hz: Hz| (a_cycle(powers, hz) / highest).sqrt();
    let rounded = |volts: f64| Volts(((volts * 1000.0).round() / 1000.0).clamp(LEAST_VOLTS, MOST_VOLTS));
    let opp = |opp: &Opp| Opp { frequency: opp.frequency, voltage: rounded(volts(opp.frequency)) };
    // The code whose power is meant has this many instructions a cycle, as `marginal::System::of` counts.
    let ipc = (Behaviour::REFERENCE.ilp * assumed.extract).min(assumed.width);
    let activity = (highest / ipc).min(MOST_ACTIVITY);
    CoreType { opps: assumed.opps.iter().map(opp).collect(), activity, leakage: 0.0, ..assumed }
}

/// What a machine file takes.
const LEAST_VOLTS: f64 = 0.001;
const MOST_VOLTS: f64 = 10.0;
const MOST_ACTIVITY: f64 = 1000.0;

/// The energy of a cycle, in nanojoules: linear between the frequencies of which it is known, and the same beyond them.
fn a_cycle(powers: &[(Hz, Watts)], hz: Hz) -> f64 {
    let energy = |(hz, watts): (Hz, Watts)| watts.0 / hz.per_ns();
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
