//! Quicksort, in place (Hoare, Computer Journal 5, 1962), with a partition that a processor need not foresee (Edelkamp and Weiss,
//! "BlockQuicksort", ESA 2016) and a second one for the duplicates of a pivot.
//!
//! The partition is serial and both sides are sorted at the same time, so the parallelism unfolds from one task on, and a
//! skewed input makes very unequal tasks. Two inputs, as in the paper: `qsort-1` has many duplicates, `qsort-2` is words.

use std::cmp::Ordering;

use crate::Pool;
use crate::inputs::sequences::exponential_doubles;
use crate::inputs::words::{Words, words};
use crate::kernel::{Info, Kernel, Method, Suite, Wrong, digest, ensure, scaled};
use crate::primitives::tabulate;

/// Elements that one task sorts with the standard library.
const LEAF: usize = 128;

/// `qsort-1`.
#[derive(Debug)]
pub struct QuickSortNumbers;

/// A number in the total order of IEEE 754.
#[derive(Clone, Copy, Debug)]
pub struct Number(pub f64);

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Number {}

impl Kernel for QuickSortNumbers {
    type Input = Vec<Number>;
    type Output = Vec<Number>;

    const INFO: Info = Info {
        name: "qsort-1",
        suite: Suite::Pbbs,
        method: Method::Recursive,
        input: "exptSeq_10K_double",
        tasks: 777,
        task_kiloinstructions: 24.0,
    };

    fn input(scale: f64) -> Vec<Number> {
        exponential_doubles(scaled(10_000, scale), 2).into_iter().map(Number).collect()
    }

    fn run<P: Pool>(pool: &P, numbers: &Vec<Number>) -> Vec<Number> {
        let mut sorted = numbers.clone();
        quicksort(pool, &mut sorted);
        sorted
    }

    fn check(numbers: &Vec<Number>, sorted: &Vec<Number>) -> Result<(), Wrong> {
        same_as_std(numbers, sorted)
    }

    fn digest(sorted: &Vec<Number>) -> u64 {
        digest(sorted.iter().map(|number| number.0.to_bits()))
    }
}

/// `qsort-2`: the numbers of the words, in the words' order.
#[derive(Debug)]
pub struct QuickSortWords;

impl Kernel for QuickSortWords {
    type Input = Words;
    type Output = Vec<u32>;

    const INFO: Info = Info {
        name: "qsort-2",
        input: "trigramSeq_50K",
        tasks: 3187,
        task_kiloinstructions: 6.0,
        ..QuickSortNumbers::INFO
    };

    fn input(scale: f64) -> Words {
        words(scaled(50_000, scale), 3)
    }

    fn run<P: Pool>(pool: &P, words: &Words) -> Vec<u32> {
        // A word before its number, so the order is total.
        let mut sorted: Vec<(&[u8], u32)> = (0..words.len() as u32).map(|number| (words.get(number), number)).collect();
        quicksort(pool, &mut sorted);
        tabulate(pool, sorted.len(), 16 * LEAF, |index| sorted[index].1)
    }

    fn check(words: &Words, sorted: &Vec<u32>) -> Result<(), Wrong> {
        let numbered = |number: u32| (words.get(number), number);
        let input: Vec<_> = (0..words.len() as u32).map(numbered).collect();
        let output: Vec<_> = sorted.iter().copied().map(numbered).collect();
        same_as_std(&input, &output)
    }

    fn digest(sorted: &Vec<u32>) -> u64 {
        digest(sorted.iter().map(|&word| word.into()))
    }
}

/// Sorts `data` in place. Equal elements may change places.
pub fn quicksort<P: Pool, T: Copy + Ord + Send + Sync>(pool: &P, data: &mut [T]) {
    sort(pool, data, None);
}

/// Sorts `data`, nothing of which is less than `floor`.
fn sort<P: Pool, T: Copy + Ord + Send + Sync>(pool: &P, data: &mut [T], floor: Option<T>) {
    if data.len() <= pool.grain(LEAF) {
        data.sort_unstable();
        return;
    }
    let middle = median(data);
    data.swap(0, middle);
    let pivot = data[0];
    // A pivot that comes again has duplicates; they are in their place.
    if floor == Some(pivot) {
        let equal = partition(data, |element| *element <= pivot);
        return sort(pool, &mut data[equal..], None);
    }
    let less = partition(&mut data[1..], |element| *element < pivot);
    data.swap(0, less);
    let (low, high) = data.split_at_mut(less);
    pool.join(|| sort(pool, low, floor), || sort(pool, &mut high[1..], Some(pivot)));
}

/// Where the median of three medians of three is, which are spread over `data`.
fn median<T: Ord>(data: &[T]) -> usize {
    let of = |mut three: [usize; 3]| {
        three.sort_unstable_by_key(|&at| &data[at]);
        three[1]
    };
    let third = |from: usize| of([from, from + 1, from + 2].map(|at| at * (data.len() / 9)));
    of([third(0), third(3), third(6)])
}

/// Moves what is `low` to the front; returns how many these are. Every element moves, so nothing depends on a guess.
fn partition<T: Copy>(data: &mut [T], low: impl Fn(&T) -> bool) -> usize {
    let mut end = 0;
    for at in 0..data.len() {
        let goes_low = low(&data[at]);
        data.swap(at, end);
        end += usize::from(goes_low);
    }
    end
}

/// Whether `sorted` is what the standard library makes of `data`.
pub(super) fn same_as_std<T: Copy + Ord>(data: &[T], sorted: &[T]) -> Result<(), Wrong> {
    let mut expected = data.to_vec();
    expected.sort_unstable();
    ensure(sorted.len() == data.len(), || format!("{} of {} elements", sorted.len(), data.len()))?;
    let differs = expected.iter().zip(sorted).position(|(a, b)| a != b);
    ensure(differs.is_none(), || format!("element {} is not in its place", differs.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::verify;

    #[test]
    fn medium_sequences() {
        verify::<QuickSortNumbers>(&QuickSortNumbers::input(0.5));
        verify::<QuickSortWords>(&QuickSortWords::input(0.05));
    }

    #[test]
    fn a_lost_element_is_found_out() {
        assert!(same_as_std(&[1, 2], &[1, 1]).is_err());
        assert!(same_as_std(&[1, 2], &[1]).is_err());
        assert!(same_as_std(&[2, 1], &[1, 2]).is_ok());
    }

    proptest! {
        #[test]
        fn any_numbers(numbers in prop::collection::vec(-3_i8..3, 0..100)) {
            verify::<QuickSortNumbers>(&numbers.into_iter().map(|x| Number(x.into())).collect());
        }

        #[test]
        fn any_words(words in prop::collection::vec("[ab]{0,3}", 0..60)) {
            verify::<QuickSortWords>(&Words::new(&words));
        }
    }
}
