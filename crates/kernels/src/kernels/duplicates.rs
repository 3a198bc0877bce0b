//! Remove duplicates: of pairs of a word and an integer, the first with each word.
//!
//! The words go into a hash table (`table.rs`) that keeps the smaller number of two equal entries, so it is the same pair in
//! every run.

use std::cmp::Ordering;

use super::table::{Keys, Table};
use crate::Pool;
use crate::inputs::sequences::uniform_integers;
use crate::inputs::words::{Words, words};
use crate::kernel::{Info, Kernel, Method, Suite, Wrong, digest, ensure, mix, scaled};

/// Pairs that one task inserts.
const GRAIN: usize = 2048;

/// `rdups`.
#[derive(Debug)]
pub struct RemoveDuplicates;

/// Words, and an integer for each.
#[derive(Debug)]
pub struct Pairs {
    words: Words,
    values: Vec<u32>,
}

/// An entry is the number of the pair plus 1.
impl Keys for Pairs {
    fn hash(&self, entry: u32) -> u64 {
        let word = self.words.get(entry - 1);
        let bytes = |part: &[u8]| part.iter().fold(0, |all, &byte| (all << 8) | u64::from(byte));
        word.chunks(8).fold(word.len() as u64, |state, part| mix(state ^ bytes(part)))
    }

    fn order(&self, a: u32, b: u32) -> Ordering {
        self.words.get(a - 1).cmp(self.words.get(b - 1))
    }
}

impl Kernel for RemoveDuplicates {
    type Input = Pairs;
    /// The number of the pair, and its integer.
    type Output = Vec<(u32, u32)>;

    const INFO: Info = Info {
        name: "rdups",
        suite: Suite::Pbbs,
        method: Method::Loops,
        input: "trigramSeq_300K_pair_int",
        tasks: 288,
        task_kiloinstructions: 156.0,
    };

    fn input(scale: f64) -> Pairs {
        let len = scaled(300_000, scale);
        Pairs { words: words(len, 6), values: uniform_integers(len, 7) }
    }

    fn run<P: Pool>(pool: &P, pairs: &Pairs) -> Vec<(u32, u32)> {
        let table = Table::new(pairs.words.len(), pairs);
        pool.par_for(0..pairs.words.len(), GRAIN, |index| table.insert(index as u32 + 1));
        table.entries(pool, |entry| (entry - 1, pairs.values[entry as usize - 1]))
    }

    fn check(pairs: &Pairs, kept: &Vec<(u32, u32)>) -> Result<(), Wrong> {
        let mut expected: Vec<u32> = (0..pairs.words.len() as u32).collect();
        expected.sort_by_key(|&pair| pairs.words.get(pair));
        expected.dedup_by_key(|pair| pairs.words.get(*pair));
        expected.sort_unstable();
        let mut numbers: Vec<u32> = kept.iter().map(|&(pair, _)| pair).collect();
        numbers.sort_unstable();
        ensure(numbers == expected, || format!("{} pairs, expected {}", numbers.len(), expected.len()))?;
        ensure(kept.iter().all(|&(pair, value)| pairs.values[pair as usize] == value), || "a wrong integer".into())
    }

    fn digest(kept: &Vec<(u32, u32)>) -> u64 {
        digest(kept.iter().flat_map(|&(pair, value)| [pair.into(), value.into()]))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::verify;

    #[test]
    fn medium_sequences() {
        verify::<RemoveDuplicates>(&RemoveDuplicates::input(0.01));
    }

    proptest! {
        #[test]
        fn any_pairs(pairs in prop::collection::vec(("[ab]{0,4}|[ab]{9,10}", 0_u32..9), 0..60)) {
            let (words, values): (Vec<_>, _) = pairs.into_iter().unzip();
            verify::<RemoveDuplicates>(&Pairs { words: Words::new(&words), values });
        }
    }
}
