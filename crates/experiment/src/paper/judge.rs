//! Judges a simulated number by the published one.

use super::published::{Bound, Published};

/// A limit that is broken so many times over is missed, whatever the sign.
const BROKEN: f64 = 3.0;

/// How a row came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The right sign and within a third of the published number, of a ratio within a third of what it differs from 1; or within the
    /// published bound; or no effect where the paper saw none.
    Close,
    /// The right sign.
    Sign,
    /// Another sign, or nothing; or far beyond the published bound.
    Miss,
}

/// Judges what was simulated. A published "no effect" is met by what prints as 0 %, or by what the paper could not distinguish from it. What
/// prints as 0 % is also below any limit. Any gain is "no loss", no effect or above; any loss is "no gain", no effect or below.
pub fn verdict(published: &Published, simulated: f64) -> Verdict {
    let of = |value: f64| if published.is_ratio() { value - 1.0 } else { value };
    let (expected, simulated) = (of(published.published), of(simulated));
    if expected == 0.0 {
        let nothing = simulated.abs() < published.within.unwrap_or(0.005);
        let gain = (simulated > 0.0) == published.metric.more_is_better();
        let allowed = published.bound.is_some_and(|bound| gain == (bound == Bound::Above));
        return if nothing || allowed { Verdict::Close } else { Verdict::Miss };
    }
    if simulated.abs() < 0.005 && published.bound == Some(Bound::Below) {
        return Verdict::Close;
    }
    if simulated * expected <= 0.0 {
        return Verdict::Miss;
    }
    let near = (simulated - expected).abs() <= expected.abs() / 3.0;
    let (size, limit) = (simulated.abs(), expected.abs());
    if published.bound == Some(Bound::Below) && size > BROKEN * limit
        || published.bound == Some(Bound::Above) && BROKEN * size < limit
    {
        return Verdict::Miss;
    }
    let close = match published.bound {
        None => near,
        Some(Bound::Below) => size <= limit,
        Some(Bound::Above) => size >= limit,
    };
    if close { Verdict::Close } else { Verdict::Sign }
}

/// Whether the paper saw no effect.
pub(super) fn expects_nothing(published: &Published) -> bool {
    published.published == if published.is_ratio() { 1.0 } else { 0.0 }
}
