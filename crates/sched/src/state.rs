//! What a policy sees: the machine, the threads, and which run and wait where.

use std::cell::{RefCell, RefMut};
use std::sync::Arc;

use evenkeel_model::{Cluster, ClusterId, CoreId, CoreSet, CoreTypeId, FULL_LOAD, Hz, Machine, Ns, ThreadId};

use crate::governor::Governor;
use crate::masks::{Masks, Sets};
use crate::occupancy::Occupancy;
use crate::run_queue::RunQueue;
use crate::thread::{NewThread, Run, Thread};
use crate::usage::Usages;

/// The scheduler's knowledge of the world. Policies read it; only [`crate::Scheduler`] changes it.
#[derive(Clone, Debug)]
pub struct State {
    /// The machine, its cores numbered as the operating system numbers them.
    pub machine: Machine,
    /// The time of the host's latest report.
    pub now: Ns,
    /// Every thread ever introduced, apart from those that were forgotten ([`crate::Scheduler::forget`]).
    pub threads: Vec<Thread>,
    /// Every core.
    pub cores: Vec<Core>,
    /// For each core the scheduling domains around it, smallest first: the cores that share its last-level cache, its
    /// memory node, the machine. Those that are the same cores are one.
    pub domains: Vec<Arc<[CoreSet]>>,
    /// How many cores each of these has.
    domain_sizes: Vec<[u16; LEVELS]>,
    /// The cores of each last-level cache.
    pub caches: Vec<CoreSet>,
    /// By core: the hardware threads that share its pipelines. Empty on machines whose cores have one each.
    siblings: Vec<CoreSet>,
    /// The cores of the fastest type.
    pub big: CoreSet,
    /// All other cores.
    pub little: CoreSet,
    /// How much more rarely a busy core balances than an idle one.
    pub(crate) busy_factor: u64,
    /// What decides how fast clusters run.
    pub governor: Governor,
    /// The frequency that each cluster was last set to, and what its cores can do then.
    frequencies: Vec<Hz>,
    capacities_now: Vec<u32>,
    pub(crate) occupancy: Occupancy,
    sets: Sets,
    /// Computed when it is read, whence the cell.
    usages: RefCell<Usages>,
    /// By core type.
    capacities: Vec<u32>,
    of_type: Vec<CoreSet>,
    capacity_speedup: f64,
}

/// Levels of scheduling domains, at most.
pub(crate) const LEVELS: usize = 3;

/// One core as the scheduler sees it.
#[derive(Clone, Debug, Default)]
pub struct Core {
    /// The threads that wait for it.
    pub queue: RunQueue,
    /// The thread that runs on it or has been sent there.
    pub current: Option<ThreadId>,
    /// When it last balanced in each of its domains.
    pub(crate) balanced: [Ns; LEVELS],
    /// How often in a row it balanced in vain while another cluster was overloaded.
    pub(crate) failed: u8,
}

impl State {
    pub(crate) fn new(machine: Machine, busy_factor: u64) -> Self {
        let all = machine.all();
        let highest = |cluster: &Cluster| machine.core_types[cluster.core_type.index()].max_frequency();
        // Cores of a cluster have the same domains, and share the list.
        let mut by_cluster: Vec<Option<Arc<[CoreSet]>>> = vec![None; machine.clusters.len()];
        let domains_of = |core: CoreId| {
            let known = &mut by_cluster[machine.cores[core.index()].cluster.index()];
            let domains = known.get_or_insert_with(|| {
                let mut domains = vec![machine.sharing_cache(core), machine.node_of(core), all];
                domains.dedup();
                domains.into()
            });
            Arc::clone(domains)
        };
        let domains: Vec<_> = all.iter().map(domains_of).collect();
        let size = |cores: &CoreSet| cores.len() as u16;
        let sizes = |domains: &Arc<[CoreSet]>| std::array::from_fn(|level| domains.get(level).map_or(0, size));
        let mut caches: Vec<CoreSet> = Vec::new();
        for cluster in &machine.clusters {
            let cache = cluster.cores.iter().next().map(|core| machine.sharing_cache(core)).unwrap_or_default();
            if !caches.contains(&cache) {
                caches.push(cache);
            }
        }
        Self {
            domain_sizes: domains.iter().map(sizes).collect(),
            domains,
            occupancy: Occupancy::new(&machine, &caches),
            usages: RefCell::default(),
            sets: Sets::default(),
            caches,
            now: Ns::ZERO,
            threads: Vec::new(),
            cores: vec![Core::default(); machine.cores.len()],
            siblings: match machine.siblings.is_empty() {
                true => Vec::new(),
                false => all.iter().map(|core| machine.siblings(core)).collect(),
            },
            big: machine.big(),
            little: machine.little(),
            busy_factor,
            governor: Governor::default(),
            frequencies: machine.clusters.iter().map(highest).collect(),
            capacities_now: machine.clusters.iter().map(|cluster| machine.capacity(cluster.core_type)).collect(),
            capacities: (0..machine.core_types.len() as u8).map(|id| machine.capacity(CoreTypeId(id))).collect(),
            of_type: (0..machine.core_types.len() as u8).map(|id| machine.cores_of(CoreTypeId(id))).collect(),
            capacity_speedup: {
                let smallest = CoreTypeId(machine.core_types.len() as u8 - 1);
                1024.0 / f64::from(machine.capacity(smallest))
            },
            machine,
        }
    }

