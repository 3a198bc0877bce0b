//! Reads a flattened devicetree (.dtb, or /sys/firmware/fdt), which on Arm and RISC-V machines says what the cores are.
//!
//! Bindings: cpus.yaml, cpu-capacity.txt, cpu-topology.txt, opp-v2.yaml and numa.txt of the Linux kernel's documentation.

use dtoolkit::fdt::{Fdt, FdtNode};
use dtoolkit::{Node, Property};
use evenkeel_model::Hz;

use crate::facts::{BINNED, CpuFacts, Design, FAVOURED, Facts};
use crate::kinds::{Says, Source};
use crate::of_node::CpuNode;
use crate::power::{self, CpuPowers, OppNode};
use crate::{Shared, Topology, list};

/// Nodes are not nested deeper than this.
const DEPTH: usize = 32;

impl Topology {
    /// Reads a machine from the bytes of a flattened devicetree. CPUs are numbered in its order, as Linux does.
    ///
    /// # Errors
    /// Bytes that are no devicetree, or one without a CPU.
    pub fn from_devicetree(bytes: &[u8]) -> Result<Self, String> {
        // Files may be padded beyond the size that the header says.
        let size = bytes.get(4..8).and_then(|size| size.try_into().ok()).map_or(0, u32::from_be_bytes) as usize;
        let fdt = Fdt::new(bytes.get(..size).unwrap_or(bytes)).map_err(|error| format!("no devicetree: {error}"))?;
        let tree = Tree::of(fdt.root());
        let cpus = tree.cpus();
        if cpus.is_empty() {
            return Err("a devicetree without a CPU: expected nodes /cpus/cpu@N".into());
        }
        let (sources, notes) = tree.sources(&cpus);
        let facts = Facts {
            origin: "devicetree",
            clock: "devicetree",
            model: tree.nodes[0].text("model"),
            cpus: (0..cpus.len()).map(|position| tree.facts(&cpus, position)).collect(),
            power: Some(power::SOURCE),
            sustained: None,
            sources,
            designs: tree.designs(&cpus),
            notes,
        };
        Ok(facts.topology())
    }
}

/// All nodes, a parent before its children, with what is read of them. Never empty.
struct Tree {
    nodes: Vec<Entry>,
    /// Handles that properties point to nodes by, ascending, and their nodes.
    handles: Vec<(u32, usize)>,
}

struct Entry {
    parent: usize,
    depth: usize,
    name: String,
    properties: Vec<(&'static str, Vec<u8>)>,
}

/// The properties that are read.
const PROPERTIES: [&str; 18] = [
    "cache-level",
    "capacity-dmips-mhz",
    "clock-frequency",
    "compatible",
    "cpu",
    "dynamic-power-coefficient",
    "linux,phandle",
    "model",
    "next-level-cache",
    "l2-cache",
    "numa-node-id",
    "operating-points",
    "operating-points-v2",
    "opp-hz",
    "opp-microvolt",
    "opp-microwatt",
    "phandle",
    "status",
];

impl Entry {
    fn of(node: &FdtNode<'_>, parent: usize, depth: usize) -> Self {
        let mut properties = Vec::new();
        for property in node.properties() {
            if let Some(name) = PROPERTIES.iter().find(|name| **name == property.name()) {
                properties.push((*name, property.value().to_vec()));
            }
        }
        Self { parent, depth, name: node.name().to_owned(), properties }
    }

    fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.properties.iter().find(|(other, _)| *other == name).map(|(_, value)| value.as_slice())
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.bytes(name)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
    }

    /// A number of one or two cells.
    fn long(&self, name: &str) -> Option<u64> {
        let bytes = self.bytes(name)?;
        let long = bytes.first_chunk().map(|bytes| u64::from_be_bytes(*bytes));
        long.or_else(|| self.number(name).map(u64::from))
    }

    /// The first string of a property.
    fn text(&self, name: &str) -> Option<String> {
        let text = self.bytes(name)?.split(|byte| *byte == 0).next()?;
        std::str::from_utf8(text).ok().filter(|text| !text.is_empty()).map(str::to_owned)
    }

    fn enabled(&self) -> bool {
        self.text("status").is_none_or(|status| status == "okay" || status == "ok")
    }

    /// Whether this is a node of a kind: `cpu@100` is a `cpu`, `cluster1` a `cluster`.
    fn is(&self, kind: &str) -> bool {
        let name = self.name.split('@').next().unwrap_or_default();
        name.strip_prefix(kind).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    }
}

