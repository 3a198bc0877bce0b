//! What `topology` prints.

use serde::Serialize;

/// A machine's cores: of this machine, or of the one that FILE describes.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Topology<'a> {
    /// What it was read from: `sysfs`, `hwloc XML` or `devicetree`.
    pub origin: &'a str,
    /// The board or the processor; `null` if nothing names it.
    pub model: Option<&'a str>,
    /// The kinds of cores, fastest first.
    pub kinds: Vec<CoreKind<'a>>,
    /// The CPUs that share a last-level cache, or what comes nearest.
    pub clusters: Vec<SharingCpus<'a>>,
    /// The CPUs that are online, ascending.
    pub cpus: Vec<OnlineCpu<'a>>,
    /// What `powers` of the CPUs are from, such as `Energy Model`; `null` if nothing says what CPUs use.
    pub power: Option<&'a str>,
    /// What all CPUs together can use for long; `null` if nothing says it.
    pub sustained: Option<SustainedPower<'a>>,
    /// Sentences: sources that contradict each other, what was assumed.
    pub notes: &'a [String],
    /// What can be seen and controlled on this machine; `null` if a FILE was read.
    pub abilities: Option<Vec<AbilityEntry<'a>>>,
}

/// A kind of core.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CoreKind<'a> {
    /// `big`, `middle` or `little`.
    pub name: &'a str,
    /// Such as `cortex-a76`; `null` if not known.
    pub design: Option<&'a str>,
    /// What a core of it can do: 1024 is the biggest core at its highest frequency.
    pub capacity: u32,
    /// Where the capacity is from.
    pub source: &'a str,
    /// The numbers of its CPUs.
    pub cpus: Vec<u16>,
}

/// CPUs that share something.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SharingCpus<'a> {
    /// Their numbers.
    pub cpus: &'a [u16],
    /// What they share, and where that is from.
    pub shared: &'a str,
}

/// A CPU.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OnlineCpu<'a> {
    /// Its number.
    pub id: u16,
    /// The name of its kind.
    pub kind: &'a str,
    /// The position of its cluster in `clusters`.
    pub cluster: usize,
    /// The CPUs of its core, itself among them.
    pub siblings: &'a [u16],
    /// Its memory node.
    pub node: u16,
    /// What it can be set to, ascending, in hertz; only the lowest and the highest where no more is known.
    pub frequencies_hz: Vec<u64>,
    /// The frequency that it sustains while all others are busy, in hertz; `null` if the firmware does not say it.
    pub base_hz: Option<u64>,
    /// What it uses while it is busy, ascending by frequency; empty if nothing says it.
    pub powers: Vec<PowerAt>,
}

/// What a busy CPU uses at a frequency.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PowerAt {
    /// The frequency, in hertz.
    pub frequency_hz: u64,
    /// What it uses, in watts.
    pub watts: f64,
}

/// A power that can be used for long.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SustainedPower<'a> {
    /// How much, in watts.
    pub watts: f64,
    /// What says it: RAPL, a thermal zone.
    pub source: &'a str,
}

/// Something that can be seen or controlled.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AbilityEntry<'a> {
    /// Its name: eBPF, KVM, counters, ...
    pub name: &'a str,
    /// Whether it is there.
    pub available: bool,
    /// How it stands, or why it is not there.
    pub detail: &'a str,
    /// What to do to have it; `null` where it is there or nothing helps.
    pub remedy: Option<&'a str>,
    /// What is lost without it.
    pub without: &'a str,
}
