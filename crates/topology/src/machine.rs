//! A topology as a machine for schedulers and for the simulator, and as a machine file.

use std::fmt::Write;

use evenkeel_model::{
    Cluster, ClusterId, Core, CoreId, CoreSet, CoreType, CoreTypeId, Costs, Hz, Machine, Ns, Opp, Volts,
};

use crate::{Cpu, Shared, Topology, list, volts};

/// What is not known of a core is taken from no real one: as much out-of-order machinery and power as a core of about
/// 2020 has, and a voltage that rises with the frequency.
const WIDTH: f64 = 4.0;
const OVERLAP: f64 = 0.5;
const ACTIVITY: f64 = 0.5;
const LEAKAGE: f64 = 0.1;
const IDLE_SHARE: f64 = 0.1;
pub(crate) const LOWEST_VOLTS: f64 = 0.7;
pub(crate) const HIGHEST_VOLTS: f64 = 1.0;
/// Server programs gain 16 to 28 % by hyper-threading (Marr et al., Intel Technology Journal 6(1), 2002).
const SMT: f64 = 1.25;
const SMT_SOURCE: &str =
    "assumed: server programs gain 16 to 28 % by hyper-threading (Marr et al., Intel Technology Journal 6(1), 2002)";
/// Where it is not known of every kind.
const FREQUENCY: Hz = Hz(1_000_000_000);
/// A machine file takes no less.
const LEAST_EXTRACT: f64 = 0.01;

/// Assumed where nothing is measured: what lmbench reports for cores of this class, caches that are fetched at some GB/s (as the
/// bundled machines say of each), `CONFIG_HZ=250`.
const COSTS: Costs = Costs {
    context_switch: Ns::from_us(2),
    process_switch: Ns::ZERO,
    migrate_in_cluster: Ns::from_us(10),
    migrate_across_clusters: Ns::from_us(60),
    remote_memory: 1.0,
    dvfs_transition: Ns::from_us(100),
    tick: Ns::from_ms(4),
    wake: Ns::ZERO,
    take: Ns::ZERO,
    futex: Ns::ZERO,
    line_in_cluster: Ns::ZERO,
    line_across_clusters: Ns::ZERO,
};

/// What switching and moving threads was measured to cost. What is `None` is assumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overheads {
    /// From one thread to another on a CPU.
    pub context_switch: Option<Ns>,
    /// How much more it is from one process to another.
    pub process_switch: Option<Ns>,
    /// Taking a running thread off its CPU for another one, without the switch there.
    pub take: Option<Ns>,
    /// What a thread's private caches lack on another CPU that shares the last-level cache.
    pub migrate_in_cluster: Option<Ns>,
    /// What it lacks on a CPU with another last-level cache.
    pub migrate_across_clusters: Option<Ns>,
}

impl Topology {
    /// The machine, and the CPU that each of its cores is. Capacities are those of the kinds; what a topology does not
    /// say is assumed (see [`Self::to_toml`]).
    ///
    /// # Errors
    /// More CPUs than a machine can have cores.
    pub fn machine(&self, name: &str) -> Result<(Machine, Vec<u16>), String> {
        let count = self.cpus.len();
        if count > CoreSet::MAX_CORES {
            return Err(format!(
                "{count} CPUs: a machine has at most {} cores; choose some with --big and --little",
                CoreSet::MAX_CORES
            ));
        }
        let parts = self.parts();
        let mut cores = vec![Core { core_type: CoreTypeId(0), cluster: ClusterId(0) }; count];
        for (id, part) in parts.iter().enumerate() {
            for position in &part.cores {
                cores[usize::from(*position)] =
                    Core { core_type: CoreTypeId(part.kind as u8), cluster: ClusterId(id as u16) };
            }
        }
        let cluster = |(id, part): (usize, &Part)| Cluster {
            name: part.name.clone(),
            core_type: CoreTypeId(part.kind as u8),
            cores: part.cores.iter().map(|position| CoreId(*position)).collect(),
            node: part.node,
            cache: sharing_cache(&parts, id, &self.clusters) as u16,
            cache_mb: None,
            memory_gbps: None,
        };
        let machine = Machine {
            name: name.to_owned(),
            description: self.description(),
            core_types: self.core_types(),
            clusters: parts.iter().enumerate().map(cluster).collect(),
            cores,
            siblings: parts.iter().flat_map(Part::siblings).collect(),
            memory_gbps: None,
            costs: self.costs(),
        };
        Ok((machine, self.ids()))
    }

