//! What a machine is: core types with their operating points, clusters, cores, and what moving a thread costs.

mod bundled;
mod file;
mod part;
pub mod vary;

pub use bundled::{NoMachine, by_name, names, text};
pub use file::MachineError;

use serde::Deserialize;

use crate::{Behaviour, ClusterId, CoreId, CoreSet, CoreTypeId, Hz, Ns, Volts, Watts};

/// An asymmetric (or symmetric) multicore machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// The name that commands use, such as `2B4S`.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// The kinds of cores, fastest first: the first is "big", the last is "little".
    pub core_types: Vec<CoreType>,
    /// Groups of cores of one type that share a last-level cache and a clock.
    pub clusters: Vec<Cluster>,
    /// The cores, in the order in which the operating system numbers them.
    pub cores: Vec<Core>,
    /// Cores that are hardware threads of one and share its pipelines, each set of two or more of one type. The others have theirs alone.
    pub siblings: Vec<CoreSet>,
    /// The most that each memory node carries, in bytes a nanosecond (GB/s); `None`: whatever is wanted.
    pub memory_gbps: Option<f64>,
    /// What the operating system and the caches charge for switching and moving threads.
    pub costs: Costs,
}

/// One kind of core.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreType {
    /// Name, such as `cortex-a57`.
    pub name: String,
    /// The most instructions that this core sustains in a cycle.
    pub width: f64,
    /// The share of a program's instruction-level parallelism that the core finds: near 1 for a large
    /// out-of-order window, near 0.5 for an in-order pipeline.
    pub extract: f64,
    /// The share of memory time that the core hides behind other work (0..1).
    pub overlap: f64,
    /// Operating points from the lowest frequency up. Never empty.
    pub opps: Vec<Opp>,
    /// Switching activity `a` of `P = a IPC f V^2 + V I_leak`: watts per (instructions per ns) per V^2.
    pub activity: f64,
    /// Leakage current `I_leak`, in amperes.
    pub leakage: f64,
    /// Power of an idle core as a share of its leakage power (0..1), since idle states gate the core.
    pub idle_share: f64,
    /// How much more than one alone two hardware threads of a core get done of compute-bound code (1 to 2).
    pub smt: f64,
}

/// An operating performance point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Opp {
    /// Clock frequency.
    pub frequency: Hz,
    /// Supply voltage at that frequency.
    pub voltage: Volts,
}

/// Cores of one type that share a last-level cache, a clock and a voltage. Where cores of several types share the cache,
/// each type is a cluster of its own, with the same [`Cluster::cache`].
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// Name, such as `big`.
    pub name: String,
    /// The type of all its cores.
    pub core_type: CoreTypeId,
    /// Its cores.
    pub cores: CoreSet,
    /// The memory node that it belongs to.
    pub node: u8,
    /// Its last-level cache. Clusters with the same number share it.
    pub cache: u16,
    /// How much that cache holds, in MB (1000 kB); `None`: whatever its cores use. The same for all clusters that share it.
    pub cache_mb: Option<f64>,
    /// The most that its way to memory carries, in bytes a nanosecond (GB/s); `None`: whatever is wanted.
    pub memory_gbps: Option<f64>,
}

/// One core, as the operating system counts them: a hardware thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Core {
    /// Its type.
    pub core_type: CoreTypeId,
    /// Its cluster.
    pub cluster: ClusterId,
}

/// What the operating system and the caches charge, as time during which a core does no work of the thread's own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Switching from one thread to another.
    pub context_switch: Ns,
    /// What it takes besides if the last thread was of another program: the translations of addresses are gone.
    pub process_switch: Ns,
    /// From the wake-up of a thread until it runs on a core that was idle.
    pub wake: Ns,
    /// Taking a running thread off its core, for another core: interrupting it there and waking the other, without the switch
    /// and the caches.
    pub take: Ns,
    /// Entering the kernel to wait for another thread, or to wake one up.
    pub futex: Ns,
    /// Fetching a cache line that another core wrote last which shares the last-level cache.
    pub line_in_cluster: Ns,
    /// The same from a core with another last-level cache.
    pub line_across_clusters: Ns,
    /// Refilling private caches after a move to another core that shares the last-level cache.
    pub migrate_in_cluster: Ns,
    /// Refilling private and shared caches after a move to a core with another last-level cache.
    pub migrate_across_clusters: Ns,
    /// How many times as long memory of another node takes as a core's own.
    pub remote_memory: f64,
    /// Changing the operating point of a cluster.
    pub dvfs_transition: Ns,
    /// The period of the scheduler's tick on a busy core (1/HZ).
    pub tick: Ns,
}

/// The order in which the operating system numbers the cores (COLAB 5.1 simulates both).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoreOrder {
    /// As the machine file lists them.
    Declared,
    /// Fastest type first.
    BigFirst,
    /// Slowest type first.
    LittleFirst,
}

