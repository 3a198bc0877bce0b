//! Finds locks: words at which threads wait for each other so that one at a time goes on.
//!
//! In another run, or under another scheduler, another thread comes first. What was recorded is who waited for whom: played as such, threads take a
//! lock in the recorded order, and a thread that comes later than it did keeps all others waiting. So where threads wait at a word and wake the next one there
//! themselves, what they do between is done under a lock in the replay.
//!
//! A lock that is free is taken without a system call, and then nothing is seen of it. Its owner wakes the one that waits longest when it gives it up, as glibc's and all other
//! futexes do: so of an owner who had to wait while others did, too, it is known for how long it had the lock. Others are taken to have it for as long in the mean. How often it was taken
//! in all follows from how often threads had to wait: one that comes finds it taken as often as others have it.
//!
//! A replay comes to its end, since who has a lock waits for nothing (`crate::recording::check` of the workload crate).

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_model::Ns;
use evenkeel_workload::recording::Step;

use super::pools::work;
use super::thread::{Done, ThreadRecord};
use super::work::Work;

/// Fewer waits than this, and fewer owners whose time is known, say too little (assumed).
const WAITS: usize = 40;
const KNOWN: usize = 4;
/// Such a part of those that wake one at a lock have waited there, too (assumed): else some fill a queue, and others take from it.
const BOTH: f64 = 0.8;
/// Such a part of the wake-ups there may be of several threads at once, and of the owners' time beside that of others (assumed): else it is a barrier, or
/// more than one has what there is.
const STRAY: f64 = 0.1;
/// Who is woken waits again at once, if another one was faster, when it has done less than such a part of what owners do (assumed).
const IN_VAIN: f64 = 0.1;
/// An owner that does more than so many times the mean until it wakes another one has given the lock up before, and taken it again (assumed).
const ONCE: f64 = 2.0;
/// Such a part of those who wake another one have not waited since they last did (assumed): else threads take turns.
const APART: f64 = 0.25;

/// Where a thread did something: the thread, and the position in what it has done.
type At = (usize, usize);

/// A wait, and the wake-up that ended it.
#[derive(Clone, Copy, Debug)]
struct Pair {
    wait: At,
    wake: At,
    /// When the wake-up was written down.
    order: u64,
}

/// All waits that another thread ended, by process and word.
#[derive(Debug)]
pub(super) struct Pairs(BTreeMap<(u32, u32), Vec<Pair>>);

impl Pairs {
    pub(super) fn of(threads: &[ThreadRecord]) -> Self {
        let all = || {
            let places =
                |(thread, record): (usize, &'_ ThreadRecord)| (0..record.done.len()).map(move |at| (thread, at));
            threads.iter().enumerate().flat_map(places).filter_map(|at| Some((at, done(threads, at)?)))
        };
        let waits: BTreeMap<u64, At> =
            all().filter(|(_, done)| done.step == Some(Step::Wait)).map(|(at, done)| (done.order, at)).collect();
        let mut pairs: BTreeMap<(u32, u32), Vec<Pair>> = BTreeMap::new();
        for (wake, done) in all().filter(|(_, done)| matches!(done.step, Some(Step::Wake(_))) && done.word != 0) {
            let Some(&wait) = waits.get(&done.order) else { continue };
            let pair = Pair { wait, wake, order: done.order };
            pairs.entry((threads[wait.0].process, done.word)).or_default().push(pair);
        }
        Self(pairs)
    }
}

/// What a thread does at a lock, at a position.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    /// Takes it, and gives it up where it wakes the next one.
    Take(u32),
    GiveUp(u32),
    /// Takes it, and has it for so much work.
    TakeFor(u32, f64),
    /// Gives it up, having had it for so much work.
    HadFor(u32, f64),
    /// Nothing: another one was faster.
    Nothing,
}

/// What an owner did that had waited, and where it woke the next one; whether it is known to have had the lock all the time.
#[derive(Clone, Copy, Debug)]
struct Had {
    work: f64,
    wake: At,
    known: bool,
}

/// A lock that was found.
struct Lock {
    pairs: Vec<Pair>,
    threads: BTreeSet<usize>,
    /// What an owner does in the mean, in nanoseconds of the biggest core.
    each: f64,
}

