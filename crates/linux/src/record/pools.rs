//! Finds work that threads share out as they run.
//!
//! Threads that take the next piece of a loop, a list of tiles or a queue of tasks whenever they have done one all end at about the
//! same time, and a thread that was on a faster core, or less often made to wait for one, has done more. Threads whose parts
//! were dealt out before end the later the slower they were. So between two points at which a team of threads meets (they
//! start, come to a barrier, exit) their amounts of work differ much more than the times that they took, or they do not
//! share it out.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use evenkeel_model::Ns;
use evenkeel_workload::recording::Step;

use super::thread::{Done, ThreadRecord};

/// Nanoseconds of the biggest core. Of less than a slice, which thread is first in the queue decides.
const SLICE: f64 = 5e6;
/// With fewer threads, times may agree by chance.
const PARTIES: usize = 3;
/// Amounts that differ less (standard deviation of the mean) may be equal parts.
pub(super) const UNEQUAL: f64 = 0.1;
/// How many times less the times differ than the amounts, at least.
const TOGETHER: f64 = 4.0;
/// A thread that waits for a larger part of the time does something else.
const WAITS: f64 = 0.1;
/// After its last piece a thread does not more than such a part.
const TAIL: f64 = 0.05;

/// What a thread did until it met others.
struct Stretch {
    thread: usize,
    /// In what it has done. The last of it ends the stretch, by what follows the work.
    done: Range<usize>,
    began: Ns,
}

impl Stretch {
    fn of<'a>(&self, threads: &'a [ThreadRecord]) -> &'a [Done] {
        &threads[self.thread].done[self.done.clone()]
    }

    /// All but the end.
    fn within<'a>(&self, threads: &'a [ThreadRecord]) -> &'a [Done] {
        self.of(threads).split_last().map_or(&[], |(_, within)| within)
    }

    /// For how long the thread did not want to run, in ns.
    fn waited(&self, threads: &[ThreadRecord]) -> f64 {
        self.within(threads).iter().map(|done| done.until.since(done.at).0 as f64).sum()
    }

    fn ended(&self, threads: &[ThreadRecord]) -> Ns {
        self.of(threads).last().map_or(self.began, |last| last.at)
    }

    /// Without its tail: what follows its first wake-up of a thread outside the team. `None` if the tail has much work.
    fn without_tail(self, team: &BTreeSet<usize>, threads: &[ThreadRecord]) -> Option<Self> {
        let done = self.of(threads);
        let wakes = |done: &Done| matches!(done.step, Some(Step::Wake(other)) if !team.contains(&(other as usize)));
        let length = done.iter().position(wakes).map_or(done.len(), |last| last + 1);
        let (own, tail) = done.split_at(length);
        (work(tail) <= TAIL * work(own)).then(|| Self { done: self.done.start..self.done.start + length, ..self })
    }
}

/// Where the stretches of a team end.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Meeting {
    /// A barrier, and how often they had been there.
    Barrier(u32, usize),
    /// Threads of a process that one thread has started exit.
    Exit { process: u32, parent: usize },
}

/// Has the threads of each team that shares out work do so in a replay. The first pool that is found gets the number `first`. What is known
/// to be shared out, or to be dealt out beside that, is left as it is.
pub(super) fn find(threads: &mut [ThreadRecord], first: u32) {
    let mut teams: BTreeMap<Meeting, Vec<Stretch>> = BTreeMap::new();
    let parents = parents(threads);
    for (thread, record) in threads.iter().enumerate() {
        stretches(thread, record, parents[thread], |meeting, stretch| {
            if record.done[stretch.done.clone()].iter().all(|done| done.pool.is_none()) {
                teams.entry(meeting).or_default().push(stretch);
            }
        });
    }
    let teams = teams.into_values().flat_map(|team| at_a_time(team, threads));
    let pools: Vec<_> = teams.filter_map(|team| sharing(team, threads)).collect();
    for (pool, team) in (first..).zip(pools) {
        for Stretch { thread, done, .. } in team {
            let last = done.end - 1;
            for position in done {
                let done = &mut threads[thread].done[position];
                done.pool = Some(pool);
                // Which others it meets there depends on which is first.
                if position < last && !matches!(done.step, Some(Step::Sleep(_))) {
                    done.step = None;
                }
            }
        }
    }
}

