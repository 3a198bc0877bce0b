//! Barriers, found by what they do: the thread that comes last wakes all the others with one futex call.
//!
//! A wake-up alone says that the last thread went before the others, which on another machine would be another one. So
//! a group of threads whose last one woke all the others, more than once and not always the same one, is taken to meet
//! at a barrier. One that always wakes the others may do it for another reason, such as dealing out work.

use std::collections::BTreeMap;

use evenkeel_model::Ns;
use evenkeel_workload::recording::Step;

use super::thread::ThreadRecord;

/// With fewer threads, a barrier cannot be distinguished from a wake-up.
const PARTIES: usize = 3;

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
        call: u32,
        [waker, waiter]: [usize; 2],
        since: Ns,
        threads: &[ThreadRecord],
    ) {
        let last = |thread: usize| At { thread, step: threads[thread].done.len() - 1 };
        let began = self.open.get(&waker).filter(|round| round.call == call).map(|round| round.since);
        if began.is_none() {
            let round = Round { call, since: now, wakes: Vec::new(), waits: Vec::new() };
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
        let barriers = groups.iter().filter(|(parties, rounds)| parties.len() >= PARTIES && wakers(rounds));
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
