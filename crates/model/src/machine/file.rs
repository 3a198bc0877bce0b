//! Machine files: TOML in which every value says where it comes from.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, IgnoredAny, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use super::{Cluster, Core, CoreType, Costs, Machine, Opp};
use crate::names::{name, printable, suggestion};
use crate::words::{number as digits, of_toml};
use crate::{Behaviour, ClusterId, CoreId, CoreSet, CoreTypeId, Hz, Ns, Volts};

/// What is wrong with a machine file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct MachineError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, what was expected, and what to do.
    pub message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    #[serde(deserialize_with = "name")]
    name: String,
    description: String,
    #[serde(default)]
    core: BTreeMap<String, Spanned<CoreText>>,
    #[serde(default)]
    cluster: Vec<Spanned<ClusterText>>,
    memory_gbps: Option<Sourced<f64>>,
    costs: CostsText,
}

/// A value and where it comes from: a document, or `assumed` with the reasoning.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sourced<T> {
    value: Spanned<T>,
    source: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CoreText {
    width: Sourced<f64>,
    extract: Sourced<f64>,
    overlap: Sourced<f64>,
    /// Pairs of MHz and volts.
    opps: Sourced<Vec<Pair>>,
    activity: Sourced<f64>,
    leakage: Sourced<f64>,
    idle_share: Sourced<f64>,
    smt: Option<Sourced<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClusterText {
    #[serde(deserialize_with = "name")]
    name: String,
    core: Spanned<String>,
    cores: Sourced<CoreList>,
    /// How many hardware threads a core has; those of a core stand one after the other in `cores`.
    threads: Option<Spanned<u16>>,
    #[serde(default)]
    node: u8,
    /// A number that clusters with the same last-level cache have in common.
    cache: Option<u16>,
    cache_mb: Option<Sourced<f64>>,
    memory_gbps: Option<Sourced<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CostsText {
    context_switch_us: Sourced<f64>,
    process_switch_us: Option<Sourced<f64>>,
    wake_us: Option<Sourced<f64>>,
    take_us: Option<Sourced<f64>>,
    futex_us: Option<Sourced<f64>>,
    line_in_cluster_us: Option<Sourced<f64>>,
    line_across_clusters_us: Option<Sourced<f64>>,
    migrate_in_cluster_us: Sourced<f64>,
    migrate_across_clusters_us: Sourced<f64>,
    remote_memory: Option<Sourced<f64>>,
    dvfs_transition_us: Sourced<f64>,
    tick_us: Sourced<f64>,
}

/// Core numbers, one by one or in ranges.
struct CoreList(Vec<u16>);

impl<'de> Deserialize<'de> for CoreList {
    fn deserialize<D: Deserializer<'de>>(text: D) -> Result<Self, D::Error> {
        text.deserialize_any(CoreNumbers)
    }
}

struct CoreNumbers;

impl<'de> Visitor<'de> for CoreNumbers {
    type Value = CoreList;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("core numbers, such as [0, 1, 2] or \"0-511,600\"")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<CoreList, A::Error> {
        let mut cores = Vec::new();
        while let Some(core) = list.next_element()? {
            cores.push(core);
        }
        Ok(CoreList(cores))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<CoreList, E> {
        let mut cores = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |digits: &str| digits.trim().parse::<u16>().ok().filter(|core| *core < MOST);
            match (number(first), number(last)) {
                (Some(first), Some(last)) if first <= last => cores.extend(first..=last),
                _ => return Err(E::invalid_value(Unexpected::Str(text), &self)),
            }
        }
        Ok(CoreList(cores))
    }
}

/// More than this no core number is.
const MOST: u16 = CoreSet::MAX_CORES as u16;

/// Exactly two numbers.
struct Pair(f64, f64);

impl<'de> Deserialize<'de> for Pair {
    fn deserialize<D: Deserializer<'de>>(text: D) -> Result<Self, D::Error> {
        text.deserialize_seq(TwoNumbers)
    }
}

struct TwoNumbers;

