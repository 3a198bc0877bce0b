//! Dictionary: a hash table of integers; all are inserted at the same time, and then all looked up.
//!
//! The table is `table.rs`, whose contents do not depend on the order of the insertions. Half of what is looked up was
//! inserted.

use std::cmp::Ordering;

use super::table::{Keys, Table};
use crate::Pool;
use crate::inputs::sequences::{exponential_integers, uniform_integers};
use crate::kernel::{Info, Kernel, Method, Suite, Wrong, digest, ensure, mix, scaled};
use crate::primitives::reduce;

/// Keys that one task inserts or looks up.
const GRAIN: usize = 4096;

/// `dict`.
#[derive(Debug)]
pub struct Dictionary;

/// What goes in, and what is looked up.
#[derive(Debug)]
pub struct Lookups {
    inserted: Vec<u32>,
    wanted: Vec<u32>,
}

/// What the dictionary holds, in the order of the table, and how many of the wanted keys were found.
#[derive(Debug)]
pub struct Found {
    keys: Vec<u32>,
    hits: u64,
}

/// An entry is the integer itself plus 1; integers are below 2^31.
struct Integers;

impl Keys for Integers {
    fn hash(&self, entry: u32) -> u64 {
        mix(entry.into())
    }

    fn order(&self, a: u32, b: u32) -> Ordering {
        a.cmp(&b)
    }
}

impl Kernel for Dictionary {
    type Input = Lookups;
    type Output = Found;

    const INFO: Info = Info {
        name: "dict",
        suite: Suite::Pbbs,
        method: Method::Loops,
        input: "exptSeq_1M_int",
        tasks: 256,
        task_kiloinstructions: 151.0,
    };

    fn input(scale: f64) -> Lookups {
        let len = scaled(1_000_000, scale);
        let inserted = exponential_integers(len, 4);
        let others = uniform_integers(len, 5);
        let wanted = (0..len).map(|index| if index % 2 == 0 { inserted[index] } else { others[index] }).collect();
        Lookups { inserted, wanted }
    }

    fn run<P: Pool>(pool: &P, input: &Lookups) -> Found {
        let table = Table::new(input.inserted.len(), &Integers);
        pool.par_for(0..input.inserted.len(), GRAIN, |index| table.insert(input.inserted[index] + 1));
        let count = |range: std::ops::Range<usize>| {
            range.filter(|&index| table.find(input.wanted[index] + 1).is_some()).count() as u64
        };
        let hits = reduce(pool, 0..input.wanted.len(), GRAIN, &count, &|a, b| a + b);
        Found { keys: table.entries(pool, |entry| entry - 1), hits }
    }

    fn check(input: &Lookups, found: &Found) -> Result<(), Wrong> {
        let mut expected = input.inserted.clone();
        expected.sort_unstable();
        expected.dedup();
        let hits = input.wanted.iter().filter(|key| expected.binary_search(key).is_ok()).count() as u64;
        let mut keys = found.keys.clone();
        keys.sort_unstable();
        ensure(keys == expected, || format!("{} keys, expected {}", keys.len(), expected.len()))?;
        ensure(found.hits == hits, || format!("found {}, expected {hits}", found.hits))
    }

    fn digest(found: &Found) -> u64 {
        digest(found.keys.iter().map(|&key| key.into()).chain([found.hits]))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::verify;

    #[test]
    fn medium_dictionaries() {
        verify::<Dictionary>(&Dictionary::input(0.01));
    }

    proptest! {
        #[test]
        fn any_keys(
            inserted in prop::collection::vec(0_u32..50, 0..100),
            wanted in prop::collection::vec(0_u32..100, 0..100),
        ) {
            verify::<Dictionary>(&Lookups { inserted, wanted });
        }
    }
}
