//! The energy model of energy-aware scheduling: what a thread would add to the power of each performance domain (em_cpu_energy,
//! compute_energy). A cluster is such a domain: its cores have one clock.
//!
//! Problem: at every wake-up each cluster of the machine is a candidate. Approach: what the power follows from, the usage of
//! the cluster's busiest core and of all together, is kept for each cluster and changes with few of them
//! (`usage.rs`); clusters of one core type lie side by side, and a type that cannot beat what was found is skipped. Usage
//! is in units of [`crate::FULL_LOAD`], power in watts.

use evenkeel_model::{Behaviour, ClusterId, CoreId, CoreSet, CoreTypeId, FULL_LOAD, ThreadId};

use crate::governor::fits;
use crate::state::State;
use crate::usage::Usages;

/// The performance domains of a machine, by core type.
#[derive(Debug)]
pub(crate) struct Domains {
    types: Vec<TypeClusters>,
    /// For each cluster its core type, and its place among those of that type.
    places: Vec<(usize, usize)>,
}

/// The clusters of one core type.
#[derive(Debug)]
struct TypeClusters {
    capacity: u32,
    /// For each frequency of the governor: the least usage of the busiest core at which it is chosen, the power of a core that
    /// is always busy at it, and the capacity that it has there.
    steps: Vec<(u32, f64, f64)>,
    /// The least power that a unit of usage adds, if no frequency is cheaper than a lower one.
    least_power: Option<f64>,
    clusters: Vec<ClusterId>,
    /// By cluster: the usage of all cores together, its power, the usage of the most and of the least used core.
    sums: Vec<f64>,
    powers: Vec<f64>,
    mosts: Vec<u32>,
    leasts: Vec<u32>,
    least_cores: Vec<CoreId>,
    /// By cluster: what the thread adds on the least used core.
    extras: Vec<f64>,
}

/// The frequencies that the governor chooses for cores of a type: the least usage of a cluster's busiest core at which it does,
/// and what a unit of usage costs there, in W.
pub fn steps(s: &State, core_type: CoreTypeId) -> Vec<(u32, f64)> {
    let of_type = TypeClusters::new(s, core_type.index());
    of_type.steps.iter().map(|(from, busy, there)| (*from, busy / there)).collect()
}

/// Where a thread could go: what it adds to the machine's power, the cluster and the core.
type Candidate = (f64, ClusterId, CoreId);

impl Domains {
    pub(crate) fn new(s: &State) -> Self {
        let mut types: Vec<TypeClusters> = (0..s.machine.core_types.len()).map(|id| TypeClusters::new(s, id)).collect();
        let mut places = Vec::new();
        for (id, cluster) in s.machine.clusters.iter().enumerate() {
            let of_type = &mut types[cluster.core_type.index()];
            places.push((cluster.core_type.index(), of_type.clusters.len()));
            of_type.clusters.push(ClusterId(id as u16));
            of_type.sums.push(0.0);
            of_type.powers.push(0.0);
            of_type.mosts.push(0);
            of_type.leasts.push(u32::MAX / 2);
            of_type.least_cores.push(CoreId(0));
            of_type.extras.push(0.0);
        }
        Self { types, places }
    }

    /// The core on which a thread adds the least power: where it was, or the core with the most room of some cluster, if
    /// it fits there. Among equals where it was, then the first.
    pub(crate) fn most_frugal(&mut self, s: &State, thread: ThreadId, demand: u32, allowed: CoreSet) -> Option<CoreId> {
        let usages = &mut *s.usages();
        self.update(s, usages);
        let waker = Waking { thread, demand, allowed, previous: s.thread(thread).core };
        let mut best = None;
        if !s.machine.all().minus(allowed).is_empty() {
            let clusters = (0..self.places.len() as u16).map(ClusterId);
            clusters.for_each(|cluster| self.offer_cluster(s, usages, cluster, &waker, &mut best));
            return best.map(|(_, _, core)| core);
        }
        // Its own cluster without what it used there itself, all others as they are.
        let own = s.machine.cores[waker.previous.index()].cluster;
        self.offer_cluster(s, usages, own, &waker, &mut best);
        let (own_type, own_place) = self.places[own.index()];
        for (id, of_type) in self.types.iter_mut().enumerate() {
            of_type.offer(&waker, (id == own_type).then_some(own_place), &mut best);
        }
        best.map(|(_, _, core)| core)
    }

    /// Takes over what has changed since the last wake-up.
    fn update(&mut self, s: &State, usages: &mut Usages) {
        while let Some(id) = usages.take_changed() {
            let usage = usages.cluster(s, id);
            let Some(core) = usage.least_core else { continue };
            let (core_type, place) = self.places[id.index()];
            let of_type = &mut self.types[core_type];
            of_type.sums[place] = f64::from(usage.sum);
            of_type.powers[place] = of_type.power(usage.most, f64::from(usage.sum));
            of_type.mosts[place] = usage.most;
            of_type.leasts[place] = usage.least;
            of_type.least_cores[place] = core;
        }
    }

