//! Who has woken whom, how often and where, and what that says: which threads do the same, and on which side of a queue they are.

use std::collections::{BTreeMap, BTreeSet};

/// Threads are alike if at least such a part of their wake-ups, given or got, is with the same threads, and at the same places (assumed). There
/// are more places: each item may have its own.
const WITH: f64 = 0.5;
const AT: f64 = 0.25;
/// Of all wake-ups at a queue's words, with those on its other side and among themselves, at most such a part is among themselves (assumed).
const WITHIN: f64 = 0.25;
/// Of those with the other side, at most such a part is done by both sides in turn at the same word (assumed).
const IN_TURN: f64 = 0.15;
/// Of the wake-ups by those on a queue's other side, if they are many, such a part wakes no other (assumed).
const ALONE: f64 = 0.25;

/// A word is a queue's if those that wait there are woken there so often, in the mean (assumed).
const AGAIN: u32 = 3;

/// Which threads have woken each other, by waker and woken.
#[derive(Debug, Default)]
pub(super) struct Links {
    by: BTreeMap<(usize, usize), Link>,
    /// The last call of each waker, and the only one that it has woken so far.
    calls: BTreeMap<usize, (u32, Option<usize>)>,
}

#[derive(Debug, Default)]
struct Link {
    /// How often, by futex word, and how often by a call that woke no other.
    at: BTreeMap<u32, u32>,
    alone: u32,
    /// As which step the first wake-up was written down, if it was, and at which word it was, if its call woke no other.
    first: Option<(u64, u32)>,
}

impl Links {
    /// A wake-up, and as which step it is written down, if it is.
    pub(super) fn add(&mut self, waker: usize, woken: usize, call: u32, word: u32, order: Option<u64>) {
        let link = self.by.entry((waker, woken)).or_default();
        *link.at.entry(word).or_default() += 1;
        match self.calls.insert(waker, (call, None)) {
            Some((last, other)) if last == call => {
                if let Some(link) = other.and_then(|other| self.by.get_mut(&(waker, other))) {
                    link.alone -= 1;
                    link.first = link.first.filter(|_| link.times() > 1);
                }
            }
            _ => {
                link.alone += 1;
                if link.times() == 1 {
                    link.first = order.map(|order| (order, word));
                }
                self.calls.insert(waker, (call, Some(woken)));
            }
        }
    }

    /// How often these have woken those.
    fn between(&self, wakers: &BTreeSet<usize>, woken: &BTreeSet<usize>) -> impl Iterator<Item = &Link> {
        let pairs = wakers.iter().flat_map(move |waker| woken.iter().map(move |woken| (*waker, *woken)));
        pairs.filter_map(|pair| self.by.get(&pair))
    }

    /// Whether some threads meet these as at a queue, on the other side of it. At a lock or a barrier all meet all, and at a lock who was woken
    /// wakes the next one; at a queue that is mostly full or mostly empty one side waits.
    pub(super) fn other_side(&self, others: &BTreeSet<usize>, team: &BTreeSet<usize>) -> bool {
        let (got, given, within) = (self.places(others, team), self.places(team, others), self.places(team, team));
        let all = |counts: &BTreeMap<u32, u32>| counts.values().sum::<u32>();
        let in_turn: u32 = got.iter().filter_map(|(word, times)| Some(*times.min(given.get(word)?))).sum();
        let there = |(word, _): &(&u32, &u32)| got.contains_key(word) || given.contains_key(word);
        let within = within.iter().filter(there).map(|(_, times)| times).sum::<u32>();
        is_queue(all(&got) + all(&given), in_turn, within)
    }

    /// Those of a team that meet some others at a word that looks like a queue's by itself: several of the team meet them there, and often.
    pub(super) fn who_meets_at_queue(&self, others: &BTreeSet<usize>, team: &BTreeSet<usize>) -> BTreeSet<usize> {
        let (got, given, within) = (self.places(others, team), self.places(team, others), self.places(team, team));
        let all = got.values().chain(given.values()).sum::<u32>();
        let of_queue = |word: &u32| {
            let [got, given, within] = [&got, &given, &within].map(|places| places.get(word).copied().unwrap_or(0));
            let often = got + given >= AGAIN * team.len() as u32 && f64::from(got + given) >= AT * f64::from(all);
            often && is_queue(got + given, got.min(given), within)
        };
        let words = got.keys().chain(given.keys()).copied().filter(of_queue);
        let who = |word: u32| -> BTreeSet<usize> {
            let meets = |member: usize, other: usize| {
                let met = |pair| self.by.get(&pair).is_some_and(|link: &Link| link.at.contains_key(&word));
                met((member, other)) || met((other, member))
            };
            team.iter().copied().filter(|member| others.iter().any(|other| meets(*member, *other))).collect()
        };
        words.collect::<BTreeSet<u32>>().into_iter().map(who).filter(|who| who.len() > 1).flatten().collect()
    }

    /// How often some threads have woken others, by word.
    fn places(&self, wakers: &BTreeSet<usize>, woken: &BTreeSet<usize>) -> BTreeMap<u32, u32> {
        let mut places: BTreeMap<u32, u32> = BTreeMap::new();
        for (word, times) in self.between(wakers, woken).flat_map(|link| &link.at) {
            *places.entry(*word).or_default() += times;
        }
        places
    }

