//! Sample sort: blocks are sorted, their elements spread over buckets by pivots from a sample, and the buckets sorted.
//!
//! Pivots by regular sampling (Shi and Schaeffer, Journal of Parallel and Distributed Computing 14, 1992). Blocks are
//! sorted, so a block's part of a bucket is one piece, and moving it is one copy (Blelloch, Gibbons and Simhadri, "Low Depth
//! Cache-Oblivious Algorithms", SPAA 2010, 4.1). Loops in loops: a bucket is sorted in parallel again.

use super::quicksort::{Number, quicksort, same_as_std};
use crate::Pool;
use crate::inputs::sequences::exponential_doubles;
use crate::kernel::{Info, Kernel, Method, Suite, Wrong, digest, scaled};
use crate::primitives::{carve, cut};

/// Sequences up to this length are sorted by one task.
const LEAF: usize = 1024;
/// Elements of each block in the sample.
const SAMPLES: usize = 8;

/// `sampsort`.
#[derive(Debug)]
pub struct SampleSort;

impl Kernel for SampleSort {
    type Input = Vec<Number>;
    type Output = Vec<Number>;

    const INFO: Info = Info {
        name: "sampsort",
        suite: Suite::Pbbs,
        method: Method::NestedLoops,
        input: "exptSeq_10K_double",
        tasks: 15_522,
        task_kiloinstructions: 2.0,
    };

    fn input(scale: f64) -> Vec<Number> {
        exponential_doubles(scaled(10_000, scale), 2).into_iter().map(Number).collect()
    }

    fn run<P: Pool>(pool: &P, numbers: &Vec<Number>) -> Vec<Number> {
        let mut sorted = numbers.clone();
        sample_sort(pool, &mut sorted);
        sorted
    }

    fn check(numbers: &Vec<Number>, sorted: &Vec<Number>) -> Result<(), Wrong> {
        same_as_std(numbers, sorted)
    }

    fn digest(sorted: &Vec<Number>) -> u64 {
        digest(sorted.iter().map(|number| number.0.to_bits()))
    }
}

/// Sorts `data`. Equal elements may change places.
pub fn sample_sort<P: Pool, T: Copy + Ord + Send + Sync>(pool: &P, data: &mut [T]) {
    if data.len() <= pool.grain(LEAF) {
        data.sort_unstable();
        return;
    }
    // As many buckets as blocks, and pieces of 16 elements on average.
    let size = (data.len().isqrt() * 4).min(data.len());
    let blocks = data.len().div_ceil(size);
    pool.par_chunks(data, size, |_, block| block.sort_unstable());

    let pivots = pivots(data, size);
    let mut ends = vec![0; blocks * (pivots.len() + 1)];
    let sorted = &*data;
    pool.par_chunks(&mut ends, pivots.len() + 1, |index, ends| {
        let block = &sorted[index * size..sorted.len().min((index + 1) * size)];
        for (end, pivot) in ends.iter_mut().zip(&pivots) {
            *end = block.partition_point(|element| element <= pivot);
        }
        ends[pivots.len()] = block.len();
    });

    let mut spread = data.to_vec();
    let mut buckets = Vec::with_capacity(pivots.len() + 1);
    let mut places: Vec<Vec<&mut [T]>> = (0..blocks).map(|_| Vec::with_capacity(pivots.len() + 1)).collect();
    let mut rest = &mut spread[..];
    for bucket in 0..=pivots.len() {
        let before = rest.len();
        for (ends, places) in ends.chunks(pivots.len() + 1).zip(&mut places) {
            let begin = if bucket == 0 { 0 } else { ends[bucket - 1] };
            places.push(cut(&mut rest, ends[bucket] - begin));
        }
        buckets.push(before - rest.len());
    }
    pool.par_chunks(&mut places, 1, |index, places| {
        let mut block = &sorted[index * size..];
        for place in places.iter_mut().flatten() {
            let (piece, others) = block.split_at(place.len());
            place.copy_from_slice(piece);
            block = others;
        }
    });

    let mut pieces: Vec<_> =
        carve(&mut spread, buckets.iter().copied()).into_iter().zip(carve(data, buckets)).collect();
    pool.par_chunks(&mut pieces, 1, |_, piece| {
        for (bucket, place) in piece {
            // A larger bucket has a value that is very frequent, or the sample was unlucky.
            if bucket.len() <= 2 * size {
                bucket.sort_unstable();
            } else {
                quicksort(pool, bucket);
            }
            place.copy_from_slice(bucket);
        }
    });
}

/// Elements of the sorted blocks that cut `data` into about as many parts as there are blocks.
fn pivots<T: Copy + Ord>(data: &[T], size: usize) -> Vec<T> {
    let mut sample: Vec<T> = data
        .chunks(size)
        .flat_map(|block| (0..SAMPLES).map(|index| block[block.len() * (2 * index + 1) / (2 * SAMPLES)]))
        .collect();
    sample.sort_unstable();
    sample.into_iter().skip(SAMPLES).step_by(SAMPLES).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Threads, verify};

    #[test]
    fn medium_sequences() {
        verify::<SampleSort>(&SampleSort::input(0.5));
    }

    #[test]
    fn a_sequence_of_one_value_is_sorted() {
        let mut ones = vec![1; 5000];
        sample_sort(&Threads, &mut ones);
        assert_eq!(ones, vec![1; 5000]);
    }

    proptest! {
        #[test]
        fn any_numbers(numbers in prop::collection::vec(-20_i8..20, 0..200)) {
            verify::<SampleSort>(&numbers.into_iter().map(|x| Number(x.into())).collect());
        }
    }
}
