//! A hash table into which all workers insert at the same time, and whose contents do not depend on the order in which they
//! do.
//!
//! Linear probing in which the smaller of two entries gives way: going from an entry's home to its slot one meets only greater
//! ones, in whatever order they came (Shun and Blelloch, "Phase-Concurrent Hash Tables for Determinism", SPAA 2014, 4). Insertions
//! and searches are phases: they must not overlap.

use std::cmp::Ordering;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use bytemuck::{Zeroable, zeroed_vec};

use crate::Pool;
use crate::primitives::gather;

/// Slots that one task reads out.
const GRAIN: usize = 16_384;
const EMPTY: u32 = 0;

/// What the entries stand for. An entry is any number but 0.
pub trait Keys: Sync {
    /// Where an entry belongs. Entries of equal order must have equal hashes.
    fn hash(&self, entry: u32) -> u64;

    /// A total order. Of two entries that are equal the table keeps the one with the smaller number.
    fn order(&self, a: u32, b: u32) -> Ordering;
}

/// The table.
#[derive(Debug)]
pub struct Table<'a, K> {
    slots: Vec<AtomicU32>,
    keys: &'a K,
}

impl<'a, K: Keys> Table<'a, K> {
    /// An empty table for up to `entries`, at most half full.
    pub fn new(entries: usize, keys: &'a K) -> Self {
        Self { slots: zeroed_vec((2 * entries).next_power_of_two().max(2)), keys }
    }

    fn home(&self, entry: u32) -> usize {
        self.keys.hash(entry) as usize & (self.slots.len() - 1)
    }

    fn after(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }

    /// Adds an entry, unless an equal one with a smaller number is there.
    pub fn insert(&self, mut entry: u32) {
        let mut slot = self.home(entry);
        loop {
            let there = self.slots[slot].load(Relaxed);
            let order = if there == EMPTY { Ordering::Less } else { self.keys.order(there, entry) };
            let stays = match order {
                Ordering::Less => false,
                Ordering::Equal => there <= entry,
                Ordering::Greater => {
                    slot = self.after(slot);
                    continue;
                }
            };
            if stays {
                return;
            }
            // Another task may have taken the slot since; then it is read again.
            if self.slots[slot].compare_exchange_weak(there, entry, Relaxed, Relaxed).is_ok() {
                if order == Ordering::Equal || there == EMPTY {
                    return;
                }
                entry = there;
                slot = self.after(slot);
            }
        }
    }

    /// The entry that is equal to `entry`.
    pub fn find(&self, entry: u32) -> Option<u32> {
        let mut slot = self.home(entry);
        loop {
            let there = self.slots[slot].load(Relaxed);
            if there == EMPTY {
                return None;
            }
            match self.keys.order(there, entry) {
                Ordering::Less => return None,
                Ordering::Equal => return Some(there),
                Ordering::Greater => slot = self.after(slot),
            }
        }
    }

    /// What `of` makes of each entry, in the order of their slots.
    pub fn entries<T>(&self, pool: &impl Pool, of: impl Fn(u32) -> T + Sync) -> Vec<T>
    where
        T: Copy + Zeroable + Send + Sync,
    {
        gather(pool, self.slots.len(), GRAIN, |slot, out| {
            let entry = self.slots[slot].load(Relaxed);
            if entry != EMPTY {
                out.push(of(entry));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Serial;

    /// Many collisions, and entries that are equal though their numbers differ.
    struct Tens;

    impl Keys for Tens {
        fn hash(&self, entry: u32) -> u64 {
            (entry / 10 % 3).into()
        }

        fn order(&self, a: u32, b: u32) -> Ordering {
            (a / 10).cmp(&(b / 10))
        }
    }

    proptest! {
        #[test]
        fn the_order_of_insertions_does_not_matter(entries in prop::collection::vec(1_u32..200, 0..40)) {
            let fill = |order: &mut dyn Iterator<Item = u32>| {
                let table = Table::new(entries.len(), &Tens);
                order.for_each(|entry| table.insert(entry));
                (table.entries(&Serial, |entry| entry), (0..20).map(|ten| table.find(10 * ten + 1)).collect::<Vec<_>>())
            };
            let forwards = fill(&mut entries.iter().copied());
            let backwards = fill(&mut entries.iter().rev().copied());
            prop_assert_eq!(&forwards, &backwards);
            for (ten, found) in forwards.1.into_iter().enumerate() {
                prop_assert_eq!(found, entries.iter().copied().filter(|entry| *entry as usize / 10 == ten).min());
            }
        }
    }
}
