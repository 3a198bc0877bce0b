//! Which cores are idle, busy or have threads waiting, and how heavy the load of each is, kept up to date with every change:
//! what a policy wants to know about all cores costs the same on many cores as on few.

use evenkeel_model::{CoreId, CoreSet, Machine};

/// What is known of all cores together.
#[derive(Clone, Debug)]
pub(crate) struct Occupancy {
    /// Cores that neither run a thread nor have one waiting.
    pub idle: CoreSet,
    /// Cores that run a thread.
    pub busy: CoreSet,
    /// Cores for which a thread waits.
    pub queued: CoreSet,
    /// The weight on each core.
    weights: Vec<u64>,
    /// The last-level cache of each core, and the weight on the cores of each.
    cache_of: Vec<u16>,
    cache_weights: Vec<u64>,
}

impl Occupancy {
    pub(crate) fn new(machine: &Machine, caches: &[CoreSet]) -> Self {
        let cache_of = |core: CoreId| caches.iter().position(|cache| cache.contains(core)).unwrap_or_default() as u16;
        Self {
            idle: machine.all(),
            busy: CoreSet::EMPTY,
            queued: CoreSet::EMPTY,
            weights: vec![0; machine.cores.len()],
            cache_of: machine.all().iter().map(cache_of).collect(),
            cache_weights: vec![0; caches.len()],
        }
    }

    /// Notes what is on a core now. Returns whether it has just become idle.
    pub(crate) fn note(&mut self, core: CoreId, runs: bool, waiting: usize, weight: u64) -> bool {
        let old = std::mem::replace(&mut self.weights[core.index()], weight);
        let cache = &mut self.cache_weights[usize::from(self.cache_of[core.index()])];
        *cache = *cache - old + weight;
        put(&mut self.busy, core, runs);
        put(&mut self.queued, core, waiting > 0);
        let idle = !runs && waiting == 0;
        let was_idle = self.idle.contains(core);
        put(&mut self.idle, core, idle);
        idle && !was_idle
    }

    /// The weight on a core.
    pub(crate) fn weight(&self, core: CoreId) -> u64 {
        self.weights[core.index()]
    }

    /// The last-level cache of a core, by its position in [`crate::State::caches`].
    pub(crate) fn cache_of(&self, core: CoreId) -> usize {
        self.cache_of[core.index()].into()
    }

    /// The weight on the cores of a last-level cache.
    pub(crate) fn cache_weight(&self, cache: usize) -> u64 {
        self.cache_weights[cache]
    }
}

fn put(set: &mut CoreSet, core: CoreId, there: bool) {
    if set.contains(core) != there {
        if there { set.insert(core) } else { set.remove(core) }
    }
}
