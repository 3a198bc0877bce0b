//! Merge sort whose merges are parallel, too.
//!
//! Four quarters are sorted at the same time, then merged in pairs, then once more. A merge cuts the longer run in the middle and
//! the shorter one by binary search, and both pairs of parts merge at the same time (Akl and Santoro, IEEE Transactions on
//! Computers 36, 1987; Cilk's example `cilksort`).

use super::quicksort::same_as_std;
use crate::Pool;
use crate::inputs::sequences::uniform_integers;
use crate::kernel::{Info, Kernel, Method, Suite, Wrong, digest, scaled};

/// Keys that one task sorts.
const SORT: usize = 8192;
/// Keys that one task merges.
const MERGE: usize = 4096;

/// `cilksort`.
#[derive(Debug)]
pub struct CilkSort;

impl Kernel for CilkSort {
    type Input = Vec<u32>;
    type Output = Vec<u32>;

    const INFO: Info = Info {
        name: "cilksort",
        suite: Suite::Cilk,
        method: Method::Recursive,
        input: "-n 300000",
        tasks: 2056,
        task_kiloinstructions: 22.0,
    };

    fn input(scale: f64) -> Vec<u32> {
        uniform_integers(scaled(300_000, scale), 17)
    }

    fn run<P: Pool>(pool: &P, keys: &Vec<u32>) -> Vec<u32> {
        let mut sorted = keys.clone();
        sort(pool, &mut sorted, &mut vec![0; keys.len()]);
        sorted
    }

    fn check(keys: &Vec<u32>, sorted: &Vec<u32>) -> Result<(), Wrong> {
        same_as_std(keys, sorted)
    }

    fn digest(sorted: &Vec<u32>) -> u64 {
        digest(sorted.iter().map(|&key| key.into()))
    }
}

/// Sorts `keys`; `space` is as long.
fn sort<P: Pool>(pool: &P, keys: &mut [u32], space: &mut [u32]) {
    if keys.len() <= pool.grain(SORT).max(3) {
        keys.sort_unstable();
        return;
    }
    let (half, quarter) = (keys.len() / 2, keys.len() / 4);
    let (low, high) = keys.split_at_mut(half);
    let (low_space, high_space) = space.split_at_mut(half);
    let pair = |keys: &mut [u32], space: &mut [u32]| {
        let (a, b) = keys.split_at_mut(quarter);
        let (a_space, b_space) = space.split_at_mut(quarter);
        pool.join(|| sort(pool, a, a_space), || sort(pool, b, b_space));
        merge(pool, a, b, space);
    };
    pool.join(|| pair(low, low_space), || pair(high, high_space));
    let (low, high) = space.split_at(half);
    merge(pool, low, high, keys);
}

/// Merges two sorted runs.
fn merge<P: Pool>(pool: &P, a: &[u32], b: &[u32], out: &mut [u32]) {
    let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
    if out.len() <= pool.grain(MERGE) || long.len() < 2 {
        return merge_serially(a, b, out);
    }
    let (low, high) = long.split_at(long.len() / 2);
    let (less, others) = short.split_at(short.partition_point(|&key| key < high[0]));
    let (front, back) = out.split_at_mut(low.len() + less.len());
    pool.join(|| merge(pool, low, less, front), || merge(pool, high, others, back));
}

/// The branch that a processor cannot foresee is a conditional move here.
fn merge_serially(a: &[u32], b: &[u32], out: &mut [u32]) {
    let (mut next_a, mut next_b) = (0, 0);
    while let (Some(first_a), Some(first_b)) = (a.get(next_a), b.get(next_b)) {
        let from_a = first_a <= first_b;
        out[next_a + next_b] = if from_a { *first_a } else { *first_b };
        next_a += usize::from(from_a);
        next_b += usize::from(!from_a);
    }
    let rest = if next_a < a.len() { &a[next_a..] } else { &b[next_b..] };
    out[next_a + next_b..].copy_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::verify;

    #[test]
    fn medium_sequences() {
        verify::<CilkSort>(&CilkSort::input(0.02));
    }

    proptest! {
        #[test]
        fn any_keys(keys in prop::collection::vec(0_u32..50, 0..200)) {
            verify::<CilkSort>(&keys);
        }
    }
}