    /// From now on all cores count as able to do what the biggest can. To be called before a frequency is set.
    pub(crate) fn ignore_capacities(&mut self) {
        self.capacities.fill(FULL_LOAD);
        self.capacities_now.fill(FULL_LOAD);
    }

    /// A thread.
    pub fn thread(&self, thread: ThreadId) -> &Thread {
        &self.threads[thread.index()]
    }

    pub(crate) fn introduce(&mut self, spec: &NewThread) {
        self.threads.push(Thread::new(spec, &mut self.sets, &self.machine));
    }

    /// Gives the number of a thread that is gone to a new one.
    pub(crate) fn reintroduce(&mut self, thread: ThreadId, spec: &NewThread) {
        self.threads[thread.index()] = Thread::new(spec, &mut self.sets, &self.machine);
        self.touch(thread);
    }

    /// Sets the cores that the program allows a thread, and those that the policy allows.
    pub(crate) fn allow(&mut self, thread: ThreadId, requested: CoreSet, affinity: CoreSet) {
        self.threads[thread.index()].masks = Masks::new(&mut self.sets, requested, affinity);
    }

    /// When a core last balanced in one of its domains.
    pub fn balanced(&self, core: CoreId, level: usize) -> Ns {
        self.core(core).balanced[level]
    }

    /// A core.
    pub fn core(&self, core: CoreId) -> &Core {
        &self.cores[core.index()]
    }

