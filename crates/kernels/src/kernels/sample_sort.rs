//! Sample sort: elements are spread over buckets by pivots from a sorted sample, and the buckets are sorted.
//!
//! Where an element belongs is a binary search without a branch to foresee (Sanders and Winkel, "Super Scalar Sample Sort",
//! ESA 2004), and the pass is `primitives::distribute`. Loops in loops: a large bucket is sorted in parallel again.

use super::quicksort::{Number, quicksort, same_as_std};
use crate::Pool;
use crate::inputs::sequences::exponential_doubles;
use crate::kernel::{Info, Kernel, Method, Suite, Wrong, digest, scaled};
use crate::primitives::{carve, distribute};

/// Sequences up to this length are sorted by one task.
const LEAF: usize = 1024;
/// Elements of the sample for each pivot.
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
    let block = (data.len().isqrt() * 4).min(data.len());
    let samples = SAMPLES * data.len().div_ceil(block);
    let mut sample: Vec<T> = (0..samples).map(|index| data[index * data.len() / samples]).collect();
    sample.sort_unstable();
    let pivots: Vec<T> = sample.into_iter().skip(SAMPLES).step_by(SAMPLES).collect();

    let from = data.to_vec();
    let bucket_of = |element: &T| pivots.partition_point(|pivot| pivot < element);
    let lengths = distribute(pool, &from, data, block, pivots.len() + 1, bucket_of);
    let mut buckets = carve(data, lengths);
    pool.par_chunks(&mut buckets, 1, |_, bucket| {
        // A larger bucket has a value that is very frequent, or the sample was unlucky.
        if bucket[0].len() <= 2 * block {
            bucket[0].sort_unstable();
        } else {
            quicksort(pool, bucket[0]);
        }
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Tiny, verify};

    #[test]
    fn medium_sequences() {
        verify::<SampleSort>(&SampleSort::input(0.5));
    }

    #[test]
    fn a_sequence_of_one_value_is_sorted() {
        let mut ones = vec![1; 5000];
        Tiny::install(|| sample_sort(&Tiny, &mut ones));
        assert_eq!(ones, vec![1; 5000]);
    }

    proptest! {
        #[test]
        fn any_numbers(numbers in prop::collection::vec(-20_i8..20, 0..200)) {
            verify::<SampleSort>(&numbers.into_iter().map(|x| Number(x.into())).collect());
        }
    }
}