/// Has threads that wait for each other at a lock take it in the replay.
pub(super) fn find(threads: &mut [ThreadRecord], pairs: Pairs) {
    let locks: Vec<Lock> = pairs.0.into_values().filter_map(|pairs| Lock::of(pairs, threads)).collect();
    let mut acts: BTreeMap<At, Act> = BTreeMap::new();
    for (lock, number) in locks.iter().zip(0..) {
        acts.extend(lock.acts(number, threads));
    }
    let seen = |number: u32| {
        let taken =
            |act: &&Act| matches!(act, Act::Take(one) | Act::TakeFor(one, _) | Act::HadFor(one, _) if *one == number);
        acts.values().filter(taken).count() as f64
    };
    let unseen: Vec<f64> = locks.iter().zip(0..).map(|(lock, number)| lock.taken(threads) - seen(number)).collect();
    let owners: BTreeSet<usize> = locks.iter().flat_map(|lock| &lock.threads).copied().collect();
    for thread in owners {
        let mut steps = Steps::default();
        for (at, done) in std::mem::take(&mut threads[thread].done).into_iter().enumerate() {
            steps.push(done, acts.get(&(thread, at)).copied());
        }
        threads[thread].done = steps.finish();
    }
    for ((lock, number), unseen) in locks.iter().zip(0..).zip(unseen) {
        lock.take_unseen(number, unseen, threads);
    }
}

impl Lock {
    /// `None` if what these threads wait for is none, or one that does not matter.
    fn of(mut pairs: Vec<Pair>, threads: &[ThreadRecord]) -> Option<Self> {
        pairs.sort_by_key(|pair| pair.order);
        // What threads took from a queue stands elsewhere by now.
        let is = |at: At, order: u64, wanted: fn(&Step) -> bool| {
            let found = done(threads, at).filter(|done| done.order == order && done.pool.is_none());
            found.is_some_and(|done| done.step.as_ref().is_some_and(wanted))
        };
        let there = |pair: &Pair| {
            is(pair.wait, pair.order, |step| *step == Step::Wait)
                && is(pair.wake, pair.order, |step| matches!(step, Step::Wake(_)))
        };
        let within = |pair: &Pair| threads[pair.wait.0].process == threads[pair.wake.0].process;
        if pairs.len() < WAITS || !pairs.iter().all(|pair| there(pair) && within(pair)) {
            return None;
        }
        let waiters: BTreeSet<usize> = pairs.iter().map(|pair| pair.wait.0).collect();
        let both = pairs.iter().filter(|pair| waiters.contains(&pair.wake.0)).count();
        let until = |pair: &Pair| (pair.wake.0, threads[pair.wake.0].done[pair.wake.1].until);
        let together = pairs.windows(2).filter(|two| until(&two[0]) == until(&two[1])).count();
        let most = |part: f64| part * pairs.len() as f64;
        if (both as f64) < most(BOTH) || together as f64 > most(STRAY) {
            return None;
        }
        let mut lock = Self { threads: waiters, pairs, each: 0.0 };
        lock.threads.extend(lock.pairs.iter().map(|pair| pair.wake.0));
        lock.each = lock.mean(threads)?;
        lock.by_chance(threads).then_some(lock)
    }

    /// From the first thing that is seen of it to the last, in ns.
    fn span(&self, threads: &[ThreadRecord]) -> f64 {
        let waits = || self.pairs.iter().map(|pair| threads[pair.wait.0].done[pair.wait.1]);
        let (first, last) = (waits().map(|wait| wait.at).min(), waits().map(|wait| wait.until).max());
        last.zip(first).map_or(0.0, |(last, first)| last.since(first).0 as f64)
    }

    /// What an owner does in the mean; `None` if it cannot be told, or if several had it at a time.
    fn mean(&self, threads: &[ThreadRecord]) -> Option<f64> {
        let had: Vec<Had> = self.had(threads).into_iter().flatten().collect();
        let mut known: Vec<(f64, At)> = had.iter().filter(|had| had.known).map(|had| (had.work, had.wake)).collect();
        let mut part = 1.0;
        if known.len() < KNOWN {
            // Who waits for one that had not waited comes in the middle of what that does, if all do as much.
            let waited: BTreeSet<At> = had.iter().map(|had| had.wake).collect();
            let places = (0..self.pairs.len()).filter(|place| !waited.contains(&self.pairs[*place].wake));
            known = places.filter_map(|place| Some((self.rest(place, threads)?, self.pairs[place].wake))).collect();
            part = 0.5;
            if known.len() < KNOWN || (known.len() as f64) < APART * self.pairs.len() as f64 {
                return None;
            }
        }
        let mean = known.iter().map(|(work, _)| work).sum::<f64>() / known.len() as f64;
        (mean > 0.0 && are_one_at_a_time(&known, threads)).then_some(mean / part)
    }