    /// The ids of all living threads, in their order: that of creation, where none was forgotten.
    pub fn living(&self) -> impl Iterator<Item = ThreadId> + Clone + '_ {
        let ids = (0..self.threads.len() as u32).map(ThreadId);
        ids.filter(|thread| self.thread(*thread).alive())
    }

    /// Whether a core has neither a thread nor a queue.
    pub fn idle(&self, core: CoreId) -> bool {
        self.occupancy.idle.contains(core)
    }

    /// All cores that have neither a thread nor a queue.
    pub fn idle_cores(&self) -> CoreSet {
        self.occupancy.idle
    }

    /// The hardware threads that share the pipelines of a core, itself included.
    pub(crate) fn threads_of(&self, core: CoreId) -> CoreSet {
        self.siblings.get(core.index()).copied().unwrap_or_else(|| [core].into_iter().collect())
    }

    /// Whether no other hardware thread of a core has anything to do.
    pub(crate) fn alone(&self, core: CoreId) -> bool {
        let others = self.siblings.get(core.index()).map(|threads| threads.without(core));
        others.is_none_or(|others| others.minus(self.occupancy.idle).is_empty())
    }

    /// Whether a thread is faster on an idle core than on the one where it runs: that is of a slower type, or slower as it is, beside another
    /// hardware thread.
    pub(crate) fn gains(&self, from: CoreId, to: CoreId) -> bool {
        let core_type = |core: CoreId| self.machine.cores[core.index()].core_type;
        if self.siblings.is_empty() {
            return core_type(to) < core_type(from);
        }
        let speed = |core: CoreId| {
            let running = if self.alone(core) { 1 } else { 2 };
            f64::from(self.capacity(core)) / self.machine.core_type(core).longer(running)
        };
        speed(to) > speed(from)
    }

    /// Of these idle cores those whose siblings are idle, too, or all if there is none: a thread beside another one in the same pipelines is
    /// slower than anywhere else (select_idle_core).
    pub(crate) fn whole(&self, idle: CoreSet) -> CoreSet {
        if self.siblings.is_empty() {
            return idle;
        }
        let whole: CoreSet = idle.iter().filter(|core| self.alone(*core)).collect();
        if whole.is_empty() { idle } else { whole }
    }

    /// Of these cores those that run a thread.
    pub fn busy(&self, of: CoreSet) -> impl Iterator<Item = CoreId> + '_ {
        of.minus(self.occupancy.idle).iter().filter(|core| self.core(*core).current.is_some())
    }

    /// All cores for which a thread waits.
    pub fn queued_cores(&self) -> CoreSet {
        self.occupancy.queued
    }

    /// Of these idle cores the first of each type whose capacity is right.
    pub(crate) fn idle_of(&self, idle: CoreSet, capacity: impl Fn(u32) -> bool) -> impl Iterator<Item = CoreId> {
        let types = self.of_type.iter().zip(&self.capacities).filter(move |(_, has)| capacity(**has));
        types.filter_map(move |(cores, _)| idle.and(*cores).lowest())
    }

    /// How many cores a scheduling domain around a core has.
    pub fn domain_size(&self, core: CoreId, level: usize) -> u64 {
        self.domain_sizes[core.index()][level].into()
    }

    /// The summed weight of the threads on the cores of a last-level cache.
    pub(crate) fn cache_weight(&self, cache: usize) -> u64 {
        self.occupancy.cache_weight(cache)
    }

    /// How many threads run on or wait for a core.
    pub fn occupancy(&self, core: CoreId) -> usize {
        let core = self.core(core);
        core.queue.len() + usize::from(core.current.is_some())
    }

    /// The summed weight of the threads that run on or wait for a core.
    pub fn weight(&self, core: CoreId) -> u64 {
        self.occupancy.weight(core)
    }

    /// What a core can do at its highest frequency: 1024 is the biggest core's, or every core's if the policy does not know what
    /// cores can do ([`crate::Policy::knows_capacities`]).
    pub fn capacity(&self, core: CoreId) -> u32 {
        self.capacities[self.machine.cores[core.index()].core_type.index()]
    }

    /// What a core can do at its cluster's frequency, taken as proportional to it.
    pub fn capacity_now(&self, core: CoreId) -> u32 {
        self.capacities_now[self.machine.cores[core.index()].cluster.index()]
    }

    /// The frequency that a cluster was last set to.
    pub fn frequency(&self, cluster: ClusterId) -> Hz {
        self.frequencies[cluster.index()]
    }

    /// Sets a cluster's frequency. Returns the one before.
    pub(crate) fn set_frequency(&mut self, cluster: ClusterId, frequency: Hz) -> Hz {
        let core_type = self.machine.clusters[cluster.index()].core_type;
        let (all, most) =
            (self.capacities[core_type.index()], self.machine.core_types[core_type.index()].max_frequency());
        self.capacities_now[cluster.index()] = (u64::from(all) * frequency.0 / most.0) as u32;
        std::mem::replace(&mut self.frequencies[cluster.index()], frequency)
    }

    /// How much of a core its threads use, those that were on it last and sleep included: what they used recently, or
    /// usually use if they are runnable; at most its capacity (Linux's cpu_util). `without` is not counted.
    pub fn usage(&self, core: CoreId, without: Option<ThreadId>) -> u32 {
        self.usages().of(core, without, self.capacity(core))
    }

    /// Whether some core is used to more than so many per cent of its capacity, from 1 on.
    pub fn crowded(&self, percent: u32) -> bool {
        self.usages().crowded(self, percent)
    }

    /// The cores that run a thread which they are too small for: it needs more than 80 % of their capacity.
    pub fn misfits(&self) -> CoreSet {
        self.usages().misfits
    }

    /// The usage of all cores at this moment.
    pub(crate) fn usages(&self) -> RefMut<'_, Usages> {
        let mut usages = self.usages.borrow_mut();
        usages.sync(self);
        usages
    }

    /// Something about a thread has changed that the usage of a core may depend on.
    pub(crate) fn touch(&mut self, thread: ThreadId) {
        self.usages.get_mut().touch(thread);
    }

    /// The thread that runs on a core, if it is a thread that may move to `to`.
    pub fn movable_current(&self, core: CoreId, to: CoreId) -> Option<ThreadId> {
        let movable = |thread: &ThreadId| self.thread(*thread).may_run_on(to);
        self.core(core).current.filter(movable)
    }

    /// The speedup of the biggest over the smallest core type for a thread: predicted, else that of the machine's
    /// capacities.
    pub fn speedup(&self, thread: ThreadId) -> f64 {
        self.thread(thread).speedup.unwrap_or(self.capacity_speedup)
    }

    /// How many times faster a thread progresses on a core than on the smallest core type.
    pub fn progress_rate(&self, thread: ThreadId, core: CoreId) -> f64 {
        let on = self.machine.cores[core.index()].core_type;
        let smallest = CoreTypeId(self.machine.core_types.len() as u8 - 1);
        match on {
            _ if self.little.is_empty() || on == smallest => 1.0,
            CoreTypeId(0) => self.speedup(thread).max(1.0),
            _ => f64::from(self.machine.capacity(on)) / f64::from(self.machine.capacity(smallest)),
        }
    }

    /// Notes that what runs on or waits for a core has changed. Returns whether it has just become idle.
    pub(crate) fn note(&mut self, core: CoreId) -> bool {
        let c = &self.cores[core.index()];
        let running = c.current.map_or(0, |thread| self.threads[thread.index()].weight());
        let weight = c.queue.weight() + running;
        self.occupancy.note(core, c.current.is_some(), !c.queue.is_empty(), weight)
    }

    /// Whether a thread waits for a core.
    pub fn ready(&self, thread: ThreadId) -> bool {
        self.thread(thread).run == Run::Ready
    }
}