impl<'de> Visitor<'de> for TwoNumbers {
    type Value = Pair;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a pair [MHz, volts]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Pair, A::Error> {
        let mut next = |at| list.next_element()?.ok_or_else(|| de::Error::invalid_length(at, &self));
        let pair = Pair(next(0)?, next(1)?);
        match list.next_element::<IgnoredAny>()? {
            None => Ok(pair),
            Some(_) => Err(de::Error::invalid_length(3, &self)),
        }
    }
}

/// A place in the file and what is wrong there.
struct Fault(usize, String);

type Checked<T> = Result<T, Fault>;

impl Machine {
    /// Reads a machine from the text of a file. Core types that the file does not define itself are looked up in
    /// `machines/cores.toml`.
    ///
    /// # Errors
    /// Text that is no TOML, lacks a value or its source, or describes a machine that cannot exist.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, MachineError> {
        let located = |Fault(at, message)| {
            let line = text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1;
            MachineError { file: file.to_owned(), line, message }
        };
        let parsed: FileText = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            located(Fault(at, of_toml(&error, text)))
        })?;
        build(parsed).map_err(located)
    }
}

fn build(text: FileText) -> Checked<Machine> {
    let library = library()?;
    if text.cluster.is_empty() {
        let message = "a machine without cores: expected at least one [[cluster]] with `core` and `cores`";
        return Err(Fault(0, message.into()));
    }
    let mut kinds: Vec<CoreType> = Vec::new();
    for cluster in &text.cluster {
        let name = cluster.get_ref().core.get_ref();
        printable(name).map_err(|message| Fault(cluster.get_ref().core.span().start, message))?;
        if kinds.iter().any(|kind| kind.name == *name) {
            continue;
        }
        let Some(core) = text.core.get(name).or_else(|| library.get(name)) else {
            let known = text.core.keys().chain(library.keys()).map(String::as_str);
            let hint = suggestion(name, known);
            return Err(Fault(cluster.get_ref().core.span().start, format!("unknown core type {name:?}: {hint}")));
        };
        if kinds.len() >= usize::from(u8::MAX) {
            let message = format!("core type {name:?}: a machine has at most {} types of cores", u8::MAX);
            return Err(Fault(cluster.get_ref().core.span().start, message));
        }
        kinds.push(core_type(name, core.get_ref())?);
    }
    // Fastest first, so that the first is "big" and the last is "little".
    let speed = |kind: &CoreType| {
        let ipc = (Behaviour::REFERENCE.ilp * kind.extract).min(kind.width);
        ipc * kind.max_frequency().per_ns()
    };
    kinds.sort_by(|a, b| speed(b).total_cmp(&speed(a)).then_with(|| a.name.cmp(&b.name)));
    let (clusters, cores, siblings) = layout(&text, &kinds)?;
    Ok(Machine {
        name: text.name,
        description: text.description,
        core_types: kinds,
        clusters,
        cores,
        siblings,
        memory_gbps: memory(text.memory_gbps.as_ref())?,
        costs: costs(&text.costs)?,
    })
}