/// Leaves pools to those threads that did some of their work, if several did. Returns how many, by pool.
pub(super) fn keep_shared(threads: &mut [ThreadRecord]) -> BTreeMap<u32, u32> {
    let mut sharing: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
    for (thread, record) in threads.iter().enumerate() {
        for done in record.done.iter().filter(|done| done.work.time > 0.0) {
            if let Some(pool) = done.pool {
                sharing.entry(pool).or_default().insert(thread);
            }
        }
    }
    sharing.retain(|_, threads| threads.len() > 1);
    for (thread, record) in threads.iter_mut().enumerate() {
        let of_others = |pool: &u32| !sharing.get(pool).is_some_and(|threads| threads.contains(&thread));
        record
            .done
            .iter_mut()
            .filter(|done| done.pool.as_ref().is_some_and(of_others))
            .for_each(|done| done.pool = None);
    }
    sharing.into_iter().map(|(pool, threads)| (pool, threads.len() as u32)).collect()
}

/// Those that are there at the same time.
fn at_a_time(mut team: Vec<Stretch>, threads: &[ThreadRecord]) -> Vec<Vec<Stretch>> {
    team.sort_by_key(|stretch| stretch.began);
    let mut teams: Vec<Vec<Stretch>> = Vec::new();
    let mut over = Ns::ZERO;
    for stretch in team {
        let ended = stretch.ended(threads);
        match teams.last_mut().filter(|_| stretch.began < over) {
            Some(team) => {
                over = over.min(ended);
                team.push(stretch);
            }
            None => {
                over = ended;
                teams.push(vec![stretch]);
            }
        }
    }
    teams
}

/// The threads of a team that share out work in these stretches.
fn sharing(mut team: Vec<Stretch>, threads: &[ThreadRecord]) -> Option<Vec<Stretch>> {
    let began = team.iter().map(|stretch| stretch.began).min()?;
    let span = |stretch: &Stretch| stretch.ended(threads).since(began).0 as f64;
    team.retain(|stretch| stretch.waited(threads) <= WAITS * span(stretch));
    let members: BTreeSet<usize> = team.iter().map(|stretch| stretch.thread).collect();
    let without_tail = |stretch: Stretch| stretch.without_tail(&members, threads);
    let team = team.into_iter().map(without_tail).collect::<Option<Vec<_>>>()?;
    let works: Vec<f64> = team.iter().map(|stretch| work(stretch.of(threads))).collect();
    let spans: Vec<f64> = team.iter().map(span).collect();
    let long = works.iter().sum::<f64>() >= SLICE * works.len() as f64;
    let unequal = deviation(&works);
    let together = unequal >= UNEQUAL && TOGETHER * deviation(&spans) <= unequal;
    (team.len() >= PARTIES && long && together && among_themselves(&team, threads)).then_some(team)
}

/// Whether the threads of a team wait for each other only, as at the lock of a list. Then no other thread misses a
/// wake-up if they do not.
fn among_themselves(team: &[Stretch], threads: &[ThreadRecord]) -> bool {
    let mut wakes: BTreeMap<(usize, Ns), i32> = BTreeMap::new();
    for stretch in team {
        for done in stretch.within(threads) {
            match done.step {
                Some(Step::Wake(other)) => *wakes.entry((other as usize, done.until)).or_default() += 1,
                Some(Step::Wait) => *wakes.entry((stretch.thread, done.until)).or_default() -= 1,
                None | Some(Step::Sleep(_)) => {}
                Some(_) => return false,
            }
        }
    }
    wakes.values().all(|count| *count == 0)
}

/// In nanoseconds that the biggest core would have needed.
pub(super) fn work(done: &[Done]) -> f64 {
    done.iter().map(|done| done.work.time).sum()
}

/// The standard deviation, as a part of the mean.
pub(super) fn deviation(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    variance.sqrt() / mean
}

/// The thread that started each thread.
pub(super) fn parents(threads: &[ThreadRecord]) -> Vec<Option<usize>> {
    let mut parents = vec![None; threads.len()];
    for (parent, record) in threads.iter().enumerate() {
        for done in &record.done {
            if let Some(Step::Spawn(child)) = done.step {
                parents[child as usize] = Some(parent);
            }
        }
    }
    parents
}

fn stretches(thread: usize, record: &ThreadRecord, parent: Option<usize>, mut found: impl FnMut(Meeting, Stretch)) {
    let (mut from, mut began) = (0, record.born);
    let mut visits: BTreeMap<u32, usize> = BTreeMap::new();
    for (position, done) in record.done.iter().enumerate() {
        let meeting = match done.step {
            Some(Step::Barrier(barrier)) => {
                let visit = visits.entry(barrier).or_default();
                *visit += 1;
                Some(Meeting::Barrier(barrier, *visit))
            }
            Some(Step::Spawn(_)) => None,
            None if position + 1 == record.done.len() => {
                parent.map(|parent| Meeting::Exit { process: record.process, parent })
            }
            _ => continue,
        };
        if let Some(meeting) = meeting {
            found(meeting, Stretch { thread, done: from..position + 1, began });
        }
        (from, began) = (position + 1, done.until);
    }
}
