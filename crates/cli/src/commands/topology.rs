//! `evenkeel topology`: what a machine is, and what can be seen and controlled on it.

use std::fmt::Write;

use anyhow::{Context, Error, Result};
use evenkeel_linux::probe::{self, Capability};
use evenkeel_linux::{mask, overheads};
use evenkeel_model::Hz;
use evenkeel_report::table;
use evenkeel_topology::{Cpu, CpuType, Shared, Topology, list, root};

use crate::args::{Format, Topology as Arguments};
use crate::files::{Target, Unwritten};
use crate::json;

/// Runs the command.
pub fn run(args: &Arguments) -> Result<String> {
    let save = Target::open_some(args.save.as_ref())?;
    let (big, little, ratio) = (args.cores.big.as_deref(), args.cores.little.as_deref(), args.cores.ratio);
    let topology = match &args.file {
        Some(file) => Topology::from_file(file).and_then(|found| found.with(big, little, ratio)),
        None => Topology::of_this_machine_with(big, little, ratio),
    };
    let mut topology = topology.map_err(Error::msg)?;
    let mut written = Ok(());
    if let (Some(target), Some(path)) = (save, &args.save) {
        if args.file.is_none() {
            let usable = mask::own().context("cannot read which CPUs this process may use")?;
            topology.overheads = overheads::measure(&topology.within(&usable));
        }
        let name = path.file_stem().map_or("machine".into(), |stem| stem.to_string_lossy());
        written = target.write(topology.to_toml(&name).map_err(Error::msg)?.as_bytes());
    }
    let capabilities = match &args.file {
        Some(_) => None,
        // Of all CPUs, those that --big and --little leave out among them.
        None => Some(probe::all(&Topology::read(&root()).map_err(Error::msg)?.ids())),
    };
    let report = match args.output.format {
        Format::Json => json::print(&document(&topology, capabilities.as_deref()))?,
        Format::Table => {
            let name = topology.model.clone().or_else(|| Some(args.file.as_ref()?.display().to_string()));
            text(&name.unwrap_or("this machine".into()), &topology, capabilities.as_deref())
        }
    };
    Ok(Unwritten::report(written, report)?)
}

/// The topology for people.
fn text(name: &str, topology: &Topology, capabilities: Option<&[Capability]>) -> String {
    let (cpus, cores, nodes) = (topology.cpus.len(), topology.cores(), topology.nodes().len());
    let some = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let mut text = table::heading(&format!(
        "{name}: {}, {}, {} (from {})",
        some(cpus, "CPU"),
        some(cores, "core"),
        some(nodes, "memory node"),
        topology.origin
    ));
    text += &kinds(topology);
    text += &powers(topology);
    text += &clusters(topology);
    if let Some(capabilities) = capabilities {
        let mut rows = table::new(&["use", "", "state", "what helps", "without it"]);
        for capability in capabilities {
            let (mark, without) = if capability.available { ("yes", "") } else { ("no", capability.without) };
            let helps = capability.remedy.as_deref().unwrap_or_default();
            rows.add_row([capability.name, mark, &capability.detail, helps, without]);
        }
        let _ = write!(text, "\n{}", table::text(&rows));
    }
    for (position, note) in topology.notes.iter().enumerate() {
        let _ = writeln!(text, "{}note: {note}", if position == 0 { "\n" } else { "" });
    }
    text
}

fn kinds(topology: &Topology) -> String {
    let mut rows = table::new(&["kind", "design", ">capacity", "CPUs", "frequencies", "capacity is from"]);
    for (position, kind) in topology.kinds.iter().enumerate() {
        let design = kind.design.as_deref().unwrap_or("-");
        let cpus = topology.cpus_of(position);
        rows.add_row([
            kind.name.as_str(),
            design,
            &kind.capacity.to_string(),
            &list::text(&cpus),
            &range(topology, &cpus),
            &kind.source,
        ]);
    }
    table::text(&rows)
}

