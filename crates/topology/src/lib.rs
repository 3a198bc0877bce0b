//! What this machine is: cores and how fast each is, and what they share.
//!
//! Read from sysfs, from a saved copy of it, from hwloc's XML or from a devicetree; all become one [`Topology`].

pub mod kinds;
pub mod list;

mod clock;
mod devicetree;
mod facts;
mod file;
mod given;
mod hwloc;
mod machine;
mod sysfs;

use evenkeel_model::Hz;

pub use kinds::CpuType;
pub use machine::Overheads;

/// How many times slower a slower kind of core is where nothing says it.
pub const UNKNOWN_RATIO: f64 = 2.0;

/// The CPUs of a machine, what kinds of cores they are, and what they share.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// What it was read from, for people: `sysfs`, `hwloc XML`, `devicetree`.
    pub origin: &'static str,
    /// What says the frequencies, where there are some: [`Self::origin`], or what stands in for it.
    pub clock: &'static str,
    /// The board or the processor, where it says.
    pub model: Option<String>,
    /// The CPUs that are online, ascending by their number. Never empty.
    pub cpus: Vec<Cpu>,
    /// The kinds of cores, fastest first. Never empty.
    pub kinds: Vec<CpuType>,
    /// The CPUs that share a last-level cache, or what comes nearest to it, ascending by their first CPU.
    pub clusters: Vec<Shared>,
    /// What a user should know of these facts, a sentence each: what contradicts them, what was assumed.
    pub notes: Vec<String>,
    /// What switching and moving threads was measured to cost. Nothing that can be read says that.
    pub overheads: Overheads,
}

/// A CPU as the kernel counts them: a hardware thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Cpu {
    /// Its number.
    pub id: u16,
    /// Its kind, as a position in [`Topology::kinds`].
    pub kind: usize,
    /// Its cluster, as a position in [`Topology::clusters`].
    pub cluster: usize,
    /// The CPUs of the same core, itself among them, ascending.
    pub siblings: Vec<u16>,
    /// Its memory node.
    pub node: u16,
    /// The frequencies that it can be set to, ascending; only the lowest and the highest where no more is known, and
    /// none where nothing is.
    pub frequencies: Vec<Hz>,
}

impl Cpu {
    /// The lowest frequency.
    pub fn min(&self) -> Option<Hz> {
        self.frequencies.first().copied()
    }

    /// The highest frequency.
    pub fn max(&self) -> Option<Hz> {
        self.frequencies.last().copied()
    }
}

/// CPUs that share something.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared {
    /// Their numbers, ascending.
    pub cpus: Vec<u16>,
    /// What they share, with its source: `L3 (cache/index3/shared_cpu_list)`.
    pub what: String,
    /// Whether that is a last-level cache.
    pub cache: bool,
}

impl Topology {
    /// The CPUs of a kind, ascending.
    pub fn cpus_of(&self, kind: usize) -> Vec<u16> {
        self.cpus.iter().filter(|cpu| cpu.kind == kind).map(|cpu| cpu.id).collect()
    }

    /// A CPU by its number.
    pub fn cpu(&self, id: u16) -> Option<&Cpu> {
        self.cpus.iter().find(|cpu| cpu.id == id)
    }

    /// The numbers of all CPUs, ascending.
    pub fn ids(&self) -> Vec<u16> {
        self.cpus.iter().map(|cpu| cpu.id).collect()
    }

    /// How many physical cores there are.
    pub fn cores(&self) -> usize {
        self.cpus.iter().filter(|cpu| cpu.siblings.first() == Some(&cpu.id)).count()
    }

    /// The memory nodes, ascending.
    pub fn nodes(&self) -> Vec<u16> {
        let mut nodes: Vec<u16> = self.cpus.iter().map(|cpu| cpu.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }
}

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
