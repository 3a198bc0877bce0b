//! How much of each core is used, kept up to date with what changes instead of added up over all threads: an energy-aware
//! policy wants to know it of every core at every wake-up.
//!
//! What a thread uses changes when it runs, blocks or moves ([`Usages::touch`]), and decays while it does not run. The average
//! decays in steps, one a [`pelt::PERIOD`], at the same phase of it for as long as the thread lives. So the threads are kept in
//! the order of their phases, and time passes over them in a circle.
//!
//! Nothing is computed before it is wanted: a run under a policy and a governor that do not read usage pays for a flag.

use evenkeel_model::{ClusterId, CoreId, CoreSet, Ns, ThreadId};

use crate::governor::{below, fits};
use crate::pelt::{self, Pelt};
use crate::state::State;
use crate::thread::Run;

/// The usage of all cores.
#[derive(Clone, Debug, Default)]
pub(crate) struct Usages {
    parts: Vec<Part>,
    sums: Vec<Sum>,
    clusters: Vec<ClusterUsage>,
    /// Threads of which something may have changed.
    touched: Vec<ThreadId>,
    /// Phases with their threads, ascending.
    phases: Vec<(u64, ThreadId)>,
    /// Up to when the decay is accounted for, and when the next thread's turn is.
    synced: Ns,
    next: Ns,
    /// Cores that are used to more than so many per cent of their capacity, for the limit of the last call.
    crowded: CoreSet,
    limit: u32,
    /// Cores that run a thread which they are too small for.
    pub misfits: CoreSet,
    /// Clusters whose usage has changed since [`Usages::changed`] was emptied.
    pub changed: Vec<ClusterId>,
}

/// What one thread contributes, and to which core.
#[derive(Clone, Copy, Debug)]
struct Part {
    usage: Pelt,
    phase: u64,
    core: CoreId,
    used: u32,
    /// What it is going to need, if it is runnable.
    estimated: u32,
    touched: bool,
    /// It does not run.
    decays: bool,
    misfit: bool,
}

/// One core.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    used: u32,
    estimated: u32,
    misfits: u32,
    /// What [`State::usage`] says.
    level: u32,
}

/// The usage of a cluster's cores.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClusterUsage {
    stale: bool,
    listed: bool,
    /// Of the core that is used most, and of all together.
    pub most: u32,
    pub sum: u32,
    /// The core that is used least, the first among equals, and how much.
    pub least: u32,
    pub least_core: Option<CoreId>,
}

impl Usages {
    /// Something about a thread has changed that its usage may depend on.
    #[inline]
    pub(crate) fn touch(&mut self, thread: ThreadId) {
        if let Some(part) = self.parts.get_mut(thread.index())
            && !part.touched
        {
            part.touched = true;
            self.touched.push(thread);
        }
    }

    /// Brings everything up to the present.
    pub(crate) fn sync(&mut self, s: &State) {
        if self.sums.is_empty() {
            self.sums = vec![Sum::default(); s.cores.len()];
            self.clusters = vec![ClusterUsage { stale: true, ..ClusterUsage::default() }; s.machine.clusters.len()];
            self.changed = (0..self.clusters.len() as u16).map(ClusterId).collect();
            self.clusters.iter_mut().for_each(|cluster| cluster.listed = true);
        }
        while self.parts.len() < s.threads.len() {
            let thread = ThreadId(self.parts.len() as u32);
            self.parts.push(Part::new());
            self.phases.push((u64::MAX, thread));
            self.touched.push(thread);
        }
        if s.now >= self.next || s.now < self.synced {
            self.decay(s);
        }
        self.synced = s.now;
        while let Some(thread) = self.touched.pop() {
            self.parts[thread.index()].touched = false;
            self.update(s, thread);
        }
    }

    /// Lets the time since the last [`Self::sync`] pass.
    fn decay(&mut self, s: &State) {
        let (from, to) = (self.synced.0, s.now.0);
        if to < from || to - from >= pelt::PERIOD {
            (0..self.phases.len()).for_each(|place| self.step(s, place));
        } else {
            let (from, to) = (from % pelt::PERIOD, to % pelt::PERIOD);
            let after = |phases: &[(u64, ThreadId)], phase| phases.partition_point(|(other, _)| *other <= phase);
            let (begin, end) = (after(&self.phases, from), after(&self.phases, to));
            if from <= to {
                (begin..end).for_each(|place| self.step(s, place));
            } else {
                (begin..self.phases.len()).for_each(|place| self.step(s, place));
                (0..end).for_each(|place| self.step(s, place));
            }
        }
        self.set_next(s.now);
    }

    /// Finds the time of the next thread's turn.
    fn set_next(&mut self, now: Ns) {
        let phase = now.0 % pelt::PERIOD;
        let begin = now.0 - phase;
        let place = self.phases.partition_point(|(other, _)| *other <= phase);
        // The last ones have no phase yet.
        self.next = match (self.phases.get(place), self.phases.first()) {
            (Some((next, _)), _) if *next < pelt::PERIOD => Ns(begin + next),
            (_, Some((first, _))) if *first < pelt::PERIOD => Ns(begin + pelt::PERIOD + first),
            _ => Ns::NEVER,
        };
    }

