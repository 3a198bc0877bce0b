//! Finds locks: words at which threads wait for each other so that one at a time goes on.
//!
//! In another run, or under another scheduler, another thread comes first. What was recorded is who waited for whom: played as
//! such, threads take a lock in the recorded order, and a thread that comes later than it did keeps all others waiting. So where
//! threads wait at a word and wake the next one there themselves, what they do between is done under a lock in the replay.
//!
//! A lock that is free is taken without a system call, and then nothing is seen of it. The owner that gives up a lock for which
//! others wait wakes one. So if an owner had to wait itself, and another thread waited all the time, what it did from the end of its
//! wait until it woke one is what it did with the lock. All others are taken to do as much in the mean. How often the lock was taken
//! in all follows from how often threads had to wait for it.
//!
//! A replay ends: a wake-up is left out only together with the wait that it ended, and a thread that has a lock only runs and wakes
//! others (`check.rs` in the workload crate refuses anything else).

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_model::Ns;
use evenkeel_workload::recording::Step;

use super::pools::work;
use super::thread::{Done, ThreadRecord};
use super::work::Work;

/// With fewer waits than these, or fewer owners of which it is known what they did, too little is known (assumed).
const WAITS: usize = 24;
const KNOWN: usize = 4;
/// At a lock, at least this share of the wake-ups come from threads that have waited there themselves (assumed). Otherwise some
/// threads fill a queue and others take from it.
const BOTH: f64 = 0.8;
/// At most this share of the wake-ups wake several threads at once, and at most this share of what owners do is done while another
/// one has the lock (assumed). Otherwise it is a barrier, or several threads may pass at a time.
const STRAY: f64 = 0.1;
/// A thread that was woken, and waits again after less than this share of what owners do, found that another one was faster (assumed).
const IN_VAIN: f64 = 0.1;
/// A thread that does more than so many times what owners do, until it wakes another one, has given the lock up and taken it again
/// (assumed).
const ONCE: f64 = 2.0;
/// In the mean a thread waits at most so many times as long as the owners of that time do something (assumed): they may wait for a core
/// themselves.
const LONGER: f64 = 4.0;
/// A lock is not taken more often for each time that a thread waits for it: so rarely waited for, it would decide nothing (assumed).
const TAKEN: f64 = 32.0;

/// Where a thread did something: the thread, and the position in what it has done.
type At = (usize, usize);

/// A wait, and the wake-up that ended it.
#[derive(Clone, Copy, Debug)]
struct Pair {
    wait: At,
    wake: At,
}

/// All waits that another thread ended, by process and word, in the order in which they ended. What threads took from queues stands
/// elsewhere, and is left in its order.
fn pairs(threads: &[ThreadRecord]) -> BTreeMap<(u32, u32), Vec<Pair>> {
    let all = || {
        let places = |(thread, record): (usize, &'_ ThreadRecord)| (0..record.done.len()).map(move |at| (thread, at));
        let all = threads.iter().enumerate().flat_map(places).filter_map(|at| Some((at, done(threads, at)?)));
        all.filter(|(_, done)| done.pool.is_none())
    };
    let waits: BTreeMap<u64, At> =
        all().filter(|(_, done)| done.step == Some(Step::Wait)).map(|(at, done)| (done.order, at)).collect();
    let mut pairs: BTreeMap<(u32, u32), Vec<(u64, Pair)>> = BTreeMap::new();
    for (wake, done) in all().filter(|(_, done)| matches!(done.step, Some(Step::Wake(_))) && done.word != 0) {
        let Some(&wait) = waits.get(&done.order) else { continue };
        let process = threads[wake.0].process;
        // In another process the same place is another word.
        if threads[wait.0].process == process {
            pairs.entry((process, done.word)).or_default().push((done.order, Pair { wait, wake }));
        }
    }
    let sorted = |(word, mut pairs): (_, Vec<(u64, Pair)>)| {
        pairs.sort_by_key(|(order, _)| *order);
        (word, pairs.into_iter().map(|(_, pair)| pair).collect())
    };
    pairs.into_iter().map(sorted).collect()
}

/// What a thread does at a lock, at a position.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    /// Takes it, and gives it up where it wakes the next one.
    Take(u32),
    GiveUp(u32),
    /// Takes it, and has it for so much work, in ns of the biggest core.
    TakeFor(u32, f64),
    /// Gives it up, having had it for so much work, in ns of the biggest core.
    HadFor(u32, f64),
    /// Nothing: another one was faster.
    Nothing,
}