fn layout(text: &FileText, kinds: &[CoreType]) -> Checked<(Vec<Cluster>, Vec<Core>, Vec<CoreSet>)> {
    let total: usize = text.cluster.iter().map(|cluster| cluster.get_ref().cores.value.get_ref().0.len()).sum();
    let mut owner: Vec<Option<Core>> = vec![None; total];
    let (mut clusters, mut siblings) = (Vec::new(), Vec::new());
    for (index, cluster) in text.cluster.iter().enumerate() {
        let cluster = cluster.get_ref();
        let at = cluster.cores.value.span().start;
        sourced(&cluster.cores)?;
        if clusters.iter().any(|other: &Cluster| other.name == cluster.name) {
            return Err(Fault(at, format!("two clusters are called {:?}: expected a name of its own", cluster.name)));
        }
        if cluster.cores.value.get_ref().0.is_empty() {
            return Err(Fault(at, format!("cluster {:?} has no cores: expected core numbers", cluster.name)));
        }
        if total > CoreSet::MAX_CORES {
            return Err(Fault(at, format!("{total} cores: a machine has at most {}", CoreSet::MAX_CORES)));
        }
        let name = cluster.core.get_ref();
        let kind = kinds.iter().position(|kind| kind.name == *name).unwrap_or_default();
        let core = Core { core_type: CoreTypeId(kind as u8), cluster: ClusterId(index as u16) };
        for number in &cluster.cores.value.get_ref().0 {
            match owner.get_mut(usize::from(*number)) {
                None => {
                    let message =
                        format!("core {number} of {total}: the clusters must number the cores 0 to {}", total - 1);
                    return Err(Fault(at, message));
                }
                Some(Some(_)) => return Err(Fault(at, format!("core {number} is listed twice"))),
                Some(free) => *free = Some(core),
            }
        }
        let threads = threads(cluster, &kinds[kind])?;
        if threads > 1 {
            let of_a_core = |numbers: &[u16]| -> CoreSet { numbers.iter().copied().map(CoreId).collect() };
            siblings.extend(cluster.cores.value.get_ref().0.chunks(threads).map(of_a_core));
        }
        let cache = first_sharing(text, index);
        clusters.push(Cluster {
            name: cluster.name.clone(),
            core_type: core.core_type,
            cores: cluster.cores.value.get_ref().0.iter().map(|number| CoreId(*number)).collect(),
            node: cluster.node,
            cache: cache as u16,
            cache_mb: cache_mb(cluster, clusters.get(cache))?,
            memory_gbps: memory(cluster.memory_gbps.as_ref())?,
        });
    }
    // As many numbers as cores, none twice, none out of range: every core has an owner.
    Ok((clusters, owner.into_iter().flatten().collect(), siblings))
}

/// How many hardware threads a core of a cluster has.
fn threads(cluster: &ClusterText, kind: &CoreType) -> Checked<usize> {
    let Some(text) = &cluster.threads else { return Ok(1) };
    let (threads, cores) = (usize::from(*text.get_ref()), cluster.cores.value.get_ref().0.len());
    let fault = |message: String| Err(Fault(text.span().start, message));
    if threads == 0 || cores % threads != 0 {
        return fault(format!(
            "threads = {threads}: expected a number that divides the {cores} cores of {:?}",
            cluster.name
        ));
    }
    if threads > 1 && kind.smt <= 1.0 {
        let name = &kind.name;
        return fault(format!(
            "threads = {threads}: expected core type {name:?} to say with `smt` how much more two get done than one"
        ));
    }
    Ok(threads)
}

fn memory(text: Option<&Sourced<f64>>) -> Checked<Option<f64>> {
    text.map(|value| number(value, "memory_gbps", 0.001, 1e5)).transpose()
}

/// How much the last-level cache of a cluster holds, whose first cluster this is not if there is a `first`.
fn cache_mb(cluster: &ClusterText, first: Option<&Cluster>) -> Checked<Option<f64>> {
    let Some(text) = &cluster.cache_mb else { return Ok(first.and_then(|first| first.cache_mb)) };
    let megabytes = number(text, "cache_mb", 0.001, 1e5)?;
    match first {
        Some(Cluster { name, cache_mb, .. }) if *cache_mb != Some(megabytes) => {
            let theirs =
                cache_mb.map_or_else(|| "no `cache_mb`".to_owned(), |megabytes| format!("cache_mb = {megabytes}"));
            let message = format!(
                "cache_mb = {megabytes}: expected the same in all clusters that share the cache, but {name:?} has {theirs}"
            );
            Err(Fault(text.value.span().start, message))
        }
        _ => Ok(Some(megabytes)),
    }
}

/// The first cluster with the same last-level cache as this one.
fn first_sharing(text: &FileText, index: usize) -> usize {
    let cache = |cluster: &Spanned<ClusterText>| cluster.get_ref().cache;
    let own = cache(&text.cluster[index]);
    own.and_then(|_| text.cluster.iter().position(|other| cache(other) == own)).unwrap_or(index)
}

