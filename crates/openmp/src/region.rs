//! The parallel regions of a program, each known by the place in the code where it begins, and the teams of threads that are in them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Instant;

use evenkeel_model::splitting::{Done, Speeds};

use crate::clock::now;
use crate::cores::Cores;
use crate::user_schedule::UserSchedule;
use crate::why::Why;

/// A region that takes less, in ns, is over before threads would have moved to other cores, and back (assumed: some twenty moves of 5 us).
const BRIEF: f64 = 100_000.0;

/// A parallel region of the program.
pub struct Region {
    /// Where it begins.
    code: usize,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// How many threads it had last: fewer than were asked for if OpenMP's library had no more.
    threads: usize,
    speeds: Speeds,
    runs: u64,
    split: u64,
    /// How long its runs last, in ns: half of it comes from the last two.
    lasts: Option<f64>,
    /// How long all those lasted that were brief, and those that were not, in ns.
    brief: u64,
    longer: u64,
}

impl Known {
    /// Before it has run with so many threads.
    fn new(cores: &Cores, threads: usize) -> Self {
        let speeds =
            cores.speeds(threads).map_or_else(Speeds::default, |speeds| Speeds::known(&speeds.collect::<Vec<_>>()));
        Self { threads, speeds, ..Self::default() }
    }

    fn lasted(&mut self, ns: u64) {
        let (new, sum) = (ns as f64, if (ns as f64) < BRIEF { &mut self.brief } else { &mut self.longer });
        self.lasts = Some(self.lasts.map_or(new, |lasts| lasts + 0.3 * (new - lasts)));
        *sum += ns;
    }
}

/// All of them, by where they begin and for how many threads, which stay for ever: as many as the program has.
static REGIONS: Mutex<BTreeMap<(usize, usize), &'static Region>> = Mutex::new(BTreeMap::new());

/// A team of threads in a region, from its beginning to its end.
pub struct Team {
    /// Which team of the process it is.
    pub serial: u64,
    region: &'static Region,
    cores: &'static Cores,
    /// How loops are split among its threads, if they are.
    pub plan: Option<Vec<u32>>,
    /// How its loops with `schedule(runtime)` are shared out, which libomp keeps for all its threads.
    pub user_schedule: Option<UserSchedule>,
    began: Instant,
    threads: AtomicUsize,
    /// What each of them did.
    done: Vec<Measured>,
}

#[derive(Default)]
struct Measured {
    trips: AtomicU64,
    ns: AtomicU64,
}

