//! Reads a topology from sysfs, or from a saved copy of it.

use std::fs;
use std::path::{Path, PathBuf};

use evenkeel_model::Hz;

use super::kinds::{self, Says, Source};
use super::{Cpu, Shared, Topology, list, partition};

/// Where the CPUs are, below the root.
const CPUS: &str = "sys/devices/system/cpu";
/// Where the memory nodes are.
const NODES: &str = "sys/devices/system/node";
/// Where the counters' devices are; each of a machine with several kinds of cores lists the CPUs that it counts on.
const DEVICES: &str = "sys/bus/event_source/devices";

/// A favoured core's ranking or turbo frequency is up to a seventh above that of its kind (Turbo Boost Max 3.0 of the
/// i7-6950X: 4.0 over 3.5 GHz); cores of different kinds are a fifth apart or more.
const FAVOURED: f64 = 1.15;
/// Capacities are the same within a kind, except that bins of one chip differ by a few percent (RK3588: 2.25 to 2.4 GHz).
const BINNED: f64 = 1.1;

/// Files in a CPU's folder that say how fast it is, the most precise first, and the gap between kinds. The devices of
/// the counters ([`designs`]) come before the last.
const SPEEDS: [(&str, f64); 5] = [
    ("cpufreq/amd_pstate_prefcore_ranking", FAVOURED),
    ("cpufreq/amd_pstate_highest_perf", FAVOURED),
    ("acpi_cppc/highest_perf", FAVOURED),
    ("cpu_capacity", BINNED),
    ("cpufreq/cpuinfo_max_freq", FAVOURED),
];

impl Topology {
    /// Reads the topology of this machine (`/`), or of a saved tree with a folder `sys`.
    ///
    /// # Errors
    /// No list of CPUs that are online, or one that cannot be read. Everything else may be missing.
    pub fn read(root: &Path) -> Result<Self, String> {
        let tree = Tree { root };
        let online = root.join(CPUS).join("online");
        let text = fs::read_to_string(&online).map_err(|error| {
            format!("cannot read {}: {error}; expected / or a copy of its folder sys", online.display())
        })?;
        let ids = list::parse(&text).map_err(|error| format!("{}: {error}", online.display()))?;
        if ids.is_empty() {
            return Err(format!("{} lists no CPU", online.display()));
        }
        let designs = tree.designs(&ids);
        let found = kinds::find(ids.len(), &tree.sources(&ids, &designs));
        let mut notes = found.notes;
        notes.extend(tree.partial(&ids));
        let mut kinds = found.kinds;
        for (position, kind) in kinds.iter_mut().enumerate() {
            kind.design = design(&ids, &found.kind_of, position, &designs);
        }
        let (cluster_of, clusters) = partition(&ids, &tree.shared(&ids));
        let nodes = tree.nodes();
        let cpu = |(position, id): (usize, &u16)| Cpu {
            id: *id,
            kind: found.kind_of[position],
            cluster: cluster_of[position],
            siblings: tree.siblings(*id, &ids),
            node: nodes.iter().find(|(_, cpus)| cpus.contains(id)).map_or(0, |(node, _)| *node),
            frequencies: tree.frequencies(*id),
        };
        let cpus = ids.iter().enumerate().map(cpu).collect();
        let mut topology = Self { origin: "sysfs", cpus, kinds, clusters, notes };
        topology.note_smt();
        Ok(topology)
    }

    /// Says what hardware threads mean, if there are any.
    pub(super) fn note_smt(&mut self) {
        let sharing = self.cpus.iter().filter(|cpu| cpu.siblings.len() > 1).count();
        if sharing > 0 {
            self.notes.push(format!(
                "SMT: {sharing} CPUs share their cores with others; each counts as a core of its own, although two busy \
                 ones of a core get less than twice the work done"
            ));
        }
    }
}

/// A tree of files.
struct Tree<'a> {
    root: &'a Path,
}

/// A device of the counters, and the CPUs that it counts on.
struct Design {
    name: String,
    cpus: Vec<u16>,
}