impl Tree {
    fn of(root: FdtNode<'_>) -> Self {
        let mut nodes: Vec<Entry> = Vec::new();
        let mut open = vec![(root, 0, 0)];
        while let Some((node, parent, depth)) = open.pop() {
            let index = nodes.len();
            nodes.push(Entry::of(&node, parent, depth));
            if depth < DEPTH {
                let children: Vec<FdtNode<'_>> = node.children().collect();
                open.extend(children.into_iter().rev().map(|child| (child, index, depth + 1)));
            }
        }
        let handle = |entry: &Entry| entry.number("phandle").or_else(|| entry.number("linux,phandle"));
        let handles = nodes.iter().enumerate().filter_map(|(index, entry)| Some((handle(entry)?, index)));
        let mut handles: Vec<(u32, usize)> = handles.collect();
        handles.sort_unstable();
        Self { nodes, handles }
    }

    fn children(&self, parent: usize) -> impl Iterator<Item = usize> {
        (1..self.nodes.len()).filter(move |index| self.nodes[*index].parent == parent)
    }

    /// The nodes above one, the nearest first, itself before them.
    fn line(&self, index: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(index), |index| (self.nodes[*index].depth > 0).then(|| self.nodes[*index].parent))
    }

    /// The node that a property points to.
    fn pointed(&self, from: usize, property: &str) -> Option<usize> {
        let handle = self.nodes[from].number(property)?;
        let at = self.handles.partition_point(|(other, _)| *other < handle);
        self.handles.get(at).filter(|(other, _)| *other == handle).map(|(_, index)| *index)
    }

    /// The nodes of the CPUs, in the order in which Linux numbers them.
    fn cpus(&self) -> Vec<usize> {
        let Some(parent) = self.children(0).find(|index| self.nodes[*index].is("cpus")) else { return Vec::new() };
        let cpu = |index: &usize| self.nodes[*index].is("cpu") && self.nodes[*index].enabled();
        self.children(parent).filter(cpu).take(usize::from(list::CPUS)).collect()
    }

    fn facts(&self, cpus: &[usize], position: usize) -> CpuFacts {
        let node = &self.nodes[cpus[position]];
        let map = |kind: &str| {
            let members = self.in_map(cpus, position, kind)?;
            Some(Shared { cpus: members, what: format!("{kind} (cpu-map)"), cache: false })
        };
        CpuFacts {
            id: position as u16,
            threads: map("core").map(|shared| shared.cpus).unwrap_or_default(),
            node: node.number("numa-node-id").and_then(|node| node.try_into().ok()).unwrap_or_default(),
            frequencies: self.frequencies(cpus[position]),
            base: None,
            powers: self.powers(cpus, position),
            cache: self.last_cache(cpus, position),
            cluster: map("cluster"),
            package: map("socket"),
        }
    }

    /// The CPUs that are below the same node of a kind in the map of CPUs.
    fn in_map(&self, cpus: &[usize], position: usize, kind: &str) -> Option<Vec<u16>> {
        let mut leaves = (0..self.nodes.len()).filter(|index| self.nodes[*index].bytes("cpu").is_some());
        let group = |leaf: usize| self.line(leaf).find(|index| self.nodes[*index].is(kind));
        let own = leaves.clone().find(|leaf| self.pointed(*leaf, "cpu") == Some(cpus[position])).and_then(group)?;
        let mut members = Vec::new();
        for leaf in leaves.by_ref().filter(|leaf| group(*leaf) == Some(own)) {
            let cpu = self.pointed(leaf, "cpu").and_then(|cpu| cpus.iter().position(|other| *other == cpu));
            members.extend(cpu.map(|cpu| cpu as u16));
        }
        Some(members)
    }

    /// The last cache of a CPU: its node, and its level.
    fn cache(&self, cpu: usize) -> Option<(usize, u32)> {
        let next = |(node, level): &(usize, u32)| {
            let cache = self.pointed(*node, "next-level-cache").or_else(|| self.pointed(*node, "l2-cache"))?;
            Some((cache, self.nodes[cache].number("cache-level").unwrap_or(level + 1)))
        };
        std::iter::successors(Some((cpu, 1)), next).take(8).last().filter(|(node, _)| *node != cpu)
    }

    fn last_cache(&self, cpus: &[usize], position: usize) -> Option<Shared> {
        let (own, level) = self.cache(cpus[position])?;
        let same = |cpu: &usize| self.cache(cpus[*cpu]).is_some_and(|(cache, _)| cache == own);
        let members = (0..cpus.len()).filter(same).map(|cpu| cpu as u16).collect();
        Some(Shared { cpus: members, what: format!("L{level} (next-level-cache)"), cache: true })
    }

    fn frequencies(&self, cpu: usize) -> Vec<Hz> {
        if let Some(table) = self.pointed(cpu, "operating-points-v2") {
            return self.points(table).map(|point| point.frequency).collect();
        }
        if let Some(pairs) = self.nodes[cpu].bytes("operating-points") {
            // Pairs of kHz and uV.
            let khz =
                pairs.chunks_exact(8).filter_map(|pair| pair.first_chunk()).map(|bytes| u32::from_be_bytes(*bytes));
            return khz.map(|khz| Hz(u64::from(khz) * 1000)).collect();
        }
        self.nodes[cpu].long("clock-frequency").map(Hz).into_iter().collect()
    }

    /// The points of a table that are not disabled.
    fn points(&self, table: usize) -> impl Iterator<Item = OppNode> {
        let points = self.children(table).map(|point| &self.nodes[point]).filter(|point| point.enabled());
        points.filter_map(|point| {
            Some(OppNode {
                frequency: Hz(point.long("opp-hz")?),
                microvolts: point.number("opp-microvolt"),
                microwatts: point.number("opp-microwatt"),
            })
        })
    }

    /// What a CPU uses at each operating point.
    fn powers(&self, cpus: &[usize], position: usize) -> CpuPowers {
        let node = |cpu: &usize| CpuNode {
            table: self.nodes[*cpu].number("operating-points-v2"),
            coefficient: self.nodes[*cpu].number("dynamic-power-coefficient"),
        };
        let all: Vec<CpuNode> = cpus.iter().map(node).collect();
        let coefficient = all[position].shared_coefficient(&all);
        let table = self.pointed(cpus[position], "operating-points-v2");
        table.iter().flat_map(|table| self.points(*table)).filter_map(|point| point.power(coefficient)).collect()
    }

    /// What says how fast the CPUs are, the most precise first, and what a user should know of it.
    fn sources(&self, cpus: &[usize]) -> (Vec<Source>, Vec<String>) {
        let highest = |cpu: &usize| self.frequencies(*cpu).iter().map(|hz| hz.per_ns()).reduce(f64::max);
        let frequencies: Option<Vec<f64>> = cpus.iter().map(highest).map(|ghz| ghz.filter(|ghz| *ghz > 0.0)).collect();
        let capacity = |cpu: &usize| self.nodes[*cpu].number("capacity-dmips-mhz").filter(|number| *number > 0);
        let capacities: Option<Vec<f64>> = cpus.iter().map(|cpu| capacity(cpu).map(f64::from)).collect();
        let source =
            |name: &str, values: Vec<f64>, gap| Source { name: name.into(), says: Says::Speed { values, gap } };
        let mut sources = Vec::new();
        let mut notes = Vec::new();
        match (capacities, &frequencies) {
            (Some(capacities), Some(frequencies)) => {
                let values = capacities.iter().zip(frequencies).map(|(capacity, ghz)| capacity * ghz).collect();
                sources.push(source("capacity-dmips-mhz x highest frequency in GHz", values, BINNED));
            }
            (Some(capacities), None) => {
                sources.push(source("capacity-dmips-mhz", capacities, BINNED));
                notes.push("the devicetree has no frequencies: capacities are those at equal ones".into());
            }
            (None, _) if cpus.iter().any(|cpu| capacity(cpu).is_some()) => {
                notes.push("capacity-dmips-mhz is not used: some CPUs do not have it".into());
            }
            (None, _) => {}
        }
        sources.extend(frequencies.map(|values| source("highest frequency in GHz", values, FAVOURED)));
        (sources, notes)
    }

    /// `compatible` says `arm,cortex-a76`.
    fn designs(&self, cpus: &[usize]) -> Vec<Design> {
        let mut designs: Vec<Design> = Vec::new();
        for (position, cpu) in cpus.iter().enumerate() {
            let Some(name) = self.nodes[*cpu].text("compatible") else { continue };
            let name = name.split_once(',').map_or(name.as_str(), |(_, design)| design);
            match designs.iter_mut().find(|design| design.name == name) {
                Some(design) => design.cpus.push(position as u16),
                None => designs.push(Design { name: name.into(), cpus: vec![position as u16] }),
            }
        }
        designs
    }
}