impl CoreOrder {
    /// Its name in files, in results and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Declared => "declared",
            Self::BigFirst => "big-first",
            Self::LittleFirst => "little-first",
        }
    }
}

impl Machine {
    /// The type of a core.
    pub fn core_type(&self, core: CoreId) -> &CoreType {
        &self.core_types[self.cores[core.index()].core_type.index()]
    }

    /// Every core.
    pub fn all(&self) -> CoreSet {
        CoreSet::first(self.cores.len())
    }

    /// How many memory nodes there are.
    pub fn nodes(&self) -> usize {
        let mut nodes: Vec<u8> = self.clusters.iter().map(|cluster| cluster.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes.len()
    }

    /// The time of a memory access, relative to the core's own node, where memory is interleaved over all nodes.
    pub fn interleaved_memory(&self) -> f64 {
        let nodes = self.nodes() as f64;
        (1.0 + (nodes - 1.0) * self.costs.remote_memory) / nodes
    }

    /// The cores of the memory node that a core belongs to.
    pub fn node_of(&self, core: CoreId) -> CoreSet {
        let node = self.clusters[self.cores[core.index()].cluster.index()].node;
        let clusters = self.clusters.iter().filter(|cluster| cluster.node == node);
        clusters.fold(CoreSet::EMPTY, |cores, cluster| cores.or(cluster.cores))
    }

    /// The cores of one type.
    pub fn cores_of(&self, core_type: CoreTypeId) -> CoreSet {
        let ids = (0..self.cores.len() as u16).map(CoreId);
        ids.filter(|core| self.cores[core.index()].core_type == core_type).collect()
    }

    /// A core of a type: `near`, if it is of that type, else the first.
    pub fn core_of(&self, core_type: CoreTypeId, near: Option<CoreId>) -> Option<CoreId> {
        let of_type = |core: CoreId| self.cores.get(core.index()).is_some_and(|one| one.core_type == core_type);
        near.filter(|core| of_type(*core)).or_else(|| self.all().iter().find(|core| of_type(*core)))
    }

    /// The cores of the fastest type.
    pub fn big(&self) -> CoreSet {
        self.cores_of(CoreTypeId(0))
    }

    /// The cores of every other type; empty on a symmetric machine.
    pub fn little(&self) -> CoreSet {
        self.all().minus(self.big())
    }

    /// The cores that share a last-level cache with one, itself included.
    pub fn sharing_cache(&self, core: CoreId) -> CoreSet {
        let cache = |core: &CoreId| self.clusters[self.cores[core.index()].cluster.index()].cache;
        self.all().iter().filter(|other| cache(other) == cache(&core)).collect()
    }

    /// The hardware threads that share the pipelines of a core, itself included.
    pub fn siblings(&self, core: CoreId) -> CoreSet {
        let own = || [core].into_iter().collect();
        self.siblings.iter().copied().find(|threads| threads.contains(core)).unwrap_or_else(own)
    }

    /// The most hardware threads that a core has.
    pub fn threads_of_a_core(&self) -> usize {
        self.siblings.iter().map(CoreSet::len).max().unwrap_or(1)
    }

    /// How fast a core of this type retires instructions at a frequency, in instructions per nanosecond:
    /// `1 / ((CPI + starved cycles) / f + memory time)`, where out-of-order cores hide a part of the memory time.
    pub fn rate(&self, core_type: CoreTypeId, frequency: Hz, behaviour: &Behaviour) -> f64 {
        self.rate_beside(core_type, frequency, behaviour, 1.0)
    }

    /// The same where others take their turns in the core's pipelines, so that what is not memory time takes so many times as long. While one
    /// thread waits for memory, the others go on: so code that waits much loses little.
    pub fn rate_beside(&self, core_type: CoreTypeId, frequency: Hz, behaviour: &Behaviour, longer: f64) -> f64 {
        let core = &self.core_types[core_type.index()];
        let ipc = (behaviour.ilp * core.extract).min(core.width);
        let compute = 1.0 / (ipc * frequency.per_ns());
        let starved = behaviour.starved / 1000.0 / frequency.per_ns();
        1.0 / ((compute + starved) * longer + core.stall(behaviour))
    }

    /// How many times faster `behaviour` runs on the biggest core type than on `core_type`, both at their highest
    /// frequency.
    pub fn speedup_over(&self, core_type: CoreTypeId, behaviour: &Behaviour) -> f64 {
        let rate = |id: CoreTypeId| self.rate(id, self.core_types[id.index()].max_frequency(), behaviour);
        rate(CoreTypeId(0)) / rate(core_type)
    }

    /// How fast all cores together, at their highest frequencies, retire instructions of code like this, in instructions per
    /// nanosecond.
    pub fn throughput(&self, behaviour: &Behaviour) -> f64 {
        let rate = |core: CoreId| {
            let (id, threads) = (self.cores[core.index()].core_type, self.siblings(core).len());
            let core_type = self.core_type(core);
            self.rate_beside(id, core_type.max_frequency(), behaviour, core_type.longer(threads))
        };
        self.all().iter().map(rate).sum()
    }

    /// The capacity of a core type as Linux counts it: 1024 is the biggest core at its highest frequency, measured
    /// with compute-bound code. None has none.
    pub fn capacity(&self, core_type: CoreTypeId) -> u32 {
        ((1024.0 / self.speedup_over(core_type, &Behaviour::REFERENCE)).round() as u32).max(1)
    }

    /// The machine without its name and its description: machines that differ in these only are one.
    #[must_use]
    pub fn unnamed(&self) -> Self {
        Self { name: String::new(), description: String::new(), ..self.clone() }
    }

    /// The same machine with its cores numbered in another order.
    #[must_use]
    pub fn ordered(&self, order: CoreOrder) -> Self {
        let mut cores: Vec<CoreId> = (0..self.cores.len() as u16).map(CoreId).collect();
        match order {
            CoreOrder::Declared => {}
            CoreOrder::BigFirst => cores.sort_by_key(|core| self.cores[core.index()].core_type),
            CoreOrder::LittleFirst => {
                cores.sort_by_key(|core| std::cmp::Reverse(self.cores[core.index()].core_type));
            }
        }
        let mut machine = self.clone();
        machine.cores = cores.iter().map(|core| self.cores[core.index()]).collect();
        machine.siblings = self.siblings.iter().map(|threads| renumbered(threads, &cores)).collect();
        for (id, cluster) in machine.clusters.iter_mut().enumerate() {
            let ids = (0..machine.cores.len() as u16).map(CoreId);
            cluster.cores = ids.filter(|core| machine.cores[core.index()].cluster.index() == id).collect();
        }
        machine
    }

    /// A symmetric machine with as many cores as this one, all of one type, in one cluster, and hardware threads as cores of their own: the baseline of the
    /// heterogeneous metrics (COLAB 5.1) and the two machines that `train` runs on (COLAB 4.1).
    #[must_use]
    pub fn symmetric(&self, core_type: CoreTypeId) -> Self {
        let count = self.cores.len();
        let kind = self.core_types[core_type.index()].clone();
        let core = Core { core_type: CoreTypeId(0), cluster: ClusterId(0) };
        let cluster = Cluster {
            name: kind.name.clone(),
            core_type: CoreTypeId(0),
            cores: CoreSet::first(count),
            node: 0,
            cache: 0,
            cache_mb: None,
            memory_gbps: None,
        };
        Self {
            name: format!("{}x{}", count, kind.name),
            description: format!("{} with only {} cores", self.name, kind.name),
            core_types: vec![kind],
            clusters: vec![cluster],
            cores: vec![core; count],
            siblings: Vec::new(),
            memory_gbps: self.memory_gbps,
            costs: self.costs,
        }
    }
}

/// Those of some cores that stay, by the numbers that they get: their positions in `staying`.
fn renumbered(cores: &CoreSet, staying: &[CoreId]) -> CoreSet {
    (0..).map(CoreId).zip(staying).filter(|(_, old)| cores.contains(**old)).map(|(new, _)| new).collect()
}

impl CoreType {
    /// The operating point with the highest frequency: a machine's validation leaves at least one, in ascending order.
    pub fn highest_opp(&self) -> Opp {
        self.opps[self.opps.len() - 1]
    }