impl Tree<'_> {
    fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok().map(|text| text.trim().to_owned())
    }

    fn of_cpu(&self, id: u16, file: &str) -> Option<String> {
        self.text(Path::new(CPUS).join(format!("cpu{id}")).join(file))
    }

    fn list_of_cpu(&self, id: u16, file: &str) -> Option<Vec<u16>> {
        list::parse(&self.of_cpu(id, file)?).ok().filter(|cpus| cpus.contains(&id))
    }

    fn positive(&self, id: u16, file: &str) -> Option<f64> {
        self.of_cpu(id, file)?.parse::<u64>().ok().filter(|number| *number > 0).map(|number| number as f64)
    }

    /// The names in a folder, in order.
    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// What says how fast the CPUs are, the most precise first.
    fn sources(&self, ids: &[u16], designs: &[Design]) -> Vec<Source> {
        let mut sources = Vec::new();
        for (file, gap) in SPEEDS {
            if file == SPEEDS[SPEEDS.len() - 1].0 {
                sources.extend(hybrid(ids, designs));
            }
            let values: Vec<f64> = ids.iter().filter_map(|id| self.positive(*id, file)).collect();
            if values.len() == ids.len() {
                let name = file.strip_prefix("cpufreq/").unwrap_or(file).to_owned();
                sources.push(Source { name, says: Says::Speed { values, gap } });
            }
        }
        sources
    }

    /// Files that only some CPUs have.
    fn partial(&self, ids: &[u16]) -> Vec<String> {
        let note = |(file, _): &(&str, f64)| {
            let without: Vec<u16> = ids.iter().copied().filter(|id| self.positive(*id, file).is_none()).collect();
            let some = !without.is_empty() && without.len() < ids.len();
            some.then(|| format!("{file} is not used: CPUs {} do not have it", list::text(&without)))
        };
        SPEEDS.iter().filter_map(note).collect()
    }

    /// The devices of the counters that belong to some of the CPUs.
    fn designs(&self, ids: &[u16]) -> Vec<Design> {
        let design = |name: String| {
            let cpus = list::parse(&self.text(PathBuf::from(DEVICES).join(&name).join("cpus"))?).ok()?;
            let cpus: Vec<u16> = cpus.into_iter().filter(|cpu| ids.contains(cpu)).collect();
            (!cpus.is_empty()).then_some(Design { name, cpus })
        };
        self.names(DEVICES).into_iter().filter_map(design).collect()
    }

    /// For every CPU those that it shares a last-level cache with; else its cluster; else its package.
    fn shared(&self, ids: &[u16]) -> Vec<Shared> {
        let with = |file: &str, what: &str| {
            let one = |id: &u16| Some(Shared { cpus: self.list_of_cpu(*id, file)?, what: format!("{what} ({file})") });
            ids.iter().map(one).collect::<Option<Vec<_>>>()
        };
        let caches: Option<Vec<Shared>> = ids.iter().map(|id| self.last_cache(*id)).collect();
        let clusters = with("topology/cluster_cpus_list", "cluster");
        // A cache or cluster of one core says nothing about groups of cores, as where no cache above a private L2 is
        // listed, unless there is only one core.
        let threads: Vec<Vec<u16>> = ids.iter().map(|id| self.threads(*id)).collect();
        let alone = threads[0].len() == ids.len();
        let beyond = |(shared, threads): (&Shared, &Vec<u16>)| shared.cpus.iter().any(|cpu| !threads.contains(cpu));
        let some = |sets: &Vec<Shared>| sets.iter().zip(&threads).any(beyond);
        let all = |sets: &Vec<Shared>| alone || sets.iter().zip(&threads).all(beyond);
        let assumed = || {
            let what = "assumed: nothing says what the cores share".to_owned();
            ids.iter().map(|_| Shared { cpus: ids.to_vec(), what: what.clone() }).collect()
        };
        caches
            .clone()
            .filter(all)
            .or_else(|| clusters.filter(some))
            .or_else(|| caches.filter(some))
            .or_else(|| with("topology/package_cpus_list", "package"))
            .or_else(|| with("topology/core_siblings_list", "package"))
            .unwrap_or_else(assumed)
    }

    /// The CPUs that share a CPU's last-level cache.
    fn last_cache(&self, id: u16) -> Option<Shared> {
        let cache = |index: u32| {
            let folder = format!("cache/index{index}");
            let level: u32 = self.of_cpu(id, &format!("{folder}/level"))?.parse().ok()?;
            let file = format!("{folder}/shared_cpu_list");
            Some((level, Shared { cpus: self.list_of_cpu(id, &file)?, what: format!("L{level} ({file})") }))
        };
        (0..16).filter_map(cache).max_by_key(|(level, _)| *level).map(|(_, shared)| shared)
    }

    /// The CPUs of a CPU's core.
    fn threads(&self, id: u16) -> Vec<u16> {
        let lists = ["topology/thread_siblings_list", "topology/core_cpus_list"];
        lists.iter().find_map(|file| self.list_of_cpu(id, file)).unwrap_or_else(|| vec![id])
    }

    fn siblings(&self, id: u16, online: &[u16]) -> Vec<u16> {
        self.threads(id).into_iter().filter(|cpu| online.contains(cpu)).collect()
    }

    /// The memory nodes and their CPUs.
    fn nodes(&self) -> Vec<(u16, Vec<u16>)> {
        let node = |name: String| {
            let number = name.strip_prefix("node")?.parse().ok()?;
            let cpus = list::parse(&self.text(Path::new(NODES).join(&name).join("cpulist"))?).ok()?;
            Some((number, cpus))
        };
        self.names(NODES).into_iter().filter_map(node).collect()
    }

    /// The frequencies that a CPU can be set to; sysfs counts in kHz.
    fn frequencies(&self, id: u16) -> Vec<Hz> {
        let plausible = |khz: &u64| (1_000..=20_000_000).contains(khz);
        let one = |file: &str| self.of_cpu(id, file)?.parse::<u64>().ok();
        let ends = [one("cpufreq/cpuinfo_min_freq"), one("cpufreq/cpuinfo_max_freq")];
        let steps = ["cpufreq/scaling_available_frequencies", "cpufreq/scaling_boost_frequencies"];
        let steps = steps.iter().filter_map(|file| self.of_cpu(id, file));
        let steps: Vec<u64> =
            steps.flat_map(|text| text.split_whitespace().map(str::parse).collect::<Vec<_>>()).flatten().collect();
        let mut khz: Vec<u64> = ends.into_iter().flatten().chain(steps).filter(plausible).collect();
        khz.sort_unstable();
        khz.dedup();
        khz.into_iter().map(|khz| Hz(khz * 1000)).collect()
    }
}

