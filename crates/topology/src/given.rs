//! What a user says about the cores: `--big 0-3 --little 4-7 --ratio 3`, or `--big 4c:big,2c:little`.

use evenkeel_model::Watts;

use crate::kinds::{CpuType, KINDS_SAY_IT, RATIO_SAYS_IT, of_capacities};
use crate::{Cpu, Shared, Sustained, Topology, UNKNOWN_RATIO, facts, list};

impl Topology {
    /// The same machine with other kinds, or less of it.
    ///
    /// `big` and `little` are lists of CPUs, such as `0-3,6`; without one of them it is what the other leaves. `big` may
    /// also count cores of the kinds that there are, such as `4c:big,2c:little`: the machine then has only those. On a
    /// machine whose cores are all equal that makes two kinds, counted from the lowest CPU up. `ratio` says how many
    /// times faster a big core is than a little one.
    ///
    /// # Errors
    /// A list that cannot be read, a CPU that is not there or in both lists, more cores than there are, a ratio that
    /// cannot be, or nothing left to be big.
    pub fn with(&self, big: Option<&str>, little: Option<&str>, ratio: Option<f64>) -> Result<Self, String> {
        if let Some(ratio) = ratio.filter(|ratio| !(1.0..=100.0).contains(ratio)) {
            return Err(format!(
                "--ratio {} is not within 1 to 100; expected how many times faster a big core is",
                evenkeel_model::words::number(ratio)
            ));
        }
        match (big, little) {
            (None, None) => self.with_ratio(ratio),
            (Some(counts), None) if counts.contains('c') => self.counted(counts)?.with_ratio(ratio),
            (Some(counts), Some(_)) if counts.contains('c') => {
                Err(format!("--big {counts}: it counts cores of every kind, so there must be no --little"))
            }
            _ => self.listed(big, little, ratio),
        }
    }

    /// The machine without the CPUs that are not among these, such as the ones that a container or `taskset` leaves.
    pub fn within(&self, cpus: &[u16]) -> Self {
        self.only(|cpu| cpus.contains(&cpu.id).then_some(cpu.kind), self.kinds.clone())
    }

    /// Two kinds by lists of CPUs.
    fn listed(&self, big: Option<&str>, little: Option<&str>, ratio: Option<f64>) -> Result<Self, String> {
        let all = self.ids();
        let given = |text: Option<&str>, option: &str| {
            let Some(text) = text else { return Ok(None) };
            let cpus = list::parse(text).map_err(|error| format!("{option}: {error}"))?;
            match cpus.iter().find(|cpu| !all.contains(cpu)) {
                Some(absent) => {
                    Err(format!("{option}: there is no CPU {absent}; this machine has {}", list::text(&all)))
                }
                None => Ok(Some(cpus)),
            }
        };
        let rest = |taken: &[u16]| all.iter().copied().filter(|cpu| !taken.contains(cpu)).collect::<Vec<_>>();
        let (big, little) = match (given(big, "--big")?, given(little, "--little")?) {
            (Some(big), Some(little)) => (big, little),
            (Some(big), None) => (big.clone(), rest(&big)),
            (None, little) => {
                let little = little.unwrap_or_default();
                (rest(&little), little)
            }
        };
        if let Some(both) = big.iter().find(|cpu| little.contains(cpu)) {
            return Err(format!("CPU {both} is both in --big and in --little"));
        }
        if big.is_empty() {
            let why = if little.is_empty() {
                "--big is empty".into()
            } else {
                format!("--little has {}", list::text(&little))
            };
            return Err(format!("no core is big: {why}, and this machine has {}", list::text(&all)));
        }
        if let Some(ratio) = ratio.filter(|_| little.is_empty()) {
            return Err(format!("--ratio {ratio}: there is no little core, so there is nothing to be faster than"));
        }
        let kinds = self.two_kinds(&big, &little, ratio);
        let kind_of = |cpu: &Cpu| match (big.contains(&cpu.id), little.contains(&cpu.id)) {
            (true, _) => Some(0),
            (_, true) => Some(1),
            _ => None,
        };
        let topology = self.only(kind_of, kinds).without_notes(KINDS_SAY_IT);
        Ok(if ratio.is_some() { topology.without_notes(RATIO_SAYS_IT) } else { topology })
    }

    /// The same without the notes that end so, since what they say is assumed has been stated.
    fn without_notes(mut self, end: &str) -> Self {
        self.notes.retain(|note| !note.ends_with(end));
        self
    }

    /// The kinds of two lists: as far apart as was said, else as they were found to be, else as far as is assumed.
    fn two_kinds(&self, big: &[u16], little: &[u16], ratio: Option<f64>) -> Vec<CpuType> {
        if little.is_empty() {
            return of_capacities(&[1.0], &["given: --big".into()]);
        }
        let mean = |cpus: &[u16]| {
            let capacity = |id: &u16| self.cpu(*id).map_or(0.0, |cpu| f64::from(self.kinds[cpu.kind].capacity));
            cpus.iter().map(capacity).sum::<f64>() / cpus.len() as f64
        };
        let found = mean(big) / mean(little);
        let (ratio, source) = match ratio {
            Some(ratio) => (ratio, "given: --ratio".to_owned()),
            None if found > 1.01 => (found, format!("{}: mean of the CPUs", self.kinds[0].source)),
            None => (UNKNOWN_RATIO, format!("assumed: {UNKNOWN_RATIO} times slower {RATIO_SAYS_IT}")),
        };
        of_capacities(&[1.0, 1.0 / ratio], &["given: --big, --little".into(), source])
    }

