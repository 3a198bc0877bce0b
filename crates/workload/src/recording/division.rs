//! Into which pieces a pool of work is divided.

use serde::{Deserialize, Serialize};

/// In how many pieces work is shared out, as OpenMP divides loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Division {
    /// How many pieces there are; at least 1.
    pub pieces: u32,
    /// A thread takes as many of the pieces that are left as would be its part, instead of one (`schedule(guided)`).
    #[serde(default, skip_serializing_if = "is_false")]
    pub guided: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Where the size of a piece is not known, so many for each thread: the end of a pool is as uneven as a piece is long.
const PIECES: u64 = 32;
/// With more pieces for each thread, threads end at the same time.
const MOST: u64 = 256;
/// Parts that differ less are taken to be equal.
const ALIKE: f64 = 0.8;

/// So many equal parts that threads take, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub count: u64,
    /// The work of each.
    pub work: u64,
}

/// The parts of a pool that so many threads share.
pub(super) fn parts(division: Option<Division>, work: u64, threads: u64) -> Vec<Parts> {
    let most = MOST * threads;
    let equal = |count: u64| vec![Parts { count, work: work.div_ceil(count) }];
    match division {
        None => equal(PIECES * threads),
        Some(Division { pieces, guided: false }) => equal(u64::from(pieces.max(1)).min(most)),
        Some(Division { pieces, guided: true }) => guided(u64::from(pieces.max(1)), work, threads),
    }
}

/// Whoever takes it, the next part is what is left divided by the number of threads.
fn guided(pieces: u64, work: u64, threads: u64) -> Vec<Parts> {
    let mut parts = Vec::new();
    let mut left = pieces;
    while left > 0 {
        let first = left.div_ceil(threads);
        let (mut count, mut taken) = (0, 0);
        loop {
            let next = (left - taken).div_ceil(threads);
            if next == 0 || (next as f64) < ALIKE * first as f64 {
                break;
            }
            (count, taken) = (count + 1, taken + next);
        }
        left -= taken;
        let each = work as f64 * taken as f64 / pieces as f64 / count as f64;
        parts.push(Parts { count, work: each.ceil() as u64 });
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_are_as_openmp_deals_them() {
        let of = |pieces, guided| parts(Some(Division { pieces, guided }), 2400, 4);
        assert_eq!(of(240, false), [Parts { count: 240, work: 10 }]);
        assert_eq!(of(3, false), [Parts { count: 3, work: 800 }]);
        assert_eq!(parts(None, 1280, 4), [Parts { count: 128, work: 10 }]);
        // 6, 5, 4, 3, 2, then one at a time.
        let guided: Vec<(u64, u64)> = of(24, true).iter().map(|parts| (parts.count, parts.work)).collect();
        assert_eq!(guided, [(2, 550), (1, 400), (1, 300), (1, 200), (4, 100)]);
    }

    proptest! {
        #[test]
        fn no_work_is_lost(pieces in 1..2_000_000u32, guided: bool, work in 0..1u64 << 50, threads in 2..100u64) {
            let parts = parts(Some(Division { pieces, guided }), work, threads);
            let count: u64 = parts.iter().map(|parts| parts.count).sum();
            let sum: u64 = parts.iter().map(|parts| parts.count * parts.work).sum();
            // Each is rounded up; reals of this size are exact to a part in 2^53.
            prop_assert!((work..=work + count + (work >> 50)).contains(&(sum + (work >> 50))), "{sum} of {work} in {parts:?}");
            prop_assert!(parts.len() < 128, "{}", parts.len());
        }
    }
}