/// What the devices of Intel's hybrid processors say about kinds: `cpu_core` counts on the fast cores, `cpu_atom` on the
/// efficient ones, `cpu_lowpower` on those of the low-power island.
fn hybrid(ids: &[u16], designs: &[Design]) -> Option<Source> {
    const ORDER: [&str; 3] = ["cpu_core", "cpu_atom", "cpu_lowpower"];
    let kind = |id: &u16| {
        ORDER.iter().position(|name| designs.iter().any(|design| design.name == *name && design.cpus.contains(id)))
    };
    let kinds: Vec<usize> = ids.iter().filter_map(kind).collect();
    (kinds.len() == ids.len()).then(|| Source { name: "cpu_core/cpu_atom".into(), says: Says::Kind(kinds) })
}

/// The design of a kind: the device that counts on all its CPUs and on none of another kind.
fn design(ids: &[u16], kind_of: &[usize], kind: usize, designs: &[Design]) -> Option<String> {
    let of_kind = |id: &u16| ids.iter().position(|other| other == id).is_some_and(|position| kind_of[position] == kind);
    let count = kind_of.iter().filter(|of| **of == kind).count();
    let fits = |design: &&Design| design.cpus.len() == count && design.cpus.iter().all(of_kind);
    designs.iter().find(fits).map(|design| plain(&design.name))
}

/// `armv8_cortex_a76` is a Cortex-A76 and `apple_firestorm_pmu` a Firestorm.
fn plain(device: &str) -> String {
    let name = device.split_once('_').filter(|(first, _)| first.starts_with("armv") || *first == "apple");
    let name = name.map_or(device, |(_, rest)| rest);
    name.strip_suffix("_pmu").unwrap_or(name).replace('_', "-")
}
