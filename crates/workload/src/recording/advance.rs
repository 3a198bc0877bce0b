//! Whether every thread of a recording comes to its end.
//!
//! Only a thread itself takes from its semaphore, so no thread can take a wake-up away from another, and the order in
//! which threads advance cannot decide whether all come to their end. Nor can it at a barrier, which always waits for the
//! same threads. Nor at a lock: who has one waits for nothing. Nor at a list: its items are taken in their order, each has a semaphore of its own, and threads that take from it are
//! alike until none is left. That is why they go on together here: one that in a replay goes on before the last item is done can only help.
//! An item that is done stays so, for all that wait for its result.
//! It is enough to let them advance in one order.

use std::collections::{BTreeMap, BTreeSet};

use super::check::{Fault, sequences};
use super::groups::{List, barriers};
use super::recorded::Recording;
use super::step::Step;
use crate::program::Start;

/// How far the items of a list are.
#[derive(Default)]
struct Taken {
    /// How many have begun, and are done.
    begun: usize,
    done: usize,
    /// Threads that take from it.
    takers: Vec<usize>,
}

/// A run in which waits have no cost and amounts do not matter. Threads and then items are numbered on.
struct Advance<'a> {
    steps: Vec<&'a [Step]>,
    threads: usize,
    lists: &'a BTreeMap<u32, List>,
    /// The list that each item is of.
    list_of: Vec<u32>,
    next: Vec<usize>,
    wakes: Vec<u64>,
    started: Vec<bool>,
    movable: Vec<usize>,
    taken: BTreeMap<u32, Taken>,
    parties: BTreeMap<u32, Vec<usize>>,
    /// Which items are done, and who waits for the results of others.
    finished: BTreeSet<usize>,
    awaited: BTreeMap<usize, BTreeSet<usize>>,
    /// Who has come to each barrier.
    come: BTreeMap<u32, Vec<usize>>,
}

/// Lets every thread go as far as it can, until nothing moves.
pub(super) fn advance(recording: &Recording, lists: &BTreeMap<u32, List>) -> Result<(), Fault> {
    let threads = recording.threads.len();
    let steps: Vec<&[Step]> = sequences(recording).collect();
    let started = (0..steps.len()).map(|who| recording.threads.get(who).is_some_and(|one| one.start != Start::Spawned));
    let started: Vec<bool> = started.collect();
    let mut run = Advance {
        threads,
        lists,
        list_of: recording.items.iter().map(|item| item.list).collect(),
        next: vec![0; steps.len()],
        wakes: vec![0; steps.len()],
        movable: (0..steps.len()).filter(|who| started[*who]).collect(),
        started,
        taken: BTreeMap::new(),
        finished: BTreeSet::new(),
        awaited: BTreeMap::new(),
        parties: barriers(&recording.threads),
        come: BTreeMap::new(),
        steps,
    };
    while let Some(who) = run.movable.pop() {
        run.moves(who);
    }
    run.outcome()
}

impl Advance<'_> {
    fn moves(&mut self, who: usize) {
        while let Some(step) = self.steps[who].get(self.next[who]) {
            if !self.does(who, *step) {
                return;
            }
            self.next[who] += 1;
        }
        if let Some(list) = who.checked_sub(self.threads).map(|item| self.list_of[item])
            && std::mem::take(&mut self.started[who])
        {
            self.taken.entry(list).or_default().done += 1;
            self.finished.insert(who);
            self.movable.extend(self.awaited.remove(&who).into_iter().flatten());
            self.hand_out(list);
        }
    }

    /// Whether it can go on.
    fn does(&mut self, who: usize, step: Step) -> bool {
        match step {
            Step::Wait if self.wakes[who] == 0 => return false,
            Step::Wait => self.wakes[who] -= 1,
            Step::Wake(other) => {
                let other = other as usize;
                self.wakes[other] += 1;
                if self.started[other] && other != who {
                    self.movable.push(other);
                }
            }
            Step::Spawn(other) => {
                self.started[other as usize] = true;
                self.movable.push(other as usize);
            }
            Step::Barrier(barrier) => {
                let come = self.come.entry(barrier).or_default();
                if come.contains(&who) {
                    return false;
                }
                come.push(who);
                let parties = &self.parties[&barrier];
                if come.len() < parties.len() {
                    return false;
                }
                come.clear();
                for other in parties.iter().filter(|other| **other != who) {
                    self.next[*other] += 1;
                    self.movable.push(*other);
                }
            }
            Step::Take(list) => {
                let taken = self.taken.entry(list).or_default();
                if taken.done < self.lists[&list].items.len() {
                    if !taken.takers.contains(&who) {
                        taken.takers.push(who);
                        self.hand_out(list);
                    }
                    return false;
                }
            }
            Step::Result(item) => {
                let done = self.finished.contains(&(item as usize));
                if !done {
                    self.awaited.entry(item as usize).or_default().insert(who);
                }
                return done;
            }
            // Who has a lock gives it up without waiting for anything.
            Step::Run(_) | Step::Share { .. } | Step::Sleep(_) | Step::Io(_) | Step::Lock(_) | Step::Unlock(_) => {}
        }
        true
    }

    /// Threads that have nothing to do begin the next items of a list. When all are done they go on.
    fn hand_out(&mut self, list: u32) {
        let (items, taken) = (&self.lists[&list].items, self.taken.entry(list).or_default());
        while taken.begun < items.len() && taken.begun - taken.done < taken.takers.len() {
            let item = self.threads + items[taken.begun];
            taken.begun += 1;
            self.started[item] = true;
            self.movable.push(item);
        }
        if taken.done == items.len() {
            for taker in std::mem::take(&mut taken.takers) {
                self.next[taker] += 1;
                self.movable.push(taker);
            }
        }
    }

    /// Whether all have come to their end.
    fn outcome(&self) -> Result<(), Fault> {
        let all = || (0..self.threads).filter(|thread| self.next[*thread] < self.steps[*thread].len());
        let items = || (self.threads..self.steps.len()).filter(|item| self.started[*item]);
        // What a thread that takes, or that needs a result, waits for is an item. A thread that never started is the fault of one that waits for ever, unless
        // threads spawn each other in a circle.
        let waits = |thread: &usize| {
            self.started[*thread] && !matches!(self.steps[*thread][self.next[*thread]], Step::Take(_) | Step::Result(_))
        };
        match all().find(waits).or_else(|| items().next()).or_else(|| all().next()) {
            None => Ok(()),
            Some(who) if self.started[who] => {
                let what = match self.steps[who][self.next[who]] {
                    Step::Barrier(barrier) => {
                        format!("waits at barrier {barrier} for a thread that does not come again")
                    }
                    Step::Result(item) => format!("waits for item {item}, which is never done"),
                    _ => "waits for a wake-up that never comes".into(),
                };
                Err((Some(who), format!("operation {} {what}", self.next[who] + 1)))
            }
            Some(who) => Err((Some(who), "is spawned only by threads that wait for it to be spawned".into())),
        }
    }
}