    /// Whether some threads have woken any of these.
    pub(super) fn wake(&self, others: &BTreeSet<usize>, team: &BTreeSet<usize>) -> bool {
        self.between(others, team).next().is_some()
    }

    /// How often some threads have woken this one.
    pub(super) fn times(&self, others: &BTreeSet<usize>, thread: usize) -> u32 {
        self.between(others, &BTreeSet::from([thread])).map(Link::times).sum()
    }

    /// By thread of a team, as which steps its first wake-ups by some others were written down, where that was one of the team at a time, at a word at
    /// which several of the team are woken, and again, but wake none. At that of a lock they would; a place of one thread's own is no queue; and to be
    /// told to start is no work.
    pub(super) fn first(&self, others: &BTreeSet<usize>, team: &BTreeSet<usize>) -> BTreeMap<usize, BTreeSet<u64>> {
        let given = team.iter().flat_map(|member| self.by.range((*member, 0)..=(*member, usize::MAX)));
        let wake: BTreeSet<u32> = given.flat_map(|(_, link)| link.at.keys().copied()).collect();
        // Which of them are woken at each word, and how often.
        let mut got: BTreeMap<u32, (BTreeSet<usize>, u32)> = BTreeMap::new();
        let links = || {
            let pairs = others.iter().flat_map(|other| team.iter().map(move |member| (*other, *member)));
            pairs.filter_map(|pair| Some((pair.1, self.by.get(&pair)?)))
        };
        for (member, link) in links() {
            for (word, times) in &link.at {
                let (woken, all) = got.entry(*word).or_default();
                woken.insert(member);
                *all += times;
            }
        }
        let of_queue = |word: u32| {
            let (woken, times) = &got[&word];
            woken.len() > 1 && *times >= AGAIN * woken.len() as u32 && !wake.contains(&word)
        };
        let mut first: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
        for (member, link) in links() {
            let order = link.first.filter(|(_, word)| of_queue(*word)).map(|(order, _)| order);
            first.entry(member).or_default().extend(order);
        }
        first
    }

    /// If some threads wake these often, whether they wake now one and now another: who always wakes several opens a barrier.
    pub(super) fn wake_one_at_a_time(&self, others: &BTreeSet<usize>, team: &BTreeSet<usize>) -> Option<bool> {
        let alone: u32 = self.between(others, team).map(|link| link.alone).sum();
        let all: u32 = self.between(others, team).map(Link::times).sum();
        (all > 2 * team.len() as u32).then(|| f64::from(alone) >= ALONE * f64::from(all))
    }
}

/// Whether two sides meet as at a queue, if they have woken each other so often, so often of it in turn, and those of one side each other.
fn is_queue(met: u32, in_turn: u32, within: u32) -> bool {
    f64::from(within) <= WITHIN * f64::from(within + met) && f64::from(in_turn) <= IN_TURN * f64::from(met)
}

impl Link {
    fn times(&self) -> u32 {
        self.at.values().sum()
    }
}

/// What a thread has to do with others.
#[derive(Default)]
pub(super) struct Ties {
    /// How often it has woken each, or was woken.
    pub with: BTreeMap<usize, u32>,
    /// How often it was woken by each.
    pub woken_by: BTreeMap<usize, u32>,
    /// Where that was, whether it woke or was woken there, and how often: who waits for room in a queue is not like the one that makes room.
    at: BTreeMap<(u32, bool), u32>,
}

impl Ties {
    pub(super) fn of(links: &Links) -> BTreeMap<usize, Self> {
        let mut ties: BTreeMap<usize, Self> = BTreeMap::new();
        for ((waker, woken), link) in &links.by {
            let times = link.times();
            for (one, other, wakes) in [(waker, woken, true), (woken, waker, false)] {
                let ties = ties.entry(*one).or_default();
                *ties.with.entry(*other).or_default() += times;
                link.at.iter().for_each(|(word, times)| *ties.at.entry((*word, wakes)).or_default() += times);
            }
            *ties.entry(*woken).or_default().woken_by.entry(*waker).or_default() += times;
        }
        ties
    }

    /// Whether two threads do the same: with the same others, and at the same places on the same side.
    pub(super) fn alike(&self, me: usize, it: &Self, other: usize) -> bool {
        let not = |one: usize| move |with: &usize| *with != one;
        common(&self.with, not(other), &it.with, not(me)) >= WITH && common(&self.at, |_| true, &it.at, |_| true) >= AT
    }
}

/// Which part of two counts is the same, of what counts of each.
fn common<K: Ord>(
    one: &BTreeMap<K, u32>,
    of_one: impl Fn(&K) -> bool,
    other: &BTreeMap<K, u32>,
    of_other: impl Fn(&K) -> bool,
) -> f64 {
    let total = |counts: &BTreeMap<K, u32>, of: &dyn Fn(&K) -> bool| -> f64 {
        counts.iter().filter(|(key, _)| of(key)).map(|(_, count)| f64::from(*count)).sum()
    };
    let (all, all_others) = (total(one, &of_one), total(other, &of_other));
    let counted = one.iter().filter(|(key, _)| of_one(key) && of_other(key));
    let share =
        |(key, count): (&K, &u32)| Some((f64::from(*count) / all).min(f64::from(*other.get(key)?) / all_others));
    counted.filter_map(share).sum()
}