fn core_type(name: &str, text: &CoreText) -> Checked<CoreType> {
    let opps = text.opps.value.get_ref();
    let at = text.opps.value.span().start;
    sourced(&text.opps)?;
    let ascending = opps.windows(2).all(|pair| pair[0].0 < pair[1].0);
    // A core below 1 kHz would take simulated hours for anything.
    let sane = |opp: &Pair| (0.001..=20_000.0).contains(&opp.0) && opp.1 > 0.0 && opp.1 <= 10.0;
    if opps.is_empty() || !ascending || !opps.iter().all(sane) {
        let message = format!(
            "opps of {name:?}: expected pairs [MHz, volts], from the lowest frequency up, 0.001 to 20000 MHz and up to 10 V"
        );
        return Err(Fault(at, message));
    }
    let opp = |Pair(mhz, volts): &Pair| Opp { frequency: Hz((mhz * 1e6).round() as u64), voltage: Volts(*volts) };
    Ok(CoreType {
        name: name.to_owned(),
        width: number(&text.width, "width", 0.01, 64.0)?,
        extract: number(&text.extract, "extract", 0.01, 1.0)?,
        overlap: number(&text.overlap, "overlap", 0.0, 0.99)?,
        opps: opps.iter().map(opp).collect(),
        activity: number(&text.activity, "activity", 0.0, 1000.0)?,
        leakage: number(&text.leakage, "leakage", 0.0, 1000.0)?,
        idle_share: number(&text.idle_share, "idle_share", 0.0, 1.0)?,
        smt: text.smt.as_ref().map_or(Ok(1.0), |value| number(value, "smt", 1.0, 2.0))?,
    })
}

fn costs(text: &CostsText) -> Checked<Costs> {
    let us = |value: &Sourced<f64>, name, least| Ok(Ns((number(value, name, least, 1e6)? * 1000.0).round() as u64));
    let optional = |value: &Option<_>, name| value.as_ref().map_or(Ok(Ns::ZERO), |value| us(value, name, 0.0));
    let remote = text.remote_memory.as_ref().map(|value| number(value, "remote_memory", 1.0, 100.0));
    Ok(Costs {
        context_switch: us(&text.context_switch_us, "context_switch_us", 0.0)?,
        process_switch: optional(&text.process_switch_us, "process_switch_us")?,
        wake: optional(&text.wake_us, "wake_us")?,
        take: optional(&text.take_us, "take_us")?,
        futex: optional(&text.futex_us, "futex_us")?,
        line_in_cluster: optional(&text.line_in_cluster_us, "line_in_cluster_us")?,
        line_across_clusters: optional(&text.line_across_clusters_us, "line_across_clusters_us")?,
        migrate_in_cluster: us(&text.migrate_in_cluster_us, "migrate_in_cluster_us", 0.0)?,
        migrate_across_clusters: us(&text.migrate_across_clusters_us, "migrate_across_clusters_us", 0.0)?,
        remote_memory: remote.unwrap_or(Ok(1.0))?,
        dvfs_transition: us(&text.dvfs_transition_us, "dvfs_transition_us", 0.0)?,
        tick: us(&text.tick_us, "tick_us", 10.0)?,
    })
}

fn number(text: &Sourced<f64>, name: &str, least: f64, most: f64) -> Checked<f64> {
    sourced(text)?;
    let value = *text.value.get_ref();
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(Fault(text.value.span().start, format!("{name} = {}: expected a number from {least} to {most}", digits(value))))
}

fn sourced<T>(text: &Sourced<T>) -> Checked<()> {
    if text.source.get_ref().trim().is_empty() {
        let message = "an empty source: name the document that the value is from, or write \"assumed: why\"";
        return Err(Fault(text.source.span().start, message.into()));
    }
    Ok(())
}

/// Core types that machine files share, as they are written.
pub const LIBRARY: &str = include_str!("../../machines/cores.toml");

/// The core types that machine files share.
fn library() -> Checked<BTreeMap<String, Spanned<CoreText>>> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Library {
        core: BTreeMap<String, Spanned<CoreText>>,
    }
    let library: Library =
        toml::from_str(LIBRARY).map_err(|error| Fault(0, format!("machines/cores.toml: {}", error.message())))?;
    Ok(library.core)
}
