//! Which cores are idle or have threads waiting, and how heavy the load of each is, kept up to date with every change:
//! what a policy wants to know about all cores costs the same on many cores as on few.

use evenkeel_model::{CoreId, CoreSet, Machine};

/// What is known of all cores together.
#[derive(Clone, Debug)]
pub(crate) struct Occupancy {
    /// Cores that neither run a thread nor have one waiting.
    pub idle: CoreSet,
    /// Cores for which a thread waits.
    pub queued: CoreSet,
    /// What is on each core.
    cores: Vec<OnCore>,
    /// The weight on the cores of each last-level cache.
    cache_weights: Vec<u64>,
}

/// What is on one core.
#[derive(Clone, Copy, Debug)]
struct OnCore {
    weight: u64,
    cache: u16,
    idle: bool,
    waits: bool,
}

impl Occupancy {
    pub(crate) fn new(machine: &Machine, caches: &[CoreSet]) -> Self {
        let cache_of = |core: CoreId| caches.iter().position(|cache| cache.contains(core)).unwrap_or_default() as u16;
        Self {
            idle: machine.all(),
            queued: CoreSet::EMPTY,
            cores: machine
                .all()
                .iter()
                .map(|core| OnCore { weight: 0, cache: cache_of(core), idle: true, waits: false })
                .collect(),
            cache_weights: vec![0; caches.len()],
        }
    }

    /// Notes what is on a core now. Returns whether it has just become idle.
    #[inline]
    pub(crate) fn note(&mut self, core: CoreId, runs: bool, waits: bool, weight: u64) -> bool {
        let before = &mut self.cores[core.index()];
        let cache = &mut self.cache_weights[usize::from(before.cache)];
        *cache = *cache - before.weight + weight;
        before.weight = weight;
        if before.waits != waits {
            before.waits = waits;
            put(&mut self.queued, core, waits);
        }
        let idle = !runs && !waits;
        if before.idle == idle {
            return false;
        }
        before.idle = idle;
        put(&mut self.idle, core, idle);
        idle
    }

    /// The weight on a core.
    pub(crate) fn weight(&self, core: CoreId) -> u64 {
        self.cores[core.index()].weight
    }

    /// The last-level cache of a core, by its position in [`crate::State::caches`].
    pub(crate) fn cache_of(&self, core: CoreId) -> usize {
        self.cores[core.index()].cache.into()
    }

    /// The weight on the cores of a last-level cache.
    pub(crate) fn cache_weight(&self, cache: usize) -> u64 {
        self.cache_weights[cache]
    }
}

fn put(set: &mut CoreSet, core: CoreId, there: bool) {
    if there { set.insert(core) } else { set.remove(core) }
}