    /// The highest frequency.
    pub fn max_frequency(&self) -> Hz {
        self.highest_opp().frequency
    }

    /// The lowest operating point that is no slower than a frequency, or the highest.
    pub fn opp_at(&self, frequency: Hz) -> Opp {
        let fast_enough = self.opps.iter().find(|opp| opp.frequency >= frequency).copied();
        fast_enough.unwrap_or_else(|| self.highest_opp())
    }

    /// For how long memory keeps a core of this type, in ns an instruction: what it does not hide.
    pub fn stall(&self, behaviour: &Behaviour) -> f64 {
        behaviour.memory_ns / 1000.0 * (1.0 - self.overlap)
    }

    /// How many times as long as alone code takes in the pipelines of a core while so many of its hardware threads run. Each further one adds
    /// less (assumed): the third half of what the second added, the fourth a third of it.
    pub fn longer(&self, running: usize) -> f64 {
        let more: f64 = (1..running).map(|place| (self.smt - 1.0) / place as f64).sum();
        running.max(1) as f64 / (1.0 + more)
    }

    /// The power of a core that retires so many instructions per ns: `P = a IPC f V^2 + V I_leak`.
    pub fn power(&self, opp: Opp, rate: f64) -> Watts {
        let volts = opp.voltage.0;
        Watts(self.activity * rate * volts * volts + volts * self.leakage)
    }
}