    /// After each wait, what the thread did until it woke another one there; `None` where it did something else before.
    fn had(&self, threads: &[ThreadRecord]) -> Vec<Option<Had>> {
        let wakes: BTreeMap<At, usize> = self.pairs.iter().map(|pair| pair.wake).zip(0..).collect();
        let had = |pair: &Pair| {
            let (thread, wait) = pair.wait;
            let mut work = 0.0;
            for (at, done) in threads[thread].done.iter().enumerate().skip(wait + 1) {
                work += done.work.time;
                if let Some(place) = wakes.get(&(thread, at)) {
                    // If it had given it up in between, it would have woken the one that waits all the time.
                    let from = threads[thread].done[wait].until;
                    let waits =
                        |other: &Pair| other.wait.0 != thread && threads[other.wait.0].done[other.wait.1].at < from;
                    let known = self.pairs[*place..].iter().take(self.threads.len()).any(waits);
                    return Some(Had { work, wake: (thread, at), known });
                }
                if !matches!(done.step, None | Some(Step::Wake(_))) {
                    break;
                }
            }
            None
        };
        self.pairs.iter().map(had).collect()
    }

    /// What its threads do where they wait and where they wake another one.
    fn acts(&self, number: u32, threads: &[ThreadRecord]) -> BTreeMap<At, Act> {
        let waits: BTreeSet<At> = self.pairs.iter().map(|pair| pair.wait).collect();
        let mut acts = BTreeMap::new();
        for (pair, had) in self.pairs.iter().zip(self.had(threads)) {
            match had.filter(|had| had.known || had.work <= ONCE * self.each) {
                _ if self.in_vain(pair, &waits, threads) => drop(acts.insert(pair.wait, Act::Nothing)),
                Some(Had { wake, .. }) => {
                    acts.insert(pair.wait, Act::Take(number));
                    acts.insert(wake, Act::GiveUp(number));
                }
                None => drop(acts.insert(pair.wait, Act::TakeFor(number, self.each))),
            }
        }
        for place in 0..self.pairs.len() {
            let work = self.each.max(self.rest(place, threads).unwrap_or(0.0));
            acts.entry(self.pairs[place].wake).or_insert(Act::HadFor(number, work));
        }
        acts
    }

    /// What an owner did while the thread that it then woke waited, since it last did anything else; `None` if that one may have waited for others before.
    fn rest(&self, place: usize, threads: &[ThreadRecord]) -> Option<f64> {
        let Pair { wait, wake, .. } = self.pairs[place];
        let (came, woke) = (done(threads, wait)?.at, done(threads, wake)?);
        let until = |at: At| done(threads, at).map_or(Ns::ZERO, |done| done.until);
        let before = place.checked_sub(1).map_or(Ns::ZERO, |before| until(self.pairs[before].wake));
        let began = wake.1.checked_sub(1).map_or(woke.until, |before| until((wake.0, before)));
        let share = woke.until.since(came.max(began)).0 as f64 / woke.until.since(began).0.max(1) as f64;
        (before <= came).then_some(share * woke.work.time)
    }

    /// Whether another thread was faster than the one that was woken, so that this waits again at once.
    fn in_vain(&self, pair: &Pair, waits: &BTreeSet<At>, threads: &[ThreadRecord]) -> bool {
        let next = (pair.wait.0, pair.wait.1 + 1);
        waits.contains(&next) && done(threads, next).is_some_and(|next| next.work.time < IN_VAIN * self.each)
    }

    /// How often a thread came that had to wait.
    fn waited(&self, threads: &[ThreadRecord]) -> usize {
        let waits = self.pairs.iter().map(|pair| pair.wait).collect();
        self.pairs.iter().filter(|pair| !self.in_vain(pair, &waits, threads)).count()
    }

    /// Whether threads come to it at any time: those who wait for others more often than for it come when these let them.
    fn by_chance(&self, threads: &[ThreadRecord]) -> bool {
        let waits: BTreeSet<At> = self.pairs.iter().map(|pair| pair.wait).collect();
        let places =
            self.threads.iter().flat_map(|thread| (0..threads[*thread].done.len()).map(move |at| (*thread, at)));
        let meets = |at: &At| {
            !waits.contains(at)
                && matches!(done(threads, *at).and_then(|done| done.step), Some(Step::Wait | Step::Barrier(_)))
        };
        2 * places.filter(meets).count() < self.waited(threads)
    }

    /// How often it was taken: who comes finds it taken as often as others have it, which is as often as they take it, times what each then does, of all the time.
    fn taken(&self, threads: &[ThreadRecord]) -> f64 {
        let all = |value: &dyn Fn(&ThreadRecord) -> f64| {
            self.threads.iter().map(|thread| value(&threads[*thread])).sum::<f64>()
        };
        // Of a nanosecond of the biggest core.
        let longer = all(&|thread| thread.ran) / all(&|thread| work(&thread.done));
        let (others, each) = ((self.threads.len() - 1) as f64 / self.threads.len() as f64, longer * self.each);
        let most = self.span(threads) / each;
        (self.waited(threads) as f64 * most / others).sqrt().min(most)
    }

