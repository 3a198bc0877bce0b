//! Amounts that spread around a mean.

use evenkeel_workload::program::Spread;

/// Draws an amount around its mean.
pub(crate) fn vary(mean: u64, spread: Spread, draws: &mut fastrand::Rng) -> u64 {
    match spread {
        Spread::None => mean,
        Spread::Uniform(share) => {
            let factor = 1.0 + share * (2.0 * draws.f64() - 1.0);
            libm::round(mean as f64 * factor.max(0.0)) as u64
        }
        Spread::Exponential => libm::round(mean as f64 * -libm::log(1.0 - draws.f64())) as u64,
    }
}
