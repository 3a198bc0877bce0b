//! Finds threads that take the results of a queue's items in the order of these, whichever is done first: a compressor writes the oldest block, and
//! gives out no more before.
//!
//! It shows by what did not wake such a thread: while it waited for one item, later ones were done. A thread that takes what is there would have
//! been woken, and where the wait is for a lock, earlier ones would be done meanwhile as often. In a replay it waits for every item in its turn,
//! since another one may be the slow one there.
//!
//! The replay still comes to its end: a thread waits only for the results of items that had begun, in the recorded run, when it went on. An item is
//! stuck at its beginning only (`lists.rs`), and what these and all before them waited for then had been written down before.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_model::Ns;
use evenkeel_workload::recording::Step;

use super::lists::Item;
use super::pools::work;
use super::thread::{Done, ThreadRecord};
use super::work::Work;

/// So many items that were done while a thread waited for an earlier one are needed to tell (assumed).
const OVERTAKEN: usize = 4;
/// At most such a part as many that were done meanwhile may be earlier ones (assumed).
const ELSE: f64 = 0.1;
/// Only items count that are at least such a part as long as the mean: at a shorter one a thread may have been woken too early (assumed).
const LONG: f64 = 0.5;

/// Has threads that take the results of a list in order do so in a replay. `items` are those that its `members` took, numbered from `first`; `takers`
/// are the members of all lists.
pub(super) fn take_in_order(
    threads: &mut [ThreadRecord],
    items: &mut [Item],
    first: usize,
    takers: &BTreeSet<usize>,
    members: &BTreeSet<usize>,
) {
    // By thread and wake-up, the item that did it.
    let mut woke: BTreeMap<usize, BTreeMap<u64, usize>> = BTreeMap::new();
    for (number, item) in items.iter().enumerate() {
        for done in &item.done {
            if let Some(Step::Wake(other)) = done.step
                && (other as usize) < threads.len()
                && !takers.contains(&(other as usize))
            {
                woke.entry(other as usize).or_default().insert(done.order, number);
            }
        }
    }
    let silent = silent(items);
    let whole = whole(items);
    for (thread, woke) in woke {
        let waits = ascending(waits(&threads[thread], &woke, &whole));
        if in_order(&waits, &silent) {
            wait_for_each(&mut threads[thread], &waits, items, &silent, first, members);
            let over: BTreeSet<u64> = waits.iter().map(|wait| wait.order).collect();
            for done in items.iter_mut().flat_map(|item| &mut item.done) {
                if done.step == Some(Step::Wake(thread as u32)) && over.contains(&done.order) {
                    done.step = None;
                }
            }
        }
    }
}

/// A wait that an item has ended.
struct ForItem {
    /// When it began, and the wake-up.
    since: Ns,
    until: Ns,
    order: u64,
    item: usize,
    /// The item that it is a part of: who hands something on in several parts does several, but got them as one.
    whole: usize,
}

fn waits(thread: &ThreadRecord, woke: &BTreeMap<u64, usize>, whole: &[usize]) -> Vec<ForItem> {
    let wait = |done: &Done| {
        let item = *woke.get(&done.order).filter(|_| done.step == Some(Step::Wait))?;
        Some(ForItem { since: done.at, until: done.until, order: done.order, item, whole: whole[item] })
    };
    thread.done.iter().filter_map(wait).collect()
}

/// For each item, the last one up to it for which the same thread had waited.
fn whole(items: &[Item]) -> Vec<usize> {
    let mut last: BTreeMap<usize, usize> = BTreeMap::new();
    let whole = |(number, item): (usize, &Item)| {
        let last = last.entry(item.by).or_insert(number);
        if item.waits {
            *last = number;
        }
        *last
    };
    items.iter().enumerate().map(whole).collect()
}

/// Items that have woken none but takers, and when they were done, in the order of time.
fn silent(items: &[Item]) -> Vec<(Ns, usize)> {
    let mean = items.iter().map(|item| work(&item.done)).sum::<f64>() / items.len() as f64;
    let done = |(number, item): (usize, &Item)| {
        let last = item.done.last().filter(|_| item.waits && !item.handed_on && work(&item.done) >= LONG * mean)?;
        Some((last.at, number))
    };
    let mut silent: Vec<_> = items.iter().enumerate().filter_map(done).collect();
    silent.sort_unstable();
    silent
}