    /// What a cluster offers to a thread that was there, or may not run on all of its cores.
    fn offer_cluster(&self, s: &State, usages: &Usages, id: ClusterId, waking: &Waking, best: &mut Option<Candidate>) {
        let cluster = &s.machine.clusters[id.index()];
        let open = cluster.cores.and(waking.allowed);
        let of_type = &self.types[self.places[id.index()].0];
        let (mut most, mut sum) = (0, 0);
        let (mut roomiest, mut previous): (Option<(u32, CoreId)>, _) = (None, None);
        for core in cluster.cores.iter() {
            let used = usages.of(core, Some(waking.thread), of_type.capacity);
            (most, sum) = (used.max(most), sum + used);
            if open.contains(core) && fits(used + waking.demand, of_type.capacity) {
                if core == waking.previous {
                    previous = Some((used, core));
                }
                if roomiest.is_none_or(|(least, _)| used < least) {
                    roomiest = Some((used, core));
                }
            }
        }
        for (used, core) in previous.into_iter().chain(roomiest) {
            let with = of_type.power(most.max(used + waking.demand), f64::from(sum + waking.demand));
            waking.consider((with - of_type.power(most, f64::from(sum)), id, core), best);
        }
    }

    /// The power of a cluster whose busiest core and all together are used so much.
    #[cfg(test)]
    pub(crate) fn power(&self, cluster: ClusterId, most: u32, sum: u32) -> f64 {
        self.types[self.places[cluster.index()].0].power(most, f64::from(sum))
    }
}

/// A thread that wakes up.
struct Waking {
    thread: ThreadId,
    demand: u32,
    allowed: CoreSet,
    previous: CoreId,
}

impl Waking {
    /// Takes a candidate if it is better: adds less power, or as much and the thread was there, or comes earlier.
    fn consider(&self, new: Candidate, best: &mut Option<Candidate>) {
        let better = |best: &Candidate| {
            let (here, was_here) = (new.2 == self.previous, best.2 == self.previous);
            new.0 < best.0 || (new.0 == best.0 && !was_here && (here || new.1 < best.1))
        };
        if best.as_ref().is_none_or(better) {
            *best = Some(new);
        }
    }
}

impl TypeClusters {
    fn new(s: &State, id: usize) -> Self {
        let (kind, id) = (&s.machine.core_types[id], CoreTypeId(id as u8));
        let capacity = s.machine.capacity(id);
        let at = |usage| kind.opp_at(s.governor.frequency(kind, usage, capacity));
        let (mut steps, mut usage) = (Vec::new(), 0);
        loop {
            let opp = at(usage);
            let busy = kind.power(opp, s.machine.rate(id, opp.frequency, &Behaviour::REFERENCE)).0;
            let there = f64::from(capacity) * opp.frequency.per_ns() / kind.max_frequency().per_ns();
            steps.push((usage, busy, there));
            // An upper bound of a core's usage and a thread's demand together.
            let (mut low, mut high) = (usage, 4 * FULL_LOAD);
            if at(high).frequency == opp.frequency {
                break;
            }
            while high - low > 1 {
                let middle = low.midpoint(high);
                if at(middle).frequency == opp.frequency { low = middle } else { high = middle }
            }
            usage = high;
        }
        let per_use = |step: &(u32, f64, f64)| step.1 / step.2;
        let rises = steps.windows(2).all(|pair| per_use(&pair[0]) <= per_use(&pair[1]));
        Self {
            capacity,
            least_power: rises.then(|| per_use(&steps[0])),
            steps,
            clusters: Vec::new(),
            sums: Vec::new(),
            powers: Vec::new(),
            mosts: Vec::new(),
            leasts: Vec::new(),
            least_cores: Vec::new(),
            extras: Vec::new(),
        }
    }

    /// The power of a cluster: that of a core which is always busy, at the frequency that the governor chooses for the one
    /// that is used most, times the share of time for which the cores are busy.
    fn power(&self, most: u32, sum: f64) -> f64 {
        let step = self.steps.iter().rev().find(|(from, _, _)| *from <= most).unwrap_or(&self.steps[0]);
        step.1 * sum / step.2
    }

    /// What the clusters offer to a thread that may run anywhere and was on none of them but `own`, which is passed over.
    fn offer(&mut self, waking: &Waking, own: Option<usize>, best: &mut Option<Candidate>) {
        let demand = f64::from(waking.demand);
        // Less a margin for rounding.
        let least = self.least_power.map_or(f64::NEG_INFINITY, |power| power * demand * (1.0 - 1e-8));
        if best.is_some_and(|(extra, _, _)| extra < least) {
            return;
        }
        // fits(), turned round.
        let Some(room) =
            (self.capacity * 80).saturating_sub(1).checked_div(100).and_then(|most| most.checked_sub(waking.demand))
        else {
            return;
        };
        if let [(_, busy, there)] = self.steps[..] {
            // One frequency: the same for all, which is worth a loop without branches.
            let clusters = self.sums.iter().zip(&self.powers).zip(&self.leasts).zip(&mut self.extras);
            for (((sum, power), least), extra) in clusters {
                let adds = busy * (sum + demand) / there - power;
                *extra = if *least <= room { adds } else { f64::INFINITY };
            }
        } else {
            for place in 0..self.clusters.len() {
                let least = self.leasts[place];
                let most = self.mosts[place].max(least + waking.demand);
                let adds = || self.power(most, self.sums[place] + demand) - self.powers[place];
                self.extras[place] = if least <= room { adds() } else { f64::INFINITY };
            }
        }
        if let Some(own) = own {
            self.extras[own] = f64::INFINITY;
        }
        let least = self.extras.iter().copied().fold(f64::INFINITY, |a, b| if b < a { b } else { a });
        if least < f64::INFINITY
            && let Some(place) = self.extras.iter().position(|extra| *extra == least)
        {
            waking.consider((least, self.clusters[place], self.least_cores[place]), best);
        }
    }
}
