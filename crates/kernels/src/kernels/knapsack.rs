//! The 0-1 knapsack problem by branch and bound: the most value that fits.
//!
//! Items come by falling value per weight. Each task takes the next item or leaves it, both at the same time, and gives up where
//! even filling the rest by fractions of items would not beat the best found so far (Dantzig's bound: Operations
//! Research 5, 1957). The best is shared, so how much is searched depends on the run, and the result does not. The paper's
//! `knapsack-small-1.input` is not at hand; the items here are of the kind that is hardest for a bound: weights and values are the same
//! even numbers, and the capacity is odd (Chvatal, Operations Research 28, 1980). Hardly anything can be given up, so the
//! work does not depend on luck either.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::Pool;
use crate::inputs::Draw;
use crate::kernel::{Info, Kernel, Method, Suite, Wrong, digest, ensure};

/// Where fewer items are left, one task searches them all.
const LEAF: usize = 8;
const ITEMS: f64 = 24.0;

/// `ksack`.
#[derive(Debug)]
pub struct Knapsack;

/// Something that may be taken.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    value: u64,
    weight: u64,
}

/// What may be taken, by falling value per weight, and how much in all.
#[derive(Debug)]
pub struct Choice {
    items: Vec<Item>,
    capacity: u64,
}

impl Choice {
    fn new(mut items: Vec<Item>, capacity: u64) -> Self {
        items.sort_by_key(|item| std::cmp::Reverse(item.value * 1_000_000 / item.weight));
        Self { items, capacity }
    }
}

impl Kernel for Knapsack {
    type Input = Choice;
    type Output = u64;

    const INFO: Info = Info {
        name: "ksack",
        suite: Suite::Cilk,
        method: Method::Recursive,
        input: "knapsack-small-1.input",
        tasks: 78_799,
        task_kiloinstructions: 0.3,
    };

    /// Twice the work is one item more.
    fn input(scale: f64) -> Choice {
        let mut draw = Draw::new(18);
        let count = (ITEMS + libm::log2(scale)).round().max(1.0);
        let item = |_| {
            let weight = 2 * (1 + draw.below(500));
            Item { weight, value: weight }
        };
        let items: Vec<Item> = (0..count as usize).map(item).collect();
        let capacity = (items.iter().map(|item| item.weight).sum::<u64>() / 2) | 1;
        Choice::new(items, capacity)
    }

    fn run<P: Pool>(pool: &P, choice: &Choice) -> u64 {
        let best = AtomicU64::new(0);
        search(pool, &choice.items, choice.capacity, 0, &best);
        best.into_inner()
    }

    /// By dynamic programming over the capacity.
    fn check(choice: &Choice, value: &u64) -> Result<(), Wrong> {
        let mut best = vec![0; choice.capacity as usize + 1];
        for item in &choice.items {
            for room in (item.weight as usize..best.len()).rev() {
                best[room] = best[room].max(best[room - item.weight as usize] + item.value);
            }
        }
        let expected = best[choice.capacity as usize];
        ensure(*value == expected, || format!("value {value}, the best is {expected}"))
    }

    fn digest(value: &u64) -> u64 {
        digest([*value])
    }
}

fn search<P: Pool>(pool: &P, items: &[Item], room: u64, value: u64, best: &AtomicU64) {
    if items.len() <= pool.grain(LEAF) {
        return search_serially(items, room, value, best);
    }
    if value + bound(items, room) <= best.load(Relaxed) {
        return;
    }
    let (item, others) = (items[0], &items[1..]);
    let with = || {
        if let Some(room) = room.checked_sub(item.weight) {
            search(pool, others, room, value + item.value, best);
        }
    };
    pool.join(with, || search(pool, others, room, value, best));
}

fn search_serially(items: &[Item], room: u64, value: u64, best: &AtomicU64) {
    if value + bound(items, room) <= best.load(Relaxed) {
        return;
    }
    let Some((item, others)) = items.split_first() else {
        best.fetch_max(value, Relaxed);
        return;
    };
    if let Some(room) = room.checked_sub(item.weight) {
        search_serially(others, room, value + item.value, best);
    }
    search_serially(others, room, value, best);
}

/// What the items would be worth if the first that does not fit could be cut, rounded down.
fn bound(items: &[Item], mut room: u64) -> u64 {
    let mut value = 0;
    for item in items {
        if item.weight > room {
            return value + room * item.value / item.weight;
        }
        room -= item.weight;
        value += item.value;
    }
    value
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::verify;

    #[test]
    fn a_medium_choice() {
        verify::<Knapsack>(&Knapsack::input(0.1));
    }

    proptest! {
        #[test]
        fn any_choice(items in prop::collection::vec((1_u64..30, 1_u64..30), 0..16), capacity in 0_u64..200) {
            let items = items.into_iter().map(|(value, weight)| Item { value, weight }).collect();
            verify::<Knapsack>(&Choice::new(items, capacity));
        }
    }
}