    /// Has its threads take it so often, at equal distances of what they do without a lock.
    fn take_unseen(&self, number: u32, times: f64, threads: &mut [ThreadRecord]) {
        let free: f64 = self.threads.iter().map(|thread| without_lock(&threads[*thread].done)).sum();
        if times < 1.0 || free <= 0.0 {
            return;
        }
        let every = free / times;
        for thread in &self.threads {
            let (mut steps, mut owns, mut passed) = (Steps::default(), false, 0.0);
            for done in std::mem::take(&mut threads[*thread].done) {
                let before = passed;
                if !owns && done.pool.is_none() {
                    passed += done.work.time;
                }
                owns = is_owner_after(&done, owns);
                let times = (passed / every).floor() - (before / every).floor();
                steps.split(done, number, times as u32, self.each);
            }
            threads[*thread].done = steps.done;
        }
    }
}

fn done(threads: &[ThreadRecord], (thread, at): At) -> Option<&Done> {
    threads[thread].done.get(at)
}

/// Whether owners had the lock one after the other, who did so much until they woke another one.
fn are_one_at_a_time(known: &[(f64, At)], threads: &[ThreadRecord]) -> bool {
    let ends = |(work, wake): &(f64, At)| (threads[wake.0].done[wake.1].until.0 as f64, *work);
    let mut ends: Vec<(f64, f64)> = known.iter().map(ends).collect();
    ends.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (mut all, mut beside, mut before) = (0.0, 0.0, 0.0_f64);
    for (until, work) in ends {
        all += work;
        // It had it for at least as long as the biggest core would have taken.
        beside += (before - (until - work)).clamp(0.0, work);
        before = before.max(until);
    }
    beside <= STRAY * all
}

fn is_owner_after(done: &Done, owns: bool) -> bool {
    match done.step {
        Some(Step::Lock(_)) => true,
        Some(Step::Unlock(_)) => false,
        _ => owns,
    }
}

/// What a thread does without a lock.
fn without_lock(all: &[Done]) -> f64 {
    let (mut owns, mut free) = (false, 0.0);
    for done in all {
        if !owns && done.pool.is_none() {
            free += done.work.time;
        }
        owns = is_owner_after(done, owns);
    }
    free
}

/// What a thread does, with locks.
#[derive(Default)]
struct Steps {
    done: Vec<Done>,
    /// It has a lock.
    owns: bool,
    /// The lock that it is to give up after so much work.
    for_: Option<(u32, f64)>,
}

impl Steps {
    fn push(&mut self, mut done: Done, act: Option<Act>) {
        if let Some((lock, work)) = self.for_.take() {
            self.part(&mut done, work, Step::Unlock(lock));
        }
        match act {
            None => self.done.push(done),
            Some(Act::Take(lock)) => {
                self.owns = true;
                self.done.push(Done { step: Some(Step::Lock(lock)), ..done });
            }
            Some(Act::GiveUp(lock)) => {
                self.owns = false;
                self.done.push(Done { step: Some(Step::Unlock(lock)), ..done });
            }
            Some(Act::TakeFor(lock, work)) if !self.owns => {
                self.for_ = Some((lock, work));
                self.done.push(Done { step: Some(Step::Lock(lock)), ..done });
            }
            Some(Act::HadFor(lock, work)) if !self.owns => {
                let before = (done.work.time - work).max(0.0);
                self.part(&mut done, before, Step::Lock(lock));
                self.done.push(Done { step: Some(Step::Unlock(lock)), ..done });
            }
            // Within what it does as the owner of another lock it takes none.
            Some(_) => self.done.push(Done { step: None, ..done }),
        }
    }

    fn finish(mut self) -> Vec<Done> {
        if let (Some((lock, _)), Some(last)) = (self.for_, self.done.last().copied()) {
            self.done.push(Done { work: Work::default(), step: Some(Step::Unlock(lock)), ..last });
        }
        self.done
    }

    /// The first part of some work, and what the thread does then.
    fn part(&mut self, done: &mut Done, work: f64, step: Step) {
        let share = if done.work.time > 0.0 { (work / done.work.time).clamp(0.0, 1.0) } else { 1.0 };
        self.done.push(Done { work: done.work.times(share), step: Some(step), ..*done });
        done.work = done.work.times(1.0 - share);
    }

    /// Some work, in which a thread takes a lock so often, for so much of it each time.
    fn split(&mut self, mut done: Done, lock: u32, times: u32, each: f64) {
        let stretch = done.work.time / f64::from(times.max(1));
        let each = each.min(stretch);
        for _ in 0..times {
            self.part(&mut done, stretch - each, Step::Lock(lock));
            self.part(&mut done, each, Step::Unlock(lock));
        }
        self.done.push(done);
    }
}

impl Work {
    /// A part of it.
    fn times(self, share: f64) -> Self {
        Self { time: share * self.time, uncounted: share * self.uncounted, instructions: share * self.instructions }
    }
}
