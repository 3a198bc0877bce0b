//! Teams whose library says that they share out work as they run: which pool the work of each thread is of.
//!
//! A region is shared out from the point on at which that is known: from its begin, if it consists of a loop, else from its first task on. Up to
//! its end all that its threads do is of one pool, and how they wait for each other meanwhile follows from who runs what, so that it is left
//! out. Then they meet. A loop within a region is of a pool of its own, for each thread from where it comes to the loop until no piece is left.

use std::collections::BTreeMap;

use evenkeel_model::Ns;
use evenkeel_workload::recording::Division;

/// A thread's part in a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Of all that its region shares out.
    Region(u32),
    /// Of a loop.
    Loop(u32),
}

impl Part {
    pub(super) fn pool(self) -> u32 {
        let (Self::Region(pool) | Self::Loop(pool)) = self;
        pool
    }
}

/// A parallel region that has not ended.
#[derive(Debug)]
struct Region {
    /// Which of all regions it is.
    number: u32,
    /// What is shared out, and since when.
    shares: Option<(u32, Ns)>,
    /// How often each thread has come to each loop, by where that is in the program.
    visits: BTreeMap<(usize, u32), u32>,
}

/// The pieces of a pool, as far as they are known.
#[derive(Clone, Copy, Debug)]
enum Pieces {
    Known(Division),
    /// So many tasks, and so many for each thread of the team.
    Tasks {
        count: u32,
        each: u32,
    },
}

/// All teams of a recording. Threads are positions in it.
#[derive(Debug, Default)]
pub(super) struct Teams {
    /// By master.
    regions: BTreeMap<usize, Region>,
    begun: u32,
    /// How many regions a thread has begun in another one, and not ended. They are its own, unless they start threads.
    inner: BTreeMap<usize, u32>,
    /// The master whose regions a thread takes part in: it was started in one of them.
    master_of: BTreeMap<usize, usize>,
    pools: Vec<Pieces>,
    /// The pool of each loop: by region, place and visit.
    loops: BTreeMap<(u32, u32, u32), u32>,
    /// The barrier of each team.
    barriers: BTreeMap<Vec<usize>, u32>,
}

impl Teams {
    /// The region that a thread takes part in.
    fn region_of(&mut self, thread: usize) -> Option<(usize, &mut Region)> {
        let master = if self.regions.contains_key(&thread) { thread } else { *self.master_of.get(&thread)? };
        Some((master, self.regions.get_mut(&master)?))
    }

    /// All threads of a master's regions, ascending.
    pub(super) fn team(&self, master: usize) -> Vec<usize> {
        let workers = self.master_of.iter().filter(|(_, of)| **of == master).map(|(worker, _)| *worker);
        let mut team: Vec<usize> = workers.chain([master]).collect();
        team.sort_unstable();
        team
    }

    /// A thread begins a region. Returns whether it is one of its own; the others are for it alone, or part of that.
    pub(super) fn region_begins(&mut self, thread: usize) -> bool {
        if self.region_of(thread).is_some() {
            *self.inner.entry(thread).or_default() += 1;
            return false;
        }
        self.begun += 1;
        let region = Region { number: self.begun, shares: None, visits: BTreeMap::new() };
        self.regions.insert(thread, region);
        true
    }

    /// A thread ends a region. Returns its team if it is its own, and whether all of it was shared out.
    pub(super) fn region_ends(&mut self, thread: usize) -> Option<(Vec<usize>, bool)> {
        if let Some(inner) = self.inner.get_mut(&thread).filter(|inner| **inner > 0) {
            *inner -= 1;
            return None;
        }
        let region = self.regions.remove(&thread)?;
        Some((self.team(thread), region.shares.is_some()))
    }

    /// A region is shared out from now on, in pieces that are known or will be counted. Returns the pool.
    pub(super) fn shares(&mut self, master: usize, now: Ns, division: Option<Division>) -> u32 {
        let pieces = division.map_or(Pieces::Tasks { count: 0, each: 0 }, Pieces::Known);
        let pool = self.pool(pieces);
        if let Some(region) = self.regions.get_mut(&master) {
            region.shares = Some((pool, now));
        }
        pool
    }