    /// The machine as a machine file, in which every value says where it is from.
    ///
    /// # Errors
    /// More CPUs than a machine can have cores.
    pub fn to_toml(&self, name: &str) -> Result<String, String> {
        let (machine, cpus) = self.machine(name)?;
        let mut text = format!(
            "# Written by `evenkeel topology --save`. `assumed` values are generic: better ones make a better simulation.\n\
             name = {}\ndescription = {}\n",
            quoted(name),
            quoted(&machine.description)
        );
        let power = self.power.filter(|_| self.powers_known());
        let (_, assumed) = self.frequencies_and_extracts();
        for (kind, core) in self.kinds.iter().zip(&machine.core_types) {
            let opps: Vec<String> = core
                .opps
                .iter()
                .map(|opp| format!("[{:?}, {:?}]", opp.frequency.0 as f64 / 1e6, opp.voltage.0))
                .collect();
            let frequencies = match (assumed, power) {
                (Some(why), _) => format!("assumed: {why}"),
                (None, None) => format!("frequencies: {}; voltages assumed", self.clock),
                (None, Some(power)) => {
                    let how = if core.leakage > 0.0 { "fitted with the leakage" } else { "sqrt(power / frequency)" };
                    format!("frequencies: {}; voltages: {power}, {how}, 1 V at the highest", self.clock)
                }
            };
            let (activity, leakage) = match power {
                Some(power) if core.leakage > 0.0 => (
                    format!("{power}: fitted, at IPC 2 x extract"),
                    "fitted: a cycle takes less energy at a higher frequency",
                ),
                Some(power) => {
                    (format!("{power}: power at the highest frequency, at IPC 2 x extract"), "included in activity")
                }
                None => ("assumed: 0.5 W per instruction per ns at 1 V".to_owned(), "assumed: 0.1 A"),
            };
            let extract =
                format!("capacity {} at the highest frequency; {}: {}", kind.capacity, self.origin, kind.source);
            let _ = write!(
                text,
                "\n[core.{}]\n{}{}{}{}{}{}{}{}",
                core.name,
                line("width", &format!("{:?}", core.width), "assumed: four instructions a cycle"),
                line("extract", &format!("{:?}", core.extract), &extract),
                line("overlap", &format!("{:?}", core.overlap), "assumed: half of the memory time is hidden"),
                line("opps", &format!("[{}]", opps.join(", ")), &frequencies),
                line("activity", &format!("{:?}", core.activity), &activity),
                line("leakage", &format!("{:?}", core.leakage), leakage),
                line("idle_share", &format!("{:?}", core.idle_share), "assumed: power gating"),
                match core.smt > 1.0 {
                    true => line("smt", &format!("{:?}", core.smt), SMT_SOURCE),
                    false => String::new(),
                },
            );
        }
        for (id, part) in self.parts().iter().enumerate() {
            let numbers: Vec<String> = part.cores.iter().map(ToString::to_string).collect();
            let ids: Vec<u16> = part.cores.iter().map(|position| cpus[usize::from(*position)]).collect();
            let source = format!("{}: CPUs {}; {}", self.origin, list::text(&ids), self.clusters[part.cluster].what);
            let _ = write!(
                text,
                "\n[[cluster]]\nname = {}\ncore = {}\n{}node = {}\n",
                quoted(&part.name),
                quoted(&machine.core_types[part.kind].name),
                line("cores", &format!("[{}]", numbers.join(", ")), &source),
                part.node
            );
            if part.threads > 1 {
                let _ = writeln!(text, "threads = {}", part.threads);
            }
            let cache = machine.clusters[id].cache;
            if machine.clusters.iter().filter(|cluster| cluster.cache == cache).count() > 1 {
                let _ = writeln!(text, "cache = {cache}");
            }
        }
        let cost = |key: &str, ns: Ns, source: &str| line(key, &format!("{:?}", ns.0 as f64 / 1000.0), source);
        let known = |found: Option<Ns>, how: &'static str, assumed: &'static str| found.map_or(assumed, |_| how);
        let (costs, found) = (machine.costs, self.overheads);
        let switch = known(
            found.context_switch,
            "measured: two threads that take turns on a CPU",
            "assumed: switch and scheduler",
        );
        let process = known(
            found.process_switch,
            "measured: how much longer two processes take for a turn and 64 pages each than two threads",
            "assumed: included in what a switch costs",
        );
        let take = known(
            found.take,
            "measured: a thread that moves itself by its mask, without the switch",
            "assumed: included in what a move costs",
        );
        let near = known(
            found.migrate_in_cluster,
            "measured: how much longer 32 KB take on another CPU",
            "assumed: private caches from the shared one",
        );
        let far = known(
            found.migrate_across_clusters,
            "measured: how much longer 288 KB take in another cluster",
            "assumed: all caches from memory",
        );
        let _ = write!(
            text,
            "\n[costs]\n{}{}{}{}{}{}{}",
            cost("context_switch_us", costs.context_switch, switch),
            cost("process_switch_us", costs.process_switch, process),
            cost("take_us", costs.take, take),
            cost("migrate_in_cluster_us", costs.migrate_in_cluster, near),
            cost("migrate_across_clusters_us", costs.migrate_across_clusters, far),
            cost("dvfs_transition_us", costs.dvfs_transition, "assumed: regulator and PLL"),
            cost("tick_us", costs.tick, "assumed: CONFIG_HZ=250"),
        );
        Ok(text)
    }

