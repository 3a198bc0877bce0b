//! Reads hwloc's XML, as `lstopo machine.xml` writes it: versions 2 and 3, with kinds of CPUs.

use evenkeel_model::Hz;
use roxmltree::{Document, Node, ParsingOptions};

use crate::facts::{BINNED, CpuFacts, Design, FAVOURED, Facts};
use crate::kinds::{Says, Source};
use crate::{Shared, Topology, list};

/// More than the XML of the largest machine has.
const NODES: u32 = 1_000_000;

impl Topology {
    /// Reads a machine from the text of an XML file.
    ///
    /// # Errors
    /// Text that is no XML, or not of hwloc, or without a CPU.
    pub fn from_hwloc(text: &str) -> Result<Self, String> {
        // hwloc's files name a document type.
        let options = ParsingOptions { allow_dtd: true, nodes_limit: NODES, ..ParsingOptions::default() };
        let document = Document::parse_with_options(text, options).map_err(|error| format!("no XML: {error}"))?;
        let root = document.root_element();
        if root.tag_name().name() != "topology" {
            return Err(format!("<{}>: expected hwloc's <topology>", root.tag_name().name()));
        }
        let allowed = objects(root, "Machine").find_map(|machine| set(machine.attribute("allowed_cpuset")?));
        let kinds: Vec<HwlocKind<'_, '_>> = root.children().filter_map(HwlocKind::of).collect();
        let mut cpus: Vec<CpuFacts> = objects(root, "PU").filter_map(|node| cpu(node, &kinds)).collect();
        cpus.retain(|cpu| allowed.as_ref().is_none_or(|allowed| allowed.contains(&cpu.id)));
        cpus.sort_by_key(|cpu| cpu.id);
        cpus.dedup_by_key(|cpu| cpu.id);
        if cpus.is_empty() {
            return Err("a topology without a CPU: expected an object of type PU with an os_index".into());
        }
        for node in objects(root, "NUMANode") {
            let number = node.attribute("os_index").and_then(|index| index.parse().ok());
            let (Some(number), Some(members)) = (number, node.attribute("cpuset").and_then(set)) else { continue };
            cpus.iter_mut().filter(|cpu| members.contains(&cpu.id)).for_each(|cpu| cpu.node = number);
        }
        let designs = kinds.iter().filter_map(|kind| Some(Design { name: kind.design()?, cpus: kind.cpus.clone() }));
        let facts = Facts {
            origin: "hwloc XML",
            clock: "hwloc XML",
            model: model(root),
            sources: sources(&cpus, &kinds),
            designs: merged(designs),
            cpus,
            power: None,
            sustained: None,
            notes: Vec::new(),
        };
        Ok(facts.topology())
    }
}

/// The objects of a type.
fn objects<'a, 'input: 'a>(root: Node<'a, 'input>, kind: &'a str) -> impl Iterator<Item = Node<'a, 'input>> {
    root.descendants().filter(move |node| node.has_tag_name("object") && node.attribute("type") == Some(kind))
}

/// What is said about a name in the `<info>` of a node.
fn info<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    let named = |info: &Node<'_, '_>| info.has_tag_name("info") && info.attribute("name") == Some(name);
    node.children().find(named)?.attribute("value").filter(|value| !value.is_empty())
}

/// The board or the processor.
fn model(root: Node<'_, '_>) -> Option<String> {
    let processor = || objects(root, "Package").find_map(|package| info(package, "CPUModel"));
    let board = || objects(root, "Machine").find_map(|machine| info(machine, "PlatformModel"));
    board().or_else(processor).map(|name| name.trim().to_owned())
}

/// A processing unit with what it is part of.
fn cpu(node: Node<'_, '_>, kinds: &[HwlocKind<'_, '_>]) -> Option<CpuFacts> {
    let id: u16 = node.attribute("os_index")?.parse().ok().filter(|id| *id < list::CPUS)?;
    let parents = || node.ancestors().filter(|parent| parent.has_tag_name("object"));
    let of = |kind: &str| parents().find(|parent| parent.attribute("type") == Some(kind));
    let members = |node: Node<'_, '_>| set(node.attribute("cpuset")?).filter(|cpus| cpus.contains(&id));
    let shared = |node: Node<'_, '_>, what: &str, cache: bool| {
        Some(Shared { cpus: members(node)?, what: what.to_owned(), cache })
    };
    // The outermost cache that holds data.
    let caches = parents().filter(|parent| {
        let cache = parent.attribute("type").is_some_and(|kind| kind.ends_with("Cache") && kind != "MemCache");
        cache && parent.attribute("cache_type") != Some("2")
    });
    let last = caches.last();
    let frequency = kinds.iter().find(|kind| kind.cpus.contains(&id)).and_then(|kind| kind.number("FrequencyMaxMHz"));
    Some(CpuFacts {
        id,
        threads: of("Core").and_then(members).unwrap_or_default(),
        node: 0,
        frequencies: frequency.map(|mhz| Hz((mhz * 1e6) as u64)).into_iter().collect(),
        base: None,
        powers: Vec::new(),
        cache: last.and_then(|cache| shared(cache, cache.attribute("type").unwrap_or_default(), true)),
        cluster: None,
        package: of("Package").or_else(|| of("Machine")).and_then(|package| shared(package, "package", false)),
    })
}

