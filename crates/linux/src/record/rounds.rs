//! Barriers, found by what they do: the thread that comes last wakes all the others with one futex call.
//!
//! A wake-up alone says that the last thread went before the others, which on another machine would be another one. So
//! a group of threads whose last one woke all the others, more than once and not always the same one, is taken to meet
//! at a barrier. One that always wakes the others may do it for another reason, such as dealing out work. Nor do threads meet that wait for their
//! turns, and are all woken when the next one has its turn: after such a call all but one wait again at once, and most calls find only some of them.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_model::Ns;
use evenkeel_workload::recording::Step;

use super::thread::ThreadRecord;
use super::waits::{between_waits, waits_at_once};

/// With fewer threads, a barrier cannot be distinguished from a wake-up.
const PARTIES: usize = 3;

/// For each call by which the last thread at a barrier woke all the others, there may be so many that woke threads in vain (assumed): at the same
/// words, and the same threads, some of them, or more. At a barrier a thread may have nothing to do until the next one.
const IN_VAIN: f64 = 0.75;

/// A position in the steps of a thread.
#[derive(Clone, Copy, Debug)]
struct At {
    thread: usize,
    step: usize,
}

/// The wake-ups of one call.
#[derive(Debug)]
struct Round {
    call: u32,
    /// The futex word.
    word: u32,
    since: Ns,
    wakes: Vec<At>,
    waits: Vec<At>,
}

impl Round {
    /// All threads that met, in order of their numbers.
    fn parties(&self) -> Vec<usize> {
        let waker = self.wakes.first().map(|wake| wake.thread);
        let mut parties: Vec<usize> = self.waits.iter().map(|wait| wait.thread).chain(waker).collect();
        parties.sort_unstable();
        parties.dedup();
        parties
    }
}

/// The calls at a word by which some threads met: how many, and after how many of these all but one waited again at once.
struct Calls<'a> {
    parties: &'a [usize],
    all: usize,
    in_vain: usize,
}

/// All rounds of a recording.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// By waker: what its present call has done so far.
    open: BTreeMap<usize, Round>,
    complete: Vec<Round>,
}

impl Rounds {
    /// A thread that had been blocked since a time was woken now by a call of another. The last step of both is that wait and
    /// that wake-up.
    pub(super) fn woken(
        &mut self,
        now: Ns,
        (call, word): (u32, u32),
        [waker, waiter]: [usize; 2],
        since: Ns,
        threads: &[ThreadRecord],
    ) {
        let last = |thread: usize| At { thread, step: threads[thread].done.len() - 1 };
        let began = self.open.get(&waker).filter(|round| round.call == call).map(|round| round.since);
        if began.is_none() {
            let round = Round { call, word, since: now, wakes: Vec::new(), waits: Vec::new() };
            self.complete.extend(self.open.insert(waker, round));
        }
        // The last thread waited only for those that had come before the first one was woken.
        if since <= began.unwrap_or(now)
            && let Some(round) = self.open.get_mut(&waker)
        {
            round.wakes.push(last(waker));
            round.waits.push(last(waiter));
        }
    }

    /// Replaces the wake-ups and waits of every round of a barrier. The first one that is found gets the number `first`.
    pub(super) fn finish(mut self, threads: &mut [ThreadRecord], first: u32) {
        self.complete.extend(std::mem::take(&mut self.open).into_values());
        let mut groups: BTreeMap<Vec<usize>, Vec<&Round>> = BTreeMap::new();
        for round in &self.complete {
            groups.entry(round.parties()).or_default().push(round);
        }
        let wakers = |rounds: &[&Round]| {
            let first = rounds[0].wakes.first().map(|wake| wake.thread);
            rounds.iter().any(|round| round.wakes.first().map(|wake| wake.thread) != first)
        };
        let between: Vec<f64> = threads.iter().map(|thread| between_waits(&thread.done)).collect();
        let mut at_word: BTreeMap<u32, Vec<Calls<'_>>> = BTreeMap::new();
        for (parties, rounds) in &groups {
            let mut at: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
            let vain = |At { thread, step }: &At| waits_at_once(&threads[*thread].done, *step, between[*thread]);
            let woke_in_vain = |round: &Round| {
                let in_vain = round.waits.iter().filter(|wait| vain(wait)).count();
                in_vain > 0 && in_vain + 1 >= round.waits.len()
            };
            for round in rounds {
                let (all, in_vain) = at.entry(round.word).or_default();
                *all += 1;
                *in_vain += usize::from(woke_in_vain(round));
            }
            for (word, (all, in_vain)) in at {
                at_word.entry(word).or_default().push(Calls { parties, all, in_vain });
            }
        }
        let meet = |parties: &[usize], rounds: &[&Round]| {
            let within = |some: &[usize], others: &[usize]| some.iter().all(|one| others.binary_search(one).is_ok());
            let words: BTreeSet<u32> = rounds.iter().map(|round| round.word).collect();
            let (mut some, mut in_vain) = (0, 0);
            words.iter().filter_map(|word| at_word.get(word)).flatten().all(|calls| {
                let fewer = within(calls.parties, parties);
                some += if fewer && calls.parties.len() < parties.len() { calls.all } else { 0 };
                in_vain += if fewer || within(parties, calls.parties) { calls.in_vain } else { 0 };
                // Who comes to a barrier while the last one wakes the others already does not wait.
                some <= rounds.len() && in_vain as f64 <= IN_VAIN * rounds.len() as f64
            })
        };
        let barrier = |(parties, rounds): &(&Vec<usize>, &Vec<&Round>)| {
            parties.len() >= PARTIES && wakers(rounds) && meet(parties, rounds)
        };
        let barriers: Vec<_> = groups.iter().filter(barrier).collect();
        for (barrier, (_, rounds)) in (first..).zip(barriers) {
            for round in rounds {
                round.wakes.iter().for_each(|wake| threads[wake.thread].done[wake.step].step = None);
                let last = round.wakes.iter().take(1);
                for at in round.waits.iter().chain(last) {
                    threads[at.thread].done[at.step].step = Some(Step::Barrier(barrier));
                }
            }
        }
    }
}
