//! Which thread waited for which, and for how long, in bounded memory.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_linux::event::Tid;
use evenkeel_linux::sample::PairWaits;
use evenkeel_model::Ns;

/// Of more pairs than this the half that waited for the shortest time is forgotten. As many are told apart under `run`, and half as many at a time inside the kernel.
const MOST: usize = 1 << 14;

/// The sums of the waits of one thread for another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairs(BTreeMap<(Tid, Tid), Sum>);

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    waited: Ns,
    times: u64,
}

impl Pairs {
    /// Adds waits to those of their pair.
    pub(crate) fn add(&mut self, PairWaits { waiter, waker, waited, times }: PairWaits) {
        let sum = self.0.entry((waiter, waker)).or_default();
        *sum = Sum { waited: sum.waited + waited, times: sum.times + times };
        if self.0.len() > MOST {
            self.forget();
        }
    }

    /// Adds what has been counted since another count, which may have begun anew with a pair in between.
    pub(crate) fn add_since(&mut self, before: &Self, now: &Self) {
        for (pair, sum) in &now.0 {
            let continues = |before: &&Sum| before.waited <= sum.waited && before.times <= sum.times;
            let before = before.0.get(pair).filter(continues).copied().unwrap_or_default();
            let (waited, times) = (sum.waited.since(before.waited), sum.times - before.times);
            if waited > Ns::ZERO || times > 0 {
                self.add(PairWaits { waiter: pair.0, waker: pair.1, waited, times });
            }
        }
    }

    /// Threads with these numbers have ended.
    pub(crate) fn end(&mut self, tids: &BTreeSet<Tid>) {
        self.0.retain(|(waiter, waker), _| !tids.contains(waiter) && !tids.contains(waker));
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<PairWaits> {
        let all =
            self.0.iter().map(|(&(waiter, waker), &Sum { waited, times })| PairWaits { waiter, waker, waited, times });
        all.collect()
    }

    /// All of them, those that waited longest first.
    pub(crate) fn longest_first(&self) -> Vec<PairWaits> {
        let mut waits = self.all();
        waits.sort_by_key(|pair| (std::cmp::Reverse(pair.waited), pair.waiter, pair.waker));
        waits
    }

    fn forget(&mut self) {
        for pair in self.longest_first().split_off(MOST / 2) {
            self.0.remove(&(pair.waiter, pair.waker));
        }
    }
}

impl FromIterator<PairWaits> for Pairs {
    fn from_iter<I: IntoIterator<Item = PairWaits>>(waits: I) -> Self {
        let mut pairs = Self::default();
        waits.into_iter().for_each(|wait| pairs.add(wait));
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(waiter: Tid, waker: Tid, ms: u64, times: u64) -> PairWaits {
        PairWaits { waiter, waker, waited: Ns::from_ms(ms), times }
    }

    #[test]
    fn what_is_counted_from_one_moment_to_the_next_adds_up() {
        let mut pairs = Pairs::default();
        let counts =
            [vec![wait(1, 2, 10, 3)], vec![wait(1, 2, 15, 4), wait(2, 1, 1, 1)], vec![wait(1, 2, 2, 1)], vec![]];
        let mut before = Pairs::default();
        for count in counts {
            let now: Pairs = count.into_iter().collect();
            pairs.add_since(&before, &now);
            before = now;
        }
        assert_eq!(pairs.longest_first(), [wait(1, 2, 17, 5), wait(2, 1, 1, 1)]);
    }

    #[test]
    fn however_many_pairs_there_are_memory_is_bounded() {
        let pairs: Pairs = (0..10 * MOST as Tid).map(|waiter| wait(waiter, 1, u64::from(waiter % 1000), 1)).collect();
        let kept = pairs.longest_first();
        assert!((MOST / 2..=MOST).contains(&kept.len()), "{}", kept.len());
        assert_eq!(kept[0].waited, Ns::from_ms(999));
    }
}