/// A `<cpukind>`.
struct HwlocKind<'a, 'input> {
    node: Node<'a, 'input>,
    cpus: Vec<u16>,
}

impl<'a, 'input> HwlocKind<'a, 'input> {
    fn of(node: Node<'a, 'input>) -> Option<Self> {
        let cpus = node.has_tag_name("cpukind").then(|| node.attribute("cpuset")).flatten().and_then(set)?;
        Some(Self { node, cpus })
    }

    fn number(&self, name: &str) -> Option<f64> {
        info(self.node, name)?.parse::<u32>().ok().filter(|number| *number > 0).map(f64::from)
    }

    /// Its name in hwloc: `IntelAtom`, or the first of `apple,icestorm;ARM,v8`.
    fn design(&self) -> Option<String> {
        let first =
            |names: &'a str| names.split(';').next().map(|name| name.split_once(',').map_or(name, |(_, name)| name));
        info(self.node, "CoreType").or_else(|| info(self.node, "DarwinCompatible").and_then(first)).map(str::to_owned)
    }
}

/// What says how fast the CPUs are, the most precise first.
fn sources(cpus: &[CpuFacts], kinds: &[HwlocKind<'_, '_>]) -> Vec<Source> {
    let kind_of = |cpu: &CpuFacts| kinds.iter().position(|kind| kind.cpus.contains(&cpu.id));
    let Some(of): Option<Vec<usize>> = cpus.iter().map(kind_of).collect() else { return Vec::new() };
    let speed = |name: &str, gap: f64| {
        let values: Vec<f64> = of.iter().map(|kind| kinds[*kind].number(name)).collect::<Option<_>>()?;
        Some(Source { name: name.to_owned(), says: Says::Speed { values, gap } })
    };
    let order = |name: &str, rank: &dyn Fn(usize) -> Option<usize>| {
        let kinds: Vec<usize> = of.iter().map(|kind| rank(*kind)).collect::<Option<_>>()?;
        Some(Source { name: name.to_owned(), says: Says::Kind(kinds) })
    };
    let intel = |kind: usize| {
        ["IntelCore", "IntelAtom"].iter().position(|name| info(kinds[kind].node, "CoreType") == Some(name))
    };
    // hwloc counts efficiency upwards, and writes 0 for all unless it was set by hand.
    let efficiency = |kind: usize| kinds[kind].node.attribute("forced_efficiency")?.parse::<i32>().ok();
    let by_hand = kinds.iter().enumerate().any(|(kind, _)| efficiency(kind).is_some_and(|efficiency| efficiency != 0));
    let forced = |kind: usize| {
        let above = efficiency(kind).filter(|_| by_hand).map(|own| i64::from(i32::MAX) - i64::from(own))?;
        usize::try_from(above).ok()
    };
    let mut sources: Vec<Source> = [
        speed("LinuxCapacity", BINNED),
        order("CoreType", &intel),
        order("forced_efficiency", &forced),
        speed("FrequencyMaxMHz", FAVOURED),
    ]
    .into_iter()
    .flatten()
    .collect();
    // hwloc ranks its kinds, the most efficient first, but by any difference of frequency: the last resort.
    if !sources.iter().any(|source| matches!(source.says, Says::Speed { .. })) && kinds.len() > 1 {
        sources.extend(order("order of the kinds", &|kind| Some(kinds.len() - kind)));
    }
    sources
}

/// Designs of the same name are one.
fn merged(designs: impl Iterator<Item = Design>) -> Vec<Design> {
    let mut merged: Vec<Design> = Vec::new();
    for design in designs {
        match merged.iter_mut().find(|known| known.name == design.name) {
            Some(known) => known.cpus.extend(design.cpus),
            None => merged.push(design),
        }
    }
    merged
}

/// The members of a set as hwloc writes it: 32 bits a word in hexadecimal, the highest first, an empty word for 0. None of
/// one that is no set, is infinite (`0xf...f`), or has a CPU whose number is too large.
fn set(text: &str) -> Option<Vec<u16>> {
    let words: Vec<&str> = text.trim().split(',').collect();
    if words.len() > usize::from(list::CPUS) / 32 {
        return None;
    }
    let mut cpus = Vec::new();
    for (position, word) in words.iter().rev().enumerate() {
        let digits = word.trim().trim_start_matches("0x");
        let bits = if digits.is_empty() { 0 } else { u32::from_str_radix(digits, 16).ok()? };
        cpus.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| (32 * position + bit) as u16));
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_read_as_hwloc_writes_them() {
        assert_eq!(set("0x0000000f"), Some(vec![0, 1, 2, 3]));
        assert_eq!(set("0x00000001,0x80000001"), Some(vec![0, 31, 32]));
        assert_eq!(set("0x1,,0x0"), Some(vec![64]));
        assert_eq!(set("0x0"), Some(vec![]));
        for bad in ["0xf...f", "0xg", "0x100000000", &"0x1,".repeat(40)] {
            assert_eq!(set(bad), None, "{bad}");
        }
    }
}