/// What an owner did that had waited, in ns of the biggest core, and where it woke the next one; whether it is known to have had the
/// lock all the time.
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
pub(super) fn find(threads: &mut [ThreadRecord]) {
    let mut locks: Vec<Lock> = pairs(threads).into_values().filter_map(|pairs| Lock::of(pairs, threads)).collect();
    let elsewhere = waits_elsewhere(&locks, threads);
    locks.retain(|lock| lock.is_met_by_chance(&elsewhere, threads));
    let mut acts: BTreeMap<At, Act> = BTreeMap::new();
    for (lock, number) in locks.iter().zip(0..) {
        acts.extend(lock.acts(number, threads));
    }
    let mut seen = vec![0_usize; locks.len()];
    for act in acts.values() {
        if let Act::Take(lock) | Act::TakeFor(lock, _) | Act::HadFor(lock, _) = act {
            seen[*lock as usize] += 1;
        }
    }
    let unseen: Vec<f64> = locks.iter().zip(&seen).map(|(lock, seen)| lock.taken(threads) - *seen as f64).collect();
    let spans: Vec<(Ns, Ns)> = locks.iter().map(|lock| lock.span(threads)).collect();
    let owners: BTreeSet<usize> = locks.iter().flat_map(|lock| &lock.threads).copied().collect();
    for thread in owners {
        let mut steps = Locking::default();
        for (at, done) in std::mem::take(&mut threads[thread].done).into_iter().enumerate() {
            steps.push(done, acts.get(&(thread, at)).copied());
        }
        threads[thread].done = steps.finish();
    }
    for (number, lock) in (0..).zip(&locks) {
        lock.take_unseen(number, unseen[number as usize], spans[number as usize], threads);
    }
}

impl Lock {
    /// `None` if what these threads wait for is none, or too little is known of it.
    fn of(pairs: Vec<Pair>, threads: &[ThreadRecord]) -> Option<Self> {
        if pairs.len() < WAITS {
            return None;
        }
        let waiters: BTreeSet<usize> = pairs.iter().map(|pair| pair.wait.0).collect();
        let both = pairs.iter().filter(|pair| waiters.contains(&pair.wake.0)).count();
        let call = |pair: &Pair| (pair.wake.0, threads[pair.wake.0].done[pair.wake.1].call);
        let together = pairs.windows(2).filter(|two| call(&two[0]) == call(&two[1])).count();
        let most = |part: f64| part * pairs.len() as f64;
        if (both as f64) < most(BOTH) || together as f64 > most(STRAY) {
            return None;
        }
        let mut lock = Self { threads: waiters, pairs, each: 0.0 };
        lock.threads.extend(lock.pairs.iter().map(|pair| pair.wake.0));
        lock.each = lock.mean(threads)?;
        Some(lock)
    }

    /// From the first thing that is seen of it to the last.
    fn span(&self, threads: &[ThreadRecord]) -> (Ns, Ns) {
        let waits = || self.pairs.iter().filter_map(|pair| done(threads, pair.wait));
        let (first, last) = (waits().map(|wait| wait.at).min(), waits().map(|wait| wait.until).max());
        first.zip(last).unwrap_or_default()
    }

    /// What an owner does in the mean; `None` if it cannot be told, if several had it at a time, or if threads wait for more than owners.
    fn mean(&self, threads: &[ThreadRecord]) -> Option<f64> {
        let had = self.had(threads).into_iter().flatten().filter(|had| had.known);
        let known: Vec<(f64, At)> = had.map(|had| (had.work, had.wake)).collect();
        let mean = known.iter().map(|(work, _)| work).sum::<f64>() / known.len() as f64;
        let is_lock = known.len() >= KNOWN && are_one_at_a_time(&known, threads);
        (is_lock && mean > 0.0 && self.owners_are_waited_for(mean, threads)).then_some(mean)
    }

    /// Whether threads wait for about as long as those who had it meanwhile took, if each does so much. At a queue they wait for what comes, and who
    /// takes it wakes the others at once.
    fn owners_are_waited_for(&self, each: f64, threads: &[ThreadRecord]) -> bool {
        let until = |at: At| done(threads, at).map_or(Ns::ZERO, |done| done.until);
        let wakes: Vec<Ns> = self.pairs.iter().map(|pair| until(pair.wake)).collect();
        let (mut waited, mut owners) = (0.0, 0.0);
        for (place, pair) in self.pairs.iter().enumerate() {
            let came = done(threads, pair.wait).map_or(Ns::ZERO, |wait| wait.at);
            waited += wakes[place].since(came).0 as f64;
            owners += (place + 1 - wakes.partition_point(|wake| *wake <= came).min(place)) as f64;
        }
        waited <= LONGER * owners * self.longer(threads) * each
    }