/// The most of them that were for one item after the other. What is left is mostly waits for locks.
fn ascending(waits: Vec<ForItem>) -> Vec<ForItem> {
    // By length, the wait that such a sequence ends with, of the lowest item; and what comes before each in its sequence.
    let mut last: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::new();
    for (position, wait) in waits.iter().enumerate() {
        let length = last.partition_point(|last| waits[*last].whole <= wait.whole);
        before.push(length.checked_sub(1).map(|shorter| last[shorter]));
        match last.get_mut(length) {
            Some(last) => *last = position,
            None => last.push(position),
        }
    }
    let kept: BTreeSet<usize> = std::iter::successors(last.last().copied(), |position| before[*position]).collect();
    waits.into_iter().enumerate().filter(|(position, _)| kept.contains(position)).map(|(_, wait)| wait).collect()
}

/// Whether items that were done meanwhile are later ones than those that were waited for.
fn in_order(waits: &[ForItem], silent: &[(Ns, usize)]) -> bool {
    let (mut overtaken, mut otherwise) = (0, 0);
    for wait in waits {
        let at = |time: Ns| silent.partition_point(|(done, _)| *done <= time);
        let meanwhile = &silent[at(wait.since)..at(wait.until).max(at(wait.since))];
        let later = meanwhile.iter().filter(|(_, item)| *item > wait.whole).count();
        overtaken += later;
        otherwise += meanwhile.len() - later;
    }
    overtaken >= OVERTAKEN && otherwise as f64 <= ELSE * overtaken as f64
}

/// Each wait becomes one for the result of its item. Those of the items before it that woke none were there, and taken without a wait: one by one, as
/// the thread gave out others.
fn wait_for_each(
    thread: &mut ThreadRecord,
    waits: &[ForItem],
    items: &[Item],
    silent: &[(Ns, usize)],
    first: usize,
    members: &BTreeSet<usize>,
) {
    let gives = |done: &&Done| matches!(done.step, Some(Step::Wake(other)) if members.contains(&(other as usize)));
    let done_at: BTreeMap<usize, Ns> = silent.iter().map(|(at, item)| (*item, *at)).collect();
    let results = |due: Vec<usize>, at: &Done| {
        let step = move |item| Some(Step::Result((first + item) as u32));
        let at = Done { work: Work::default(), ..*at };
        due.into_iter().map(move |item| Done { step: step(item), ..at })
    };
    let all = std::mem::take(&mut thread.done);
    let (mut rest, mut next, mut since) = (&all[..], 0, Ns::ZERO);
    for wait in waits {
        let Some(length) = rest.iter().position(|done| done.step == Some(Step::Wait) && done.order == wait.order)
        else {
            continue;
        };
        let before = done_at.range(next..wait.whole.max(next));
        let mut due = before.filter(|(_, at)| **at < wait.until).map(|(item, at)| (*item, *at)).peekable();
        let (taken_of, given_of) = (due.clone().count(), rest[..length].iter().filter(gives).count());
        let (mut taken, mut given) = (0, 0);
        for done in &rest[..length] {
            if gives(&done) {
                let mut there = Vec::new();
                // The first one that is given out is for the item of the wait before.
                while (taken + there.len()) * given_of < given * taken_of
                    && let Some((item, _)) = due.next_if(|(item, at)| *at < since && items[*item].began < done.order)
                {
                    there.push(item);
                }
                taken += there.len();
                given += 1;
                // It takes a result before it works on what it gives out next.
                thread.done.extend(results(there, done));
            }
            thread.done.push(*done);
            since = done.until;
        }
        let done = &rest[length];
        thread.done.push(Done { step: None, ..*done });
        thread.done.extend(results(due.map(|(item, _)| item).chain([wait.item]).collect(), done));
        (rest, next, since) = (&rest[length + 1..], next.max(wait.whole + 1), done.until);
    }
    thread.done.extend_from_slice(rest);
}
