//! Integer sort: by radix, the most significant digit in parallel, and then each bucket by a task of its own.
//!
//! The first pass is `primitives::distribute`; a bucket is sorted from the least significant digit up, so the sort is stable. With
//! few different keys (`radix-2`) the buckets, hence the tasks, are very unequal.

use super::quicksort::same_as_std;
use crate::Pool;
use crate::inputs::sequences::{exponential_integers, uniform_integers};
use crate::kernel::{Info, Kernel, Method, Suite, Wrong, digest, scaled};
use crate::primitives::{carve, distribute};

const BITS: u32 = 8;
const DIGITS: usize = 1 << BITS;
/// Keys that one task counts and moves: many more than digits.
const BLOCK: usize = 16_384;

/// `radix-1`.
#[derive(Debug)]
pub struct RadixSortUniform;

impl Kernel for RadixSortUniform {
    type Input = Vec<u32>;
    type Output = Vec<u32>;

    const INFO: Info = Info {
        name: "radix-1",
        suite: Suite::Pbbs,
        method: Method::Loops,
        input: "randomSeq_400K_int",
        tasks: 176,
        task_kiloinstructions: 240.0,
    };

    fn input(scale: f64) -> Vec<u32> {
        uniform_integers(scaled(400_000, scale), 9)
    }

    fn run<P: Pool>(pool: &P, keys: &Vec<u32>) -> Vec<u32> {
        radix_sort(pool, keys)
    }

    fn check(keys: &Vec<u32>, sorted: &Vec<u32>) -> Result<(), Wrong> {
        same_as_std(keys, sorted)
    }

    fn digest(sorted: &Vec<u32>) -> u64 {
        digest(sorted.iter().map(|&key| key.into()))
    }
}

/// `radix-2`.
#[derive(Debug)]
pub struct RadixSortExponential;

impl Kernel for RadixSortExponential {
    type Input = Vec<u32>;
    type Output = Vec<u32>;

    const INFO: Info = Info {
        name: "radix-2",
        input: "exptSeq_250K_int",
        tasks: 285,
        task_kiloinstructions: 123.0,
        ..RadixSortUniform::INFO
    };

    fn input(scale: f64) -> Vec<u32> {
        exponential_integers(scaled(250_000, scale), 10)
    }

    fn run<P: Pool>(pool: &P, keys: &Vec<u32>) -> Vec<u32> {
        radix_sort(pool, keys)
    }

    fn check(keys: &Vec<u32>, sorted: &Vec<u32>) -> Result<(), Wrong> {
        same_as_std(keys, sorted)
    }

    fn digest(sorted: &Vec<u32>) -> u64 {
        RadixSortUniform::digest(sorted)
    }
}

fn digit(key: u32, shift: u32) -> usize {
    (key >> shift) as usize & (DIGITS - 1)
}

/// The keys in increasing order.
pub fn radix_sort<P: Pool>(pool: &P, keys: &[u32]) -> Vec<u32> {
    let largest = keys.iter().fold(0, |all, key| all | key);
    let shift = (u32::BITS - largest.leading_zeros()).saturating_sub(BITS);
    let mut sorted = vec![0; keys.len()];
    let lengths = distribute(pool, keys, &mut sorted, BLOCK, DIGITS, |&key| digit(key, shift));
    if shift > 0 {
        let mut buckets = carve(&mut sorted, lengths);
        pool.par_chunks(&mut buckets, 1, |_, bucket| sort_below(bucket[0], shift));
    }
    sorted
}

/// Sorts keys that do not differ at `shift` and above.
fn sort_below(keys: &mut [u32], shift: u32) {
    // The counters would cost more than the keys.
    if keys.len() < DIGITS / 4 {
        keys.sort_unstable();
        return;
    }
    let mut other = vec![0; keys.len()];
    let (mut from, mut to) = (keys, &mut other[..]);
    let passes = shift.div_ceil(BITS);
    for pass in 0..passes {
        let mut counts = [0; DIGITS];
        from.iter().for_each(|&key| counts[digit(key, pass * BITS)] += 1);
        let mut next = 0;
        let mut starts = counts.map(|count| {
            next += count;
            next - count
        });
        for &key in &*from {
            let start = &mut starts[digit(key, pass * BITS)];
            to[*start] = key;
            *start += 1;
        }
        (from, to) = (to, from);
    }
    if passes % 2 == 1 {
        to.copy_from_slice(from);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Serial;
    use crate::testing::verify;

    #[test]
    fn medium_sequences() {
        verify::<RadixSortUniform>(&RadixSortUniform::input(0.02));
        verify::<RadixSortExponential>(&RadixSortExponential::input(0.02));
    }

    #[test]
    fn keys_of_all_widths() {
        for bits in 0..=32 {
            let mut keys: Vec<u32> = uniform_integers(1000, bits).iter().map(|x| x.rotate_left(5)).collect();
            keys.iter_mut().for_each(|key| *key = (u64::from(*key) & ((1 << bits) - 1)) as u32);
            assert_eq!(same_as_std(&keys, &radix_sort(&Serial, &keys)), Ok(()), "{bits} bits");
        }
    }

    proptest! {
        #[test]
        fn any_keys(keys in prop::collection::vec(any::<u32>(), 0..50), small in prop::collection::vec(0_u32..9, 0..50)) {
            verify::<RadixSortUniform>(&keys);
            verify::<RadixSortUniform>(&small);
        }
    }
}
