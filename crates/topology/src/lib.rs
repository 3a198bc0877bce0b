//! What this machine is: cores and how fast each is, and what they share.
//!
//! Read from sysfs, from a saved copy of it, from hwloc's XML or from a devicetree; all become one [`Topology`].

pub mod kinds;
pub mod list;
pub mod speeds;

mod clock;
mod devicetree;
mod energy_model;
mod facts;
mod file;
mod given;
mod given_powers;
mod hwloc;
mod machine;
mod of_node;
mod power;
mod root;
mod sustained;
mod sysfs;
mod volts;

use evenkeel_model::{Hz, Watts};

pub use given_powers::POWERS;
pub use kinds::CpuType;
pub use machine::Overheads;
pub use root::{SYSFS, elsewhere, root};

/// How many times slower a slower kind of core is where nothing says it.
pub const UNKNOWN_RATIO: f64 = 2.0;

/// The CPUs of a machine, what kinds of cores they are, and what they share.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// What it was read from, for people: `sysfs`, `hwloc XML`, `devicetree`.
    pub origin: &'static str,
    /// What says the frequencies, where there are some: [`Self::origin`], or what stands in for it.
    pub clock: &'static str,
    /// What says what the CPUs use ([`Cpu::powers`]); `None` where nothing does.
    pub power: Option<&'static str>,
    /// What all CPUs together can use for long, where something says it. Where some CPUs are left out it is the others' share.
    pub sustained: Option<Sustained>,
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
    /// The frequency that it sustains while all others are busy, where the firmware says it.
    pub base: Option<Hz>,
    /// What it uses at each frequency while it is busy, ascending by frequency; none where nothing says it.
    pub powers: Vec<(Hz, Watts)>,
}

/// A power that can be used for long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sustained {
    /// How much.
    pub power: Watts,
    /// What says it: RAPL, a thermal zone.
    pub source: &'static str,
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

    /// What the fastest-clocked CPU of a kind uses at each frequency while it is busy, ascending by frequency; none where nothing says it.
    pub fn powers_of(&self, kind: usize) -> &[(Hz, Watts)] {
        let of = self.cpus.iter().filter(|cpu| cpu.kind == kind);
        of.max_by_key(|cpu| cpu.max()).map_or(&[], |cpu| &cpu.powers)
    }

    /// Whether powers and frequencies are known of all kinds, so that what they use can be compared.
    pub fn powers_known(&self) -> bool {
        let clocked = |kind: usize| self.cpus.iter().any(|cpu| cpu.kind == kind && !cpu.frequencies.is_empty());
        (0..self.kinds.len()).all(|kind| clocked(kind) && !self.powers_of(kind).is_empty())
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