/// Waits for none: only the thread that begins regions comes here, except at the end of a process or in one that was forked in the middle.
fn lock<T>(of: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match of.try_lock() {
        Ok(guard) => Some(guard),
        // What is known is only an estimate, whatever happened.
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// The region that begins at a place in the code, for so many threads.
fn region(code: usize, cores: &Cores, threads: usize) -> Option<&'static Region> {
    let region = *lock(&REGIONS)?.entry((code, threads)).or_insert_with(|| {
        let known = Mutex::new(Known::new(cores, threads));
        Box::leak(Box::new(Region { code, known }))
    });
    Some(region)
}

impl Team {
    /// The team of a region that begins. `None` if there are more threads than cores, of which the kernel then makes the best.
    pub fn new(code: usize, cores: &'static Cores, threads: usize) -> Option<Self> {
        if threads > cores.all.len() {
            Why::MoreThreads.say();
            return None;
        }
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let region = region(code, cores, threads)?;
        let plan = lock(&region.known)?.speeds.next();
        let done = (0..cores.all.len()).map(|_| Measured::default()).collect();
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        Some(Self {
            serial,
            region,
            cores,
            plan,
            user_schedule: None,
            began: now(),
            threads: AtomicUsize::new(0),
            done,
        })
    }

    /// Whether the region is over too soon for threads to be moved to other cores. What has never run may be all that the program does.
    pub fn is_brief(&self) -> bool {
        lock(&self.region.known).and_then(|known| known.lasts).is_some_and(|ns| ns < BRIEF)
    }

    /// The region has ended, of which nothing is learnt but how long it takes.
    pub fn lasted(self) {
        if let Some(mut known) = lock(&self.region.known) {
            known.lasted(self.began.elapsed().as_nanos() as u64);
        }
    }

    /// How loops are split among so many threads: the same for all of them.
    pub fn plan(&self, threads: usize) -> Option<&[u32]> {
        self.plan.as_deref().filter(|plan| plan.len() == threads)
    }

    /// How fast the cores are on which so many threads belong. `None` if it is not known where threads are.
    pub fn speeds(&self, threads: usize) -> Option<impl Iterator<Item = f64>> {
        self.cores.speeds(threads)
    }

    /// Has this thread where it belongs: on a core of its own if loops are split by how fast that is, and anywhere else.
    pub fn settle(&self, number: usize, threads: usize) {
        match self.plan(threads) {
            Some(_) => self.cores.settle(number),
            None => self.cores.release(),
        }
    }

    /// A thread has done a part of a loop.
    pub fn add(&self, number: usize, threads: usize, done: Done) {
        self.threads.store(threads, Ordering::Relaxed);
        if let Some(of_thread) = self.done.get(number) {
            of_thread.trips.fetch_add(done.trips, Ordering::Relaxed);
            of_thread.ns.fetch_add(done.ns, Ordering::Relaxed);
        }
    }

    /// A thread has done its part of all that the team does, which is the same for each: what `number` has done in all is done by now.
    pub fn finish(&self, number: usize, threads: usize) {
        self.threads.store(threads, Ordering::Relaxed);
        if let Some(of_thread) = self.done.get(number) {
            of_thread.trips.fetch_add(1, Ordering::Relaxed);
            of_thread.ns.fetch_max(self.began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
    }

    /// The region has ended: what its threads did is learnt. They are behind its barrier, so that all of it is there.
    pub fn end(self) {
        let ns = self.began.elapsed().as_nanos() as u64;
        let threads = self.threads.load(Ordering::Relaxed).min(self.done.len());
        if threads < 2 {
            return;
        }
        let read =
            |done: &Measured| Done { trips: done.trips.load(Ordering::Relaxed), ns: done.ns.load(Ordering::Relaxed) };
        let done: Vec<Done> = self.done[..threads].iter().map(read).collect();
        let was_split = self.plan(threads).is_some();
        let Some(mut known) = lock(&self.region.known) else { return };
        if known.threads != threads {
            *known = Known::new(self.cores, threads);
        }
        known.lasted(ns);
        let in_place = was_split || self.cores.are_bound();
        known.speeds.learn(&done, ns, was_split, in_place);
        known.runs += 1;
        known.split += u64::from(was_split);
    }
}

/// Whether a program is mostly in regions that are brief, as far as it is in regions that say how long they last.
pub fn are_brief() -> bool {
    let all = lock(&REGIONS).map(|all| all.values().copied().collect::<Vec<_>>()).unwrap_or_default();
    let times = all.into_iter().filter_map(|region| lock(&region.known).map(|known| (known.brief, known.longer)));
    let (brief, longer) = times.fold((0, 0), |sum, times| (sum.0 + times.0, sum.1 + times.1));
    brief > longer
}

/// A line for each region, about what was split.
pub fn report() -> String {
    let mut text = String::new();
    let regions: Vec<&Region> = lock(&REGIONS).map(|all| all.values().copied().collect()).unwrap_or_default();
    for region in regions {
        let Some(known) = lock(&region.known) else { continue };
        // Without a static loop there was nothing to split.
        if known.runs == 0 {
            continue;
        }
        let parts: Vec<String> = known.speeds.rates().iter().map(|rate| format!("{:.0} %", rate * 100.0)).collect();
        text += &format!(
            "evenkeel: region at {:#x}: {} of {} runs split; speeds of its cores: {}\n",
            region.code,
            known.split,
            known.runs,
            parts.join(", ")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_has_different_numbers_of_threads_by_turns_is_split_for_each() {
        let cores = Cores::of(&[4.0, 3.0, 2.0, 1.0]);
        for round in 0..3 {
            for threads in [4, 2] {
                let team = Team::new(1, cores, threads).unwrap();
                assert!(team.plan(threads).is_some(), "{threads} threads, round {round}");
                for (number, core) in cores.all[..threads].iter().enumerate() {
                    team.add(number, threads, Done { trips: core.1 as u64 * 1000, ns: 1_000_000 });
                }
                team.end();
            }
        }
    }
}