    /// A thread has created tasks, so many for each thread of the team or in all. Returns the master if the region is to be shared out
    /// from now on.
    pub(super) fn tasks(&mut self, thread: usize, more: u32, for_each: bool) -> Option<usize> {
        let (master, region) = self.region_of(thread)?;
        let Some((pool, _)) = region.shares else { return Some(master) };
        if let Pieces::Tasks { count, each } = &mut self.pools[pool as usize] {
            let of = if for_each { each } else { count };
            *of = of.saturating_add(more);
        }
        None
    }

    /// Whether a thread is in a region within its region, of whose loops and tasks it does all by itself.
    pub(super) fn within(&self, thread: usize) -> bool {
        self.inner.get(&thread).is_some_and(|inner| *inner > 0)
    }

    /// Whether what a thread takes part in is a region with tasks.
    pub(super) fn runs_tasks(&mut self, thread: usize) -> bool {
        let shares = self.region_of(thread).and_then(|(_, region)| region.shares);
        shares.is_some_and(|(pool, _)| matches!(self.pools[pool as usize], Pieces::Tasks { .. }))
    }

    /// A thread comes to a loop. Returns the pool.
    pub(super) fn loop_begins(&mut self, thread: usize, place: u32, division: Division) -> Option<u32> {
        let (_, region) = self.region_of(thread)?;
        let visit = region.visits.entry((thread, place)).or_default();
        *visit += 1;
        let which = (region.number, place, *visit);
        if let Some(pool) = self.loops.get(&which) {
            return Some(*pool);
        }
        let pool = self.pool(Pieces::Known(division));
        self.loops.insert(which, pool);
        Some(pool)
    }

    /// A thread was started by another. Returns its part, if what that one takes part in is shared out.
    pub(super) fn started(&mut self, thread: usize, by: usize) -> Option<Part> {
        let (master, region) = self.region_of(by)?;
        let shares = region.shares;
        self.master_of.insert(thread, master);
        shares.map(|(pool, _)| Part::Region(pool))
    }

    /// A thread is gone.
    pub(super) fn exited(&mut self, thread: usize) {
        self.master_of.remove(&thread);
        self.inner.remove(&thread);
        if self.regions.remove(&thread).is_some() {
            self.master_of.retain(|_, master| *master != thread);
        }
    }

    /// Whether one thread of a team woke another, which had waited since then, while they share out the same.
    pub(super) fn among_themselves(&self, waker: usize, waiter: usize, since: Ns) -> bool {
        let master = |thread| match self.regions.contains_key(&thread) {
            true => Some(thread),
            false => self.master_of.get(&thread).copied(),
        };
        let Some(master) = master(waker).filter(|of| master(waiter) == Some(*of)) else { return false };
        self.regions.get(&master).and_then(|region| region.shares).is_some_and(|(_, began)| began <= since)
    }

    /// The barrier at which a team meets.
    pub(super) fn barrier(&mut self, team: &[usize]) -> u32 {
        let next = self.barriers.len() as u32;
        *self.barriers.entry(team.to_vec()).or_insert(next)
    }

    /// How many barriers there are.
    pub(super) fn barriers(&self) -> u32 {
        self.barriers.len() as u32
    }

    /// How many pools there are.
    pub(super) fn count(&self) -> u32 {
        self.pools.len() as u32
    }

    /// The pieces of a pool that so many threads share; `None` if they are not known.
    pub(super) fn division(&self, pool: u32, threads: u32) -> Option<Division> {
        match *self.pools.get(pool as usize)? {
            Pieces::Known(division) => Some(Division { pieces: division.pieces.max(1), ..division }),
            Pieces::Tasks { count, each } => {
                let pieces = count.saturating_add(each.saturating_mul(threads));
                Some(Division { pieces: pieces.max(1), guided: false })
            }
        }
    }

    fn pool(&mut self, pieces: Pieces) -> u32 {
        self.pools.push(pieces);
        self.pools.len() as u32 - 1
    }
}