/// The lowest and the highest frequency of some CPUs.
fn range(topology: &Topology, cpus: &[u16]) -> String {
    let of = || cpus.iter().filter_map(|id| topology.cpu(*id));
    let ghz = |hz: Option<Hz>| hz.map_or("?".into(), |hz| format!("{:.2}", hz.per_ns()));
    let lowest = of().filter_map(Cpu::min).min_by_key(|hz| hz.0);
    let highest = of().filter_map(Cpu::max).max_by_key(|hz| hz.0);
    match (lowest, highest) {
        (None, None) => "not known".into(),
        (lowest, highest) if lowest == highest => format!("{} GHz", ghz(highest)),
        (lowest, highest) => format!("{} to {} GHz", ghz(lowest), ghz(highest)),
    }
}

/// What cores use, where something says it.
fn powers(topology: &Topology) -> String {
    let kind = |position: usize| {
        let powers = topology.powers_of(position);
        let (lowest, highest) = (powers.first()?.1.0, powers.last()?.1.0);
        Some(format!("{} {lowest:.2} to {highest:.2} W", topology.kinds[position].name))
    };
    let kinds: Vec<String> = (0..topology.kinds.len()).filter_map(kind).collect();
    let mut text = String::new();
    if let Some(source) = topology.power.filter(|_| !kinds.is_empty()) {
        let _ = writeln!(text, "a busy core uses: {} (from {source})", kinds.join(", "));
    }
    if let Some(sustained) = topology.sustained {
        let _ = writeln!(text, "all together sustain {:.2} W (from {})", sustained.power.0, sustained.source);
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn clusters(topology: &Topology) -> String {
    let mut rows = table::new(&["cluster", "CPUs", "threads a core", "memory node", "CPUs of a cluster share"]);
    for (position, shared) in topology.clusters.iter().enumerate() {
        let of = || topology.cpus.iter().filter(|cpu| cpu.cluster == position);
        let mut threads: Vec<u16> = of().map(|cpu| cpu.siblings.len() as u16).collect();
        let mut nodes: Vec<u16> = of().map(|cpu| cpu.node).collect();
        for numbers in [&mut threads, &mut nodes] {
            numbers.sort_unstable();
            numbers.dedup();
        }
        rows.add_row([
            &position.to_string(),
            &list::text(&shared.cpus),
            &list::text(&threads),
            &list::text(&nodes),
            &shared.what,
        ]);
    }
    format!("\n{}", table::text(&rows))
}

/// The document for programs.
fn document<'a>(topology: &'a Topology, capabilities: Option<&'a [Capability]>) -> json::Topology<'a> {
    let kind = |(position, kind): (usize, &'a CpuType)| json::CoreKind {
        name: &kind.name,
        design: kind.design.as_deref(),
        capacity: kind.capacity,
        source: &kind.source,
        cpus: topology.cpus_of(position),
    };
    let cpu = |cpu: &'a Cpu| json::OnlineCpu {
        id: cpu.id,
        kind: &topology.kinds[cpu.kind].name,
        cluster: cpu.cluster,
        siblings: &cpu.siblings,
        node: cpu.node,
        frequencies_hz: cpu.frequencies.iter().map(|hz| hz.0).collect(),
        base_hz: cpu.base.map(|hz| hz.0),
        powers: cpu.powers.iter().map(|(hz, watts)| json::PowerAt { frequency_hz: hz.0, watts: watts.0 }).collect(),
    };
    let capability = |capability: &'a Capability| json::AbilityEntry {
        name: capability.name,
        available: capability.available,
        detail: &capability.detail,
        remedy: capability.remedy.as_deref(),
        without: capability.without,
    };
    let cluster = |shared: &'a Shared| json::SharingCpus { cpus: &shared.cpus, shared: &shared.what };
    json::Topology {
        origin: topology.origin,
        model: topology.model.as_deref(),
        kinds: topology.kinds.iter().enumerate().map(kind).collect(),
        clusters: topology.clusters.iter().map(cluster).collect(),
        cpus: topology.cpus.iter().map(cpu).collect(),
        power: topology.power,
        sustained: topology.sustained.map(|found| json::SustainedPower { watts: found.power.0, source: found.source }),
        notes: &topology.notes,
        abilities: capabilities.map(|capabilities| capabilities.iter().map(capability).collect()),
    }
}
