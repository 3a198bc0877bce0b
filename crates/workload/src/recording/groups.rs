//! Threads that do something together: those that meet at a barrier, share a pool of work, or take from a list.

use std::collections::{BTreeMap, BTreeSet};

use super::check::sequences;
use super::recorded::{RecordedThread, Recording};
use super::step::Step;

/// The threads that come to each barrier, by its number; both ascending.
pub(super) fn barriers(threads: &[RecordedThread]) -> BTreeMap<u32, Vec<usize>> {
    let mut parties: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (position, thread) in threads.iter().enumerate() {
        for step in &thread.steps {
            let Step::Barrier(barrier) = step else { continue };
            let parties = parties.entry(*barrier).or_default();
            if parties.last() != Some(&position) {
                parties.push(position);
            }
        }
    }
    parties
}

/// What the threads of each pool share out, by its number.
pub(super) fn pools(threads: &[RecordedThread]) -> BTreeMap<u32, Pool> {
    let mut pools: BTreeMap<u32, Pool> = BTreeMap::new();
    for (position, thread) in threads.iter().enumerate() {
        for step in &thread.steps {
            let Step::Share { pool, amount } = *step else { continue };
            let pool = pools.entry(pool).or_default();
            pool.threads.push(position);
            pool.work = pool.work.saturating_add(amount);
        }
    }
    pools
}

/// Who takes from each list, and its items, by its number; positions, both ascending.
pub(super) fn lists(recording: &Recording) -> BTreeMap<u32, List> {
    let mut lists: BTreeMap<u32, List> = BTreeMap::new();
    for (position, thread) in recording.threads.iter().enumerate() {
        for step in &thread.steps {
            if let Step::Take(list) = *step {
                lists.entry(list).or_default().takers.push(position);
            }
        }
    }
    for (position, item) in recording.items.iter().enumerate() {
        lists.entry(item.list).or_default().items.push(position);
    }
    lists
}

/// The numbers of all locks.
pub(super) fn locks(recording: &Recording) -> BTreeSet<u32> {
    let number = |step: &Step| if let Step::Lock(lock) = *step { Some(lock) } else { None };
    sequences(recording).flatten().filter_map(number).collect()
}

/// How often each item is waited for until it is done, by its number; without those that no thread waits for.
pub(super) fn results(recording: &Recording) -> BTreeMap<u32, usize> {
    let mut results: BTreeMap<u32, usize> = BTreeMap::new();
    for step in recording.threads.iter().flat_map(|thread| &thread.steps) {
        if let Step::Result(item) = *step {
            *results.entry(item).or_default() += 1;
        }
    }
    results
}

/// Items that threads take in order.
#[derive(Debug, Default)]
pub(super) struct List {
    /// A thread that takes from it twice stands there twice.
    pub takers: Vec<usize>,
    pub items: Vec<usize>,
}

/// Work that several threads do, each as much as it comes to.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// Who takes part, ascending; a thread that does so twice stands there twice.
    pub threads: Vec<usize>,
    /// All of it, in units of [`Step::Run`].
    pub work: u64,
}