    /// What is not measured is assumed.
    fn costs(&self) -> Costs {
        let Overheads { context_switch, process_switch, take, migrate_in_cluster, migrate_across_clusters } =
            self.overheads;
        Costs {
            context_switch: context_switch.unwrap_or(COSTS.context_switch),
            process_switch: process_switch.unwrap_or(COSTS.process_switch),
            take: take.unwrap_or(COSTS.take),
            migrate_in_cluster: migrate_in_cluster.unwrap_or(COSTS.migrate_in_cluster),
            migrate_across_clusters: migrate_across_clusters.unwrap_or(COSTS.migrate_across_clusters),
            ..COSTS
        }
    }

    fn description(&self) -> String {
        let kind = |(position, kind): (usize, &crate::CpuType)| {
            let name = kind.design.as_deref().unwrap_or(&kind.name);
            format!("{} x {name} ({})", self.cpus_of(position).len(), kind.capacity)
        };
        let kinds: Vec<String> = self.kinds.iter().enumerate().map(kind).collect();
        let model = self.model.as_ref().map(|model| format!("{model}: ")).unwrap_or_default();
        format!("{model}{}, from {}", kinds.join(" + "), self.origin)
    }

    /// How many hardware threads the core of a CPU has that are alike.
    fn threads_of(&self, id: u16) -> usize {
        let alike = |cpu: &Cpu| (cpu.kind, cpu.cluster, cpu.node);
        let Some(cpu) = self.cpu(id) else { return 1 };
        let all_alike =
            cpu.siblings.iter().all(|other| self.cpu(*other).is_some_and(|other| alike(other) == alike(cpu)));
        if all_alike { cpu.siblings.len().max(1) } else { 1 }
    }

