//! What a description of a machine says about its CPUs, whatever its format, and the topology that follows.

use evenkeel_model::Hz;

use crate::kinds::{self, Source};
use crate::power::{CpuPowers, plausible};
use crate::{Cpu, Overheads, Shared, Sustained, Topology};

/// A favoured core's ranking or turbo frequency is up to a seventh above that of its kind (Turbo Boost Max 3.0 of the
/// i7-6950X: 4.0 over 3.5 GHz); cores of different kinds are a fifth apart or more.
pub(crate) const FAVOURED: f64 = 1.15;
/// Capacities are the same within a kind, except that bins of one chip differ by a few percent (RK3588: 2.25 to 2.4 GHz).
pub(crate) const BINNED: f64 = 1.1;

/// What a description says.
pub(crate) struct Facts {
    /// See [`Topology::origin`].
    pub origin: &'static str,
    /// See [`Topology::clock`].
    pub clock: &'static str,
    /// See [`Topology::model`].
    pub model: Option<String>,
    /// The CPUs, ascending by number, each once, at least one.
    pub cpus: Vec<CpuFacts>,
    /// See [`Topology::power`].
    pub power: Option<&'static str>,
    /// See [`Topology::sustained`].
    pub sustained: Option<Sustained>,
    /// What says how fast they are, the most precise first.
    pub sources: Vec<Source>,
    /// The designs of cores.
    pub designs: Vec<Design>,
    /// Sentences for the user.
    pub notes: Vec<String>,
}

/// What it says about one CPU. Lists may have CPUs that do not exist.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuFacts {
    /// Its number.
    pub id: u16,
    /// The CPUs of its core; none if nothing is known.
    pub threads: Vec<u16>,
    /// Its memory node.
    pub node: u16,
    /// Frequencies, in any order.
    pub frequencies: Vec<Hz>,
    /// See [`Cpu::base`].
    pub base: Option<Hz>,
    /// Frequencies and what it uses at them, in any order.
    pub powers: CpuPowers,
    /// With which CPUs it shares its last-level cache.
    pub cache: Option<Shared>,
    /// With which it is in a cluster.
    pub cluster: Option<Shared>,
    /// With which it is in a package.
    pub package: Option<Shared>,
}

/// A design of cores, and the CPUs that are of it.
pub(crate) struct Design {
    pub name: String,
    pub cpus: Vec<u16>,
}

impl Facts {
    /// The topology.
    pub fn topology(self) -> Topology {
        let ids: Vec<u16> = self.cpus.iter().map(|cpu| cpu.id).collect();
        let found = kinds::find(ids.len(), &self.sources);
        let mut kinds = found.kinds;
        for (position, kind) in kinds.iter_mut().enumerate() {
            kind.design = self.design(&found.kind_of, position);
        }
        let (cluster_of, clusters) = partition(&ids, &self.shared());
        let cpu = |(position, facts): (usize, &CpuFacts)| {
            let frequencies = ascending(&facts.frequencies);
            let highest = frequencies.last().copied();
            Cpu {
                id: facts.id,
                kind: found.kind_of[position],
                cluster: cluster_of[position],
                siblings: ids.iter().copied().filter(|id| *id == facts.id || facts.threads.contains(id)).collect(),
                node: facts.node,
                base: facts.base.filter(|base| highest.is_some_and(|highest| *base <= highest)),
                powers: plausible(&facts.powers, highest),
                frequencies,
            }
        };
        let cpus: Vec<Cpu> = self.cpus.iter().enumerate().map(cpu).collect();
        let mut notes = found.notes;
        notes.extend(self.notes);
        notes.extend(smt(&cpus));
        Topology {
            origin: self.origin,
            clock: self.clock,
            power: self.power.filter(|_| cpus.iter().any(|cpu| !cpu.powers.is_empty())),
            sustained: self.sustained,
            model: self.model,
            cpus,
            kinds,
            clusters,
            notes,
            overheads: Overheads::default(),
        }
    }