    /// Another ratio between the two kinds.
    fn with_ratio(&self, ratio: Option<f64>) -> Result<Self, String> {
        let Some(ratio) = ratio else { return Ok(self.clone()) };
        if self.kinds.len() != 2 {
            return Err(format!(
                "--ratio {ratio}: this machine has {} kinds of cores, and a ratio is of two; --big and --little say \
                 which cores are fast",
                self.kinds.len()
            ));
        }
        let mut topology = self.clone();
        let source = ["given: --ratio".into(), "given: --ratio".into()];
        for (kind, given) in topology.kinds.iter_mut().zip(of_capacities(&[1.0, 1.0 / ratio], &source)) {
            (kind.capacity, kind.source) = (given.capacity, given.source);
        }
        Ok(topology.without_notes(RATIO_SAYS_IT))
    }

    /// The cores that `4c:big,2c:little` counts.
    fn counted(&self, text: &str) -> Result<Self, String> {
        let expected = |part: &str| {
            format!(
                "--big {text}: {part:?} is no count of cores; expected 4c:big,2c:little, for example, or a list of CPUs"
            )
        };
        let symmetric = self.kinds.len() == 1;
        let names: Vec<String> = match symmetric {
            true => vec!["big".into(), "little".into()],
            false => self.kinds.iter().map(|kind| kind.name.clone()).collect(),
        };
        let mut taken: Vec<(u16, usize)> = Vec::new();
        for part in text.split(',') {
            let (count, name) = part.trim().split_once("c:").ok_or_else(|| expected(part))?;
            let count: usize = count.parse().ok().filter(|count| *count > 0).ok_or_else(|| expected(part))?;
            let named = |kind: &CpuType| kind.design.as_deref() == Some(name);
            let kind = names.iter().position(|other| other == name).or_else(|| self.kinds.iter().position(named));
            let kind = kind.ok_or_else(|| {
                format!("--big {text}: there is no kind of core {name:?}; this machine has {}", names.join(", "))
            })?;
            let free = |cpu: &&Cpu| {
                let first = cpu.siblings.first().is_none_or(|first| *first == cpu.id);
                first && (symmetric || cpu.kind == kind) && !taken.iter().any(|(id, _)| *id == cpu.id)
            };
            let cores: Vec<&Cpu> = self.cpus.iter().filter(free).take(count).collect();
            if cores.len() < count {
                return Err(format!("--big {text}: {part:?}, but only {} such cores are left", cores.len()));
            }
            taken.extend(cores.into_iter().flat_map(|core| core.siblings.iter().map(move |id| (*id, kind))));
        }
        let kind_of = |cpu: &Cpu| taken.iter().find(|(id, _)| *id == cpu.id).map(|(_, kind)| *kind);
        if !symmetric {
            return Ok(self.only(kind_of, self.kinds.clone()));
        }
        let of = |kind: usize| taken.iter().filter(|(_, of)| *of == kind).map(|(id, _)| *id).collect::<Vec<_>>();
        if of(0).is_empty() {
            return Err(format!("--big {text}: no core is big"));
        }
        Ok(self.only(kind_of, self.two_kinds(&of(0), &of(1), None)).without_notes(KINDS_SAY_IT))
    }

    /// The CPUs that have a kind, and the kinds that have a CPU.
    fn only(&self, kind_of: impl Fn(&Cpu) -> Option<usize>, kinds: Vec<CpuType>) -> Self {
        let mut cpus: Vec<Cpu> = Vec::new();
        for cpu in &self.cpus {
            if let Some(kind) = kind_of(cpu) {
                cpus.push(Cpu { kind, ..cpu.clone() });
            }
        }
        let left: Vec<u16> = cpus.iter().map(|cpu| cpu.id).collect();
        let used: Vec<usize> = (0..kinds.len()).filter(|kind| cpus.iter().any(|cpu| cpu.kind == *kind)).collect();
        let shared = |shared: &Shared| Shared {
            cpus: shared.cpus.iter().copied().filter(|cpu| left.contains(cpu)).collect(),
            ..shared.clone()
        };
        let clusters: Vec<Shared> = self.clusters.iter().map(shared).filter(|shared| !shared.cpus.is_empty()).collect();
        for cpu in &mut cpus {
            cpu.siblings.retain(|id| left.contains(id));
            cpu.kind = used.iter().position(|kind| *kind == cpu.kind).unwrap_or_default();
            cpu.cluster = clusters.iter().position(|shared| shared.cpus.contains(&cpu.id)).unwrap_or_default();
        }
        // The fastest of what is left has 1024.
        let most = used.first().map_or(1024.0, |kind| f64::from(kinds[*kind].capacity));
        let shares: Vec<f64> = used.iter().map(|kind| f64::from(kinds[*kind].capacity) / most).collect();
        let sources: Vec<String> = used.iter().map(|kind| kinds[*kind].source.clone()).collect();
        let mut left = of_capacities(&shares, &sources);
        for (kind, old) in left.iter_mut().zip(&used) {
            kind.design.clone_from(&kinds[*old].design);
        }
        let sustained = self.sustained.map(|of_all| {
            let share = share(&cpus, &self.cpus);
            Sustained { power: Watts(of_all.power.0 * share), ..of_all }
        });
        let mut notes = self.notes.clone();
        notes.retain(|note| !note.starts_with(facts::SMT));
        notes.extend(facts::smt(&cpus));
        Self { cpus, kinds: left, clusters, sustained, notes, ..self.clone() }
    }
}

/// The share that some CPUs have of what all use at their highest frequencies; where that is not known, of their number.
fn share(some: &[Cpu], all: &[Cpu]) -> f64 {
    let most = |cpus: &[Cpu]| cpus.iter().map(|cpu| Some(cpu.powers.last()?.1.0)).sum::<Option<f64>>();
    match (most(some), most(all)) {
        (Some(some), Some(all)) => some / all,
        _ => some.len() as f64 / all.len() as f64,
    }
}