    /// Cores of one kind, cluster, node and number of hardware threads, in the order of their lowest CPU; the threads of a core one after the
    /// other.
    fn parts(&self) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        for (position, cpu) in self.cpus.iter().enumerate() {
            let (node, threads) = (u8::try_from(cpu.node).unwrap_or(u8::MAX), self.threads_of(cpu.id));
            let same = |part: &&mut Part| {
                (part.kind, part.cluster, part.node, part.threads) == (cpu.kind, cpu.cluster, node, threads)
            };
            match parts.iter_mut().find(same) {
                Some(part) => part.cores.push(position as u16),
                None => parts.push(Part {
                    name: String::new(),
                    kind: cpu.kind,
                    cluster: cpu.cluster,
                    node,
                    threads,
                    cores: vec![position as u16],
                }),
            }
        }
        for part in parts.iter_mut().filter(|part| part.threads > 1) {
            part.cores.sort_by_key(|position| (self.cpus[usize::from(*position)].siblings.first().copied(), *position));
        }
        for index in 0..parts.len() {
            let kind = parts[index].kind;
            let before = parts[..index].iter().filter(|part| part.kind == kind).count();
            let alone = parts.iter().filter(|part| part.kind == kind).count() == 1;
            let name = &self.kinds[kind].name;
            parts[index].name = if alone { name.clone() } else { format!("{name}{before}") };
        }
        parts
    }

    /// The frequencies of a kind: those of its fastest-clocked CPU, and between the lowest and the highest those of which powers are known.
    fn frequencies(&self, kind: usize) -> Vec<Hz> {
        let of = self.cpus.iter().filter(|cpu| cpu.kind == kind);
        let Some(cpu) = of.max_by_key(|cpu| cpu.max()) else { return Vec::new() };
        let between = |hz: &Hz| cpu.min() < Some(*hz) && Some(*hz) < cpu.max();
        let known = cpu.powers.iter().map(|(hz, _)| *hz).filter(between);
        let mut frequencies: Vec<Hz> = cpu.frequencies.iter().copied().chain(known).collect();
        frequencies.sort_unstable();
        frequencies.dedup();
        frequencies
    }

    /// The frequencies and the extract of each kind, and why the frequencies are assumed if they are: all or none, since extracts compare kinds.
    fn frequencies_and_extracts(&self) -> (Vec<(Vec<Hz>, f64)>, Option<&'static str>) {
        let known: Vec<Vec<Hz>> = (0..self.kinds.len()).map(|kind| self.frequencies(kind)).collect();
        let with = |of: Vec<Vec<Hz>>| -> Vec<(Vec<Hz>, f64)> {
            // Capacity is what a core gets done in a cycle, times its frequency.
            let highest = |frequencies: &[Hz]| frequencies.last().map_or(1.0, |hz| hz.per_ns());
            let a_cycle: Vec<f64> =
                self.kinds.iter().zip(&of).map(|(kind, of)| f64::from(kind.capacity) / 1024.0 / highest(of)).collect();
            let most = a_cycle.iter().copied().fold(0.0, f64::max);
            of.into_iter().zip(a_cycle).map(|(of, a_cycle)| (of, a_cycle / most)).collect()
        };
        let assumed = || with(vec![vec![FREQUENCY]; self.kinds.len()]);
        if known.iter().all(Vec::is_empty) {
            return (assumed(), Some("no frequency is known"));
        }
        if known.iter().any(Vec::is_empty) {
            return (assumed(), Some("1 GHz, since not every kind's frequencies are known"));
        }
        let found = with(known);
        if found.iter().any(|(_, extract)| *extract < LEAST_EXTRACT) {
            return (assumed(), Some("1 GHz, since frequencies and capacities contradict each other"));
        }
        (found, None)
    }

    fn core_types(&self) -> Vec<CoreType> {
        let (types, _) = self.frequencies_and_extracts();
        let powers_known = self.powers_known();
        let core_type = |(position, (kind, (frequencies, extract))): (usize, (&crate::CpuType, (Vec<Hz>, f64)))| {
            let assumed = CoreType {
                name: kind.name.clone(),
                width: WIDTH,
                extract,
                overlap: OVERLAP,
                opps: opps(&frequencies),
                activity: ACTIVITY,
                leakage: LEAKAGE,
                idle_share: IDLE_SHARE,
                smt: if self.cpus_of(position).iter().any(|id| self.threads_of(*id) > 1) { SMT } else { 1.0 },
            };
            if powers_known { volts::with_powers(assumed, self.powers_of(position)) } else { assumed }
        };
        self.kinds.iter().zip(types).enumerate().map(core_type).collect()
    }
}

/// Cores that are one cluster of a machine.
struct Part {
    name: String,
    kind: usize,
    cluster: usize,
    node: u8,
    /// How many hardware threads each core has.
    threads: usize,
    /// Positions among the CPUs.
    cores: Vec<u16>,
}

impl Part {
    /// The hardware threads of each core that has several.
    fn siblings(&self) -> impl Iterator<Item = CoreSet> {
        let cores = if self.threads > 1 { self.cores.as_slice() } else { &[] };
        cores.chunks(self.threads).map(|threads| threads.iter().copied().map(CoreId).collect())
    }
}

/// The first part whose cores share a part's last-level cache.
fn sharing_cache(parts: &[Part], id: usize, clusters: &[Shared]) -> usize {
    let same = |other: &Part| clusters[other.cluster].cache && other.cluster == parts[id].cluster;
    parts.iter().position(same).unwrap_or(id)
}

/// Operating points with voltages that rise with the frequency.
fn opps(frequencies: &[Hz]) -> Vec<Opp> {
    let highest = frequencies.last().map_or(1.0, |hz| hz.per_ns());
    let volts = |hz: &Hz| LOWEST_VOLTS + (HIGHEST_VOLTS - LOWEST_VOLTS) * hz.per_ns() / highest;
    let rounded = |volts: f64| Volts((volts * 1000.0).round() / 1000.0);
    frequencies.iter().map(|hz| Opp { frequency: *hz, voltage: rounded(volts(hz)) }).collect()
}

fn line(key: &str, value: &str, source: &str) -> String {
    format!("{key} = {{ value = {value}, source = {} }}\n", quoted(source))
}

/// Text as TOML has it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