    /// The design of a kind: one that all its CPUs are of, and none of another kind.
    fn design(&self, kind_of: &[usize], kind: usize) -> Option<String> {
        let fits = |design: &&Design| {
            let mut cpus = self.cpus.iter().zip(kind_of);
            cpus.all(|(cpu, of)| (*of == kind) == design.cpus.contains(&cpu.id))
        };
        self.designs.iter().find(fits).map(|design| design.name.clone())
    }

    /// The CPUs with which each shares a last-level cache; else its cluster; else its package.
    fn shared(&self) -> Vec<Shared> {
        let of = |one: fn(&CpuFacts) -> &Option<Shared>| {
            self.cpus.iter().map(|cpu| one(cpu).clone()).collect::<Option<Vec<Shared>>>()
        };
        let (caches, clusters) = (of(|cpu| &cpu.cache), of(|cpu| &cpu.cluster));
        // A cache or cluster of one core says nothing about groups of cores, as where no cache above a private L2 is
        // listed, unless there is only one core.
        let alone = self.cpus.iter().all(|cpu| self.cpus[0].threads.contains(&cpu.id)) || self.cpus.len() == 1;
        let beyond = |(shared, cpu): (&Shared, &CpuFacts)| {
            shared.cpus.iter().any(|id| *id != cpu.id && !cpu.threads.contains(id))
        };
        let some = |sets: &Vec<Shared>| sets.iter().zip(&self.cpus).any(beyond);
        let all = |sets: &Vec<Shared>| alone || sets.iter().zip(&self.cpus).all(beyond);
        let assumed = || {
            let cpus = self.cpus.iter().map(|cpu| cpu.id).collect();
            let shared = Shared { cpus, what: "assumed: nothing says what the cores share".into(), cache: false };
            vec![shared; self.cpus.len()]
        };
        let shared = caches.clone().filter(all).or_else(|| clusters.filter(some)).or_else(|| caches.filter(some));
        shared.or_else(|| of(|cpu| &cpu.package)).unwrap_or_else(assumed)
    }
}

/// How the note of [`smt`] begins.
pub(crate) const SMT: &str = "SMT: ";

/// A note on the CPUs that share their cores, if some do.
pub(crate) fn smt(cpus: &[Cpu]) -> Option<String> {
    let sharing = cpus.iter().filter(|cpu| cpu.siblings.len() > 1).count();
    let note = || {
        format!(
            "{SMT}{sharing} CPUs share their cores with others; two busy ones of a core get less than twice the work done"
        )
    };
    (sharing > 0).then(note)
}

/// Frequencies that can be, ascending, each once.
fn ascending(frequencies: &[Hz]) -> Vec<Hz> {
    let plausible = |hz: &Hz| (1_000_000..=20_000_000_000).contains(&hz.0);
    let mut frequencies: Vec<Hz> = frequencies.iter().copied().filter(plausible).collect();
    frequencies.sort_unstable();
    frequencies.dedup();
    frequencies
}

/// The position of the set that each CPU is in, and the sets, ascending by their first CPU. `with` has for each CPU those
/// that it shares something with, whether they are there or not.
fn partition(ids: &[u16], with: &[Shared]) -> (Vec<usize>, Vec<Shared>) {
    let mut sets: Vec<Shared> = Vec::new();
    let mut member: Vec<Option<usize>> = vec![None; ids.len()];
    for (position, (id, shared)) in ids.iter().zip(with).enumerate() {
        if member[position].is_some() {
            continue;
        }
        // A CPU that another set has already stays there: the kernel's lists are symmetric, a broken copy may not be.
        let mut cpus = Vec::new();
        for (other, member) in ids.iter().zip(&mut member) {
            if member.is_none() && (other == id || shared.cpus.contains(other)) {
                *member = Some(sets.len());
                cpus.push(*other);
            }
        }
        sets.push(Shared { cpus, ..shared.clone() });
    }
    (member.into_iter().flatten().collect(), sets)
}
