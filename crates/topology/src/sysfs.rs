//! Reads a topology from sysfs, or from a saved copy of it.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use evenkeel_model::Hz;

use crate::clock::Clock;
use crate::facts::{BINNED, CpuFacts, Design, FAVOURED, Facts};
use crate::kinds::{Says, Source};
use crate::power::{CpuPowers, Powers};
use crate::{Shared, Sustained, Topology, list, sustained};

/// Where the CPUs are, below the root.
const CPUS: &str = "sys/devices/system/cpu";
/// Where the memory nodes are.
const NODES: &str = "sys/devices/system/node";
/// Where the counters' devices are; each of a machine with several kinds of cores lists the CPUs that it counts on.
const DEVICES: &str = "sys/bus/event_source/devices";

/// Files in a CPU's folder that say how fast it is, the most precise first, and the gap between kinds. The devices of
/// the counters ([`hybrid`]) come before the last.
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
        let nodes = tree.nodes();
        let clock = Clock::of(&tree, &ids);
        let powers = Powers::of(&tree, &ids);
        let cpu = |(id, (frequencies, powers)): (&u16, (Vec<Hz>, CpuPowers))| CpuFacts {
            id: *id,
            threads: tree.threads(*id),
            node: nodes.iter().find(|(_, cpus)| cpus.contains(id)).map_or(0, |(node, _)| *node),
            frequencies,
            base: sustained::base(&tree, *id),
            powers,
            cache: tree.last_cache(*id),
            cluster: tree.shared(*id, "cluster", &["topology/cluster_cpus_list"]),
            package: tree.shared(*id, "package", &["topology/package_cpus_list", "topology/core_siblings_list"]),
        };
        let designs = tree.designs();
        let facts = Facts {
            origin: "sysfs",
            clock: clock.source,
            model: tree.model(),
            cpus: ids.iter().zip(clock.frequencies.into_iter().zip(powers.of)).map(cpu).collect(),
            power: powers.source,
            sustained: Sustained::of(&tree),
            sources: tree.sources(&ids, &designs),
            designs,
            notes: tree.partial(&ids).into_iter().chain(clock.note).chain(powers.notes).collect(),
        };
        Ok(facts.topology())
    }
}

/// A tree of files.
pub(crate) struct Tree<'a> {
    root: &'a Path,
}

impl Tree<'_> {
    /// What is in a file, trimmed.
    pub fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok().map(|text| text.trim().to_owned())
    }

    /// The start of a file, as it is: as many bytes as a property that says something about power can have.
    pub fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        const MOST: u64 = 4096;
        let mut bytes = Vec::new();
        fs::File::open(self.root.join(path)).ok()?.take(MOST).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// The path of a file in a CPU's folder.
    pub fn cpu_file(id: u16, file: &str) -> String {
        format!("{CPUS}/cpu{id}/{file}")
    }

    /// What is in a file of a CPU's folder.
    pub fn of_cpu(&self, id: u16, file: &str) -> Option<String> {
        self.text(Self::cpu_file(id, file))
    }

    fn list_of_cpu(&self, id: u16, file: &str) -> Option<Vec<u16>> {
        list::parse(&self.of_cpu(id, file)?).ok().filter(|cpus| cpus.contains(&id))
    }

    /// A number above 0.
    pub fn positive(&self, id: u16, file: &str) -> Option<f64> {
        self.of_cpu(id, file)?.parse::<u64>().ok().filter(|number| *number > 0).map(|number| number as f64)
    }

    /// The names in a folder, in order.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// The board, or the processor.
    fn model(&self) -> Option<String> {
        let board = self.text("sys/firmware/devicetree/base/model");
        let board = board.map(|text| text.trim_end_matches('\0').to_owned()).filter(|text| !text.is_empty());
        board.or_else(|| {
            let text = self.text("proc/cpuinfo")?;
            let (_, name) =
                text.lines().find_map(|line| line.split_once(':').filter(|(key, _)| key.trim() == "model name"))?;
            Some(name.trim().to_owned())
        })
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
    fn designs(&self) -> Vec<Design> {
        let design = |name: String| {
            let cpus = list::parse(&self.text(PathBuf::from(DEVICES).join(&name).join("cpus"))?).ok()?;
            Some(Design { name: plain(&name), cpus })
        };
        self.names(DEVICES).into_iter().filter_map(design).collect()
    }

    /// The CPUs that share a CPU's last-level cache.
    fn last_cache(&self, id: u16) -> Option<Shared> {
        let cache = |index: u32| {
            let folder = format!("cache/index{index}");
            let level: u32 = self.of_cpu(id, &format!("{folder}/level"))?.parse().ok()?;
            let file = format!("{folder}/shared_cpu_list");
            Some((
                level,
                Shared { cpus: self.list_of_cpu(id, &file)?, what: format!("L{level} ({file})"), cache: true },
            ))
        };
        (0..16).filter_map(cache).max_by_key(|(level, _)| *level).map(|(_, shared)| shared)
    }

    /// The CPUs that the first of these files lists that there is.
    fn shared(&self, id: u16, what: &str, files: &[&str]) -> Option<Shared> {
        let one = |file: &&str| {
            Some(Shared { cpus: self.list_of_cpu(id, file)?, what: format!("{what} ({file})"), cache: false })
        };
        files.iter().find_map(one)
    }

    /// The CPUs of a CPU's core.
    fn threads(&self, id: u16) -> Vec<u16> {
        let lists = ["topology/thread_siblings_list", "topology/core_cpus_list"];
        lists.iter().find_map(|file| self.list_of_cpu(id, file)).unwrap_or_default()
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
}

/// What the devices of Intel's hybrid processors say about kinds: `cpu_core` counts on the fast cores, `cpu_atom` on the
/// efficient ones, `cpu_lowpower` on those of the low-power island.
fn hybrid(ids: &[u16], designs: &[Design]) -> Option<Source> {
    const ORDER: [&str; 3] = ["cpu-core", "cpu-atom", "cpu-lowpower"];
    let kind = |id: &u16| {
        ORDER.iter().position(|name| designs.iter().any(|design| design.name == *name && design.cpus.contains(id)))
    };
    let kinds: Vec<usize> = ids.iter().filter_map(kind).collect();
    (kinds.len() == ids.len()).then(|| Source { name: "cpu_core/cpu_atom".into(), says: Says::Kind(kinds) })
}

/// `armv8_cortex_a76` is a Cortex-A76 and `apple_firestorm_pmu` a Firestorm.
fn plain(device: &str) -> String {
    let name = device.split_once('_').filter(|(first, _)| first.starts_with("armv") || *first == "apple");
    let name = name.map_or(device, |(_, rest)| rest);
    name.strip_suffix("_pmu").unwrap_or(name).replace('_', "-")
}