    fn step(&mut self, s: &State, place: usize) {
        let thread = self.phases[place].1;
        let part = self.parts[thread.index()];
        if part.decays && part.used > 0 && !part.touched {
            let used = part.usage.load_at(s.now);
            if used != part.used {
                let estimated = if part.estimated > 0 { used.max(s.threads[thread.index()].estimate) } else { 0 };
                self.replace(s, thread, Part { used, estimated, ..part });
            }
        }
    }

    /// Computes a thread's part anew.
    fn update(&mut self, s: &State, thread: ThreadId) {
        let t = &s.threads[thread.index()];
        let old = self.parts[thread.index()];
        let (used, running) = (t.usage(s.now), t.run == Run::Running);
        let mut part = Part {
            usage: t.usage,
            phase: t.usage.phase(),
            core: t.core,
            used,
            estimated: if t.runnable() { used.max(t.estimate) } else { 0 },
            touched: false,
            decays: !running,
            misfit: running && !fits(t.demand(s.now), s.capacity(t.core)),
        };
        if !t.alive() {
            (part.used, part.estimated) = (0, 0);
        }
        if part.phase != old.phase {
            self.move_phase(thread, old.phase, part.phase);
            self.set_next(s.now);
        }
        self.replace(s, thread, part);
    }

    fn move_phase(&mut self, thread: ThreadId, from: u64, to: u64) {
        if let Ok(place) = self.phases.binary_search(&(from, thread)) {
            self.phases.remove(place);
        }
        let place = self.phases.partition_point(|other| *other < (to, thread));
        self.phases.insert(place, (to, thread));
    }

    /// Puts a part in place of the thread's present one.
    fn replace(&mut self, s: &State, thread: ThreadId, part: Part) {
        let old = std::mem::replace(&mut self.parts[thread.index()], part);
        let same =
            (old.core, old.used, old.estimated, old.misfit) == (part.core, part.used, part.estimated, part.misfit);
        if same {
            return;
        }
        let sum = &mut self.sums[old.core.index()];
        sum.used -= old.used;
        sum.estimated -= old.estimated;
        sum.misfits -= u32::from(old.misfit);
        let sum = &mut self.sums[part.core.index()];
        sum.used += part.used;
        sum.estimated += part.estimated;
        sum.misfits += u32::from(part.misfit);
        self.level(s, old.core);
        if part.core != old.core {
            self.level(s, part.core);
        }
    }

    /// A core's sums have changed.
    fn level(&mut self, s: &State, core: CoreId) {
        let capacity = s.capacity(core);
        let sum = &mut self.sums[core.index()];
        put(&mut self.misfits, core, sum.misfits > 0);
        let level = sum.used.max(sum.estimated).min(capacity);
        if std::mem::replace(&mut sum.level, level) == level {
            return;
        }
        put(&mut self.crowded, core, !below(level, self.limit, capacity));
        let id = s.machine.cores[core.index()].cluster;
        let cluster = &mut self.clusters[id.index()];
        cluster.stale = true;
        if !std::mem::replace(&mut cluster.listed, true) {
            self.changed.push(id);
        }
    }

    /// Whether some core is used to more than so many per cent of its capacity, from 1 on. Up to date after [`Self::sync`].
    pub(crate) fn crowded(&mut self, s: &State, percent: u32) -> bool {
        if std::mem::replace(&mut self.limit, percent) != percent {
            for core in s.machine.all().iter() {
                put(&mut self.crowded, core, !below(self.sums[core.index()].level, percent, s.capacity(core)));
            }
        }
        !self.crowded.is_empty()
    }

    /// How much of a core is used, apart from one thread. Up to date after [`Self::sync`].
    pub(crate) fn of(&self, core: CoreId, without: Option<ThreadId>, capacity: u32) -> u32 {
        let sum = &self.sums[core.index()];
        match without.map(|thread| &self.parts[thread.index()]).filter(|part| part.core == core) {
            None => sum.level,
            Some(part) => (sum.used - part.used).max(sum.estimated - part.estimated).min(capacity),
        }
    }

    /// The usage of a cluster's cores. Up to date after [`Self::sync`].
    pub(crate) fn cluster(&mut self, s: &State, id: ClusterId) -> ClusterUsage {
        let cluster = &mut self.clusters[id.index()];
        if cluster.stale {
            let fresh = ClusterUsage { listed: cluster.listed, least: u32::MAX, ..ClusterUsage::default() };
            *cluster = fresh;
            for core in s.machine.clusters[id.index()].cores.iter() {
                let level = self.sums[core.index()].level;
                cluster.most = cluster.most.max(level);
                cluster.sum += level;
                if level < cluster.least {
                    (cluster.least, cluster.least_core) = (level, Some(core));
                }
            }
        }
        *cluster
    }

    /// Takes one cluster of those that have changed.
    pub(crate) fn take_changed(&mut self) -> Option<ClusterId> {
        let cluster = self.changed.pop()?;
        self.clusters[cluster.index()].listed = false;
        Some(cluster)
    }
}

impl Part {
    /// Of a thread of which nothing is known.
    fn new() -> Self {
        Self {
            usage: Pelt::default(),
            phase: u64::MAX,
            core: CoreId(0),
            used: 0,
            estimated: 0,
            touched: true,
            decays: false,
            misfit: false,
        }
    }
}

fn put(set: &mut CoreSet, core: CoreId, there: bool) {
    if set.contains(core) != there {
        if there { set.insert(core) } else { set.remove(core) }
    }
}