    /// After each wait, what the thread did until it woke another one there; `None` where it did something else before.
    fn had(&self, threads: &[ThreadRecord]) -> Vec<Option<Had>> {
        let wakes: BTreeMap<At, usize> = self.pairs.iter().map(|pair| pair.wake).zip(0..).collect();
        let had = |pair: &Pair| {
            let (thread, wait) = pair.wait;
            let mut work = 0.0;
            for (at, done) in threads[thread].done.iter().enumerate().skip(wait + 1) {
                if done.pool.is_some() {
                    break;
                }
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

    /// Whether another thread was faster than the one that was woken, so that this waits again at once: not as at a queue
    /// ([`super::waits`]), where it may wait for a lock before.
    fn in_vain(&self, pair: &Pair, waits: &BTreeSet<At>, threads: &[ThreadRecord]) -> bool {
        let next = (pair.wait.0, pair.wait.1 + 1);
        waits.contains(&next) && done(threads, next).is_some_and(|next| next.work.time < IN_VAIN * self.each)
    }

    /// How often a thread came that had to wait.
    fn waited(&self, threads: &[ThreadRecord]) -> usize {
        let waits = self.pairs.iter().map(|pair| pair.wait).collect();
        self.pairs.iter().filter(|pair| !self.in_vain(pair, &waits, threads)).count()
    }

    /// Whether threads come to it at any time: those who wait for other things often come when these let them.
    fn is_met_by_chance(&self, elsewhere: &[usize], threads: &[ThreadRecord]) -> bool {
        2 * self.threads.iter().map(|thread| elsewhere[*thread]).sum::<usize>() < self.waited(threads)
    }

    /// How long its threads took for what the biggest core does in a nanosecond, in ns.
    fn longer(&self, threads: &[ThreadRecord]) -> f64 {
        let all = |value: &dyn Fn(&ThreadRecord) -> f64| {
            self.threads.iter().map(|thread| value(&threads[*thread])).sum::<f64>()
        };
        all(&|thread| thread.ran) / all(&|thread| work(&thread.done))
    }

    /// How often it was taken. A thread finds the lock taken with the probability (N - 1) / N x takes x time of each / span, which times
    /// the takes is how often a thread had to wait; solved for the takes.
    fn taken(&self, threads: &[ThreadRecord]) -> f64 {
        let others = (self.threads.len() - 1) as f64 / self.threads.len() as f64;
        let (first, last) = self.span(threads);
        let most = last.since(first).0 as f64 / (self.longer(threads) * self.each);
        let waited = self.waited(threads) as f64;
        (waited * most / others).sqrt().min(most).min(TAKEN * waited)
    }

    /// Has its threads take it so often within its span, at equal distances of what they do without a lock.
    fn take_unseen(&self, number: u32, times: f64, span: (Ns, Ns), threads: &mut [ThreadRecord]) {
        let all: f64 = self.threads.iter().flat_map(|thread| free(&threads[*thread].done, span)).sum();
        // Not a number, if nothing was done there.
        if !(times >= 1.0 && all > 0.0) {
            return;
        }
        let every = all / times;
        for thread in &self.threads {
            let own: Vec<f64> = free(&threads[*thread].done, span).collect();
            let (mut steps, mut passed) = (Locking::default(), 0.0);
            for (done, free) in std::mem::take(&mut threads[*thread].done).into_iter().zip(own) {
                let here = ((passed + free) / every).floor() - (passed / every).floor();
                passed += free;
                steps.split(done, number, here as u32, self.each);
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

/// How often each thread waits, but for locks.
fn waits_elsewhere(locks: &[Lock], threads: &[ThreadRecord]) -> Vec<usize> {
    let waits = |thread: &ThreadRecord| {
        thread.done.iter().filter(|done| matches!(done.step, Some(Step::Wait | Step::Barrier(_)))).count()
    };
    let mut all: Vec<usize> = threads.iter().map(waits).collect();
    locks.iter().flat_map(|lock| &lock.pairs).for_each(|pair| all[pair.wait.0] -= 1);
    all
}

/// Of all that a thread did, how much it was in this span and without a lock, in ns of the biggest core.
fn free(all: &[Done], (first, last): (Ns, Ns)) -> impl Iterator<Item = f64> {
    let mut owns = false;
    all.iter().map(move |done| {
        let free = !owns && done.pool.is_none() && done.until >= first && done.at <= last;
        match done.step {
            Some(Step::Lock(_)) => owns = true,
            Some(Step::Unlock(_)) => owns = false,
            _ => {}
        }
        if free { done.work.time } else { 0.0 }
    })
}

/// What a thread does, with locks.
#[derive(Default)]
struct Locking {
    done: Vec<Done>,
    /// It has a lock.
    owns: bool,
    /// The lock that it is to give up after so much work, in ns of the biggest core.
    gives_up: Option<(u32, f64)>,
}

impl Locking {
    fn push(&mut self, mut done: Done, act: Option<Act>) {
        if let Some((lock, work)) = self.gives_up.take() {
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
                self.gives_up = Some((lock, work));
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
        if let (Some((lock, _)), Some(last)) = (self.gives_up, self.done.last().copied()) {
            self.done.push(Done { work: Work::default(), step: Some(Step::Unlock(lock)), ..last });
        }
        self.done
    }

    /// The first part of some work, and what the thread does then.
    fn part(&mut self, done: &mut Done, work: f64, step: Step) {
        let share = if done.work.time > 0.0 { (work / done.work.time).clamp(0.0, 1.0) } else { 1.0 };
        self.done.push(Done { work: done.work.part(share), step: Some(step), ..*done });
        done.work = done.work.part(1.0 - share);
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
