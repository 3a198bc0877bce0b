//! Suffix array: the starts of all suffixes of a text, in their lexicographic order.
//!
//! By prefix doubling: suffixes are sorted by their first bytes, and those that tie again by the rank of what follows, twice as
//! far each round (Manber and Myers, SIAM Journal on Computing 22, 1993; only the groups that tie: Larsson and Sadakane,
//! Theoretical Computer Science 387, 2007). Each group is a task of a parallel loop.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use bytemuck::zeroed_vec;

use super::sample_sort::sample_sort;
use crate::Pool;
use crate::inputs::words::text;
use crate::kernel::{Info, Kernel, Method, Suite, Wrong, digest, ensure, scaled};
use crate::primitives::{gather, tabulate};

/// Bytes that the first sort compares: 9 bits each, since the end of the text is less than any byte.
const PREFIX: usize = 7;
/// Suffixes that one task prepares, or numbers.
const GRAIN: usize = 2048;
/// Groups that one task sorts.
const GROUPS: usize = 64;

/// `sarray`.
#[derive(Debug)]
pub struct SuffixArray;

impl Kernel for SuffixArray {
    type Input = Vec<u8>;
    type Output = Vec<u32>;

    const INFO: Info = Info {
        name: "sarray",
        suite: Suite::Pbbs,
        method: Method::Loops,
        input: "trigramString_120K",
        tasks: 2434,
        task_kiloinstructions: 16.0,
    };

    fn input(scale: f64) -> Vec<u8> {
        text(scaled(120_000, scale), 14)
    }

    fn run<P: Pool>(pool: &P, text: &Vec<u8>) -> Vec<u32> {
        let mut first: Vec<(u64, u32)> = tabulate(pool, text.len(), GRAIN, |at| (prefix(&text[at..]), at as u32));
        sample_sort(pool, &mut first);
        let begins = |at: usize| at == 0 || at == first.len() || first[at - 1].0 != first[at].0;
        let mut runs = gather(pool, first.len(), GRAIN, |at, runs| {
            if begins(at) {
                let end = (at + 1..).find(|&end| begins(end)).unwrap_or(first.len());
                runs.push((at as u32, end as u32));
            }
        });
        let order: Vec<AtomicU32> = tabulate(pool, first.len(), GRAIN, |at| AtomicU32::new(first[at].1));
        let ranks: Vec<AtomicU32> = zeroed_vec(text.len());
        let mut known = PREFIX;
        loop {
            let ties = number(pool, &order, &ranks, &runs);
            if ties.is_empty() {
                return order.into_iter().map(AtomicU32::into_inner).collect();
            }
            runs = gather(pool, ties.len(), GROUPS, |tie, runs| split(pool, &order, &ranks, ties[tie], known, runs));
            known *= 2;
        }
    }

    /// Every suffix once, and each less than the next: compared by its first byte and the place of what follows.
    fn check(text: &Vec<u8>, order: &Vec<u32>) -> Result<(), Wrong> {
        ensure(order.len() == text.len(), || format!("{} suffixes", order.len()))?;
        let mut places = vec![None; text.len() + 1];
        places[text.len()] = Some(0);
        for (place, &at) in order.iter().enumerate() {
            ensure(places[at as usize].is_none(), || format!("suffix {at} comes twice"))?;
            places[at as usize] = Some(place + 1);
        }
        for pair in order.windows(2) {
            let [a, b] = [pair[0] as usize, pair[1] as usize];
            let right = (text[a], places[a + 1]) < (text[b], places[b + 1]);
            ensure(right, || format!("suffix {a} comes before suffix {b}"))?;
        }
        Ok(())
    }

    fn digest(order: &Vec<u32>) -> u64 {
        digest(order.iter().map(|&at| at.into()))
    }
}

fn prefix(suffix: &[u8]) -> u64 {
    (0..PREFIX).fold(0, |all, at| (all << 9) | suffix.get(at).map_or(0, |&byte| u64::from(byte) + 1))
}

/// Gives the suffixes of each run the run's begin, plus 1, as their rank; returns the runs of more than one.
fn number<P: Pool>(pool: &P, order: &[AtomicU32], ranks: &[AtomicU32], runs: &[(u32, u32)]) -> Vec<(u32, u32)> {
    gather(pool, runs.len(), GRAIN, |run, ties| {
        let (begin, end) = runs[run];
        for at in &order[begin as usize..end as usize] {
            ranks[at.load(Relaxed) as usize].store(begin + 1, Relaxed);
        }
        if end - begin > 1 {
            ties.push((begin, end));
        }
    })
}

/// Sorts the suffixes of a tie by the ranks of what follows `known` bytes on, and adds the runs that are equal by that.
fn split<P: Pool>(
    pool: &P,
    order: &[AtomicU32],
    ranks: &[AtomicU32],
    (begin, end): (u32, u32),
    known: usize,
    runs: &mut Vec<(u32, u32)>,
) {
    let places = &order[begin as usize..end as usize];
    let keyed = |at: &AtomicU32| {
        let at = at.load(Relaxed);
        (ranks.get(at as usize + known).map_or(0, |rank| rank.load(Relaxed)), at)
    };
    let mut suffixes: Vec<(u32, u32)> = places.iter().map(keyed).collect();
    sample_sort(pool, &mut suffixes);
    let mut first = begin;
    for (index, (rank, at)) in suffixes.iter().enumerate() {
        places[index].store(*at, Relaxed);
        let next = begin + index as u32 + 1;
        if suffixes.get(index + 1).is_none_or(|(following, _)| following != rank) {
            runs.push((first, next));
            first = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Serial;
    use crate::testing::verify;

    #[test]
    fn medium_texts() {
        verify::<SuffixArray>(&SuffixArray::input(0.05));
        verify::<SuffixArray>(&b"abcabcabd".repeat(50));
        verify::<SuffixArray>(&vec![0; 300]);
    }

    #[test]
    fn banana() {
        assert_eq!(SuffixArray::run(&Serial, &b"banana".to_vec()), [5, 3, 1, 0, 4, 2]);
        assert!(SuffixArray::check(&b"banana".to_vec(), &vec![5, 3, 1, 0, 2, 4]).is_err());
    }

    proptest! {
        #[test]
        fn any_text(text in prop::collection::vec(0_u8..3, 0..100)) {
            verify::<SuffixArray>(&text);
        }
    }
}
