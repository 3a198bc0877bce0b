//! What `machines`, `policies` and `workloads` print.

use evenkeel_model::Machine;
use evenkeel_model::stealing::{TECHNIQUES, TechniqueInfo};
use evenkeel_sched::governor::{GOVERNORS, GovernorInfo};
use evenkeel_sched::policy::{Description, Knob, POLICIES};
use evenkeel_workload::mix::{self, Mix};
use evenkeel_workload::suite::{self, ProgramInfo};
use serde::Serialize;

/// The machines that come with Evenkeel.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Machines<'a> {
    /// One entry a machine.
    pub machines: Vec<MachineEntry<'a>>,
}

/// A machine.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MachineEntry<'a> {
    /// Its name.
    pub name: &'a str,
    /// A sentence.
    pub description: &'a str,
    /// One entry a cluster.
    pub clusters: Vec<ClusterEntry<'a>>,
}

/// A cluster of a machine.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClusterEntry<'a> {
    /// Its name.
    pub name: &'a str,
    /// The name of its core type.
    pub core_type: &'a str,
    /// The numbers of its cores.
    pub cores: Vec<u16>,
    /// What a core of it can do: 1024 is the biggest core at its highest frequency.
    pub capacity: u32,
    /// Its highest frequency, in hertz.
    pub max_frequency_hz: u64,
}

impl<'a> Machines<'a> {
    /// Of these machines.
    pub fn of(machines: &'a [Machine]) -> Self {
        Self { machines: machines.iter().map(MachineEntry::from).collect() }
    }
}

impl<'a> From<&'a Machine> for MachineEntry<'a> {
    fn from(machine: &'a Machine) -> Self {
        let cluster = |cluster: &'a evenkeel_model::Cluster| {
            let core_type = &machine.core_types[cluster.core_type.index()];
            ClusterEntry {
                name: &cluster.name,
                core_type: &core_type.name,
                cores: cluster.cores.iter().map(|core| core.0).collect(),
                capacity: machine.capacity(cluster.core_type),
                max_frequency_hz: core_type.max_frequency().0,
            }
        };
        Self {
            name: &machine.name,
            description: &machine.description,
            clusters: machine.clusters.iter().map(cluster).collect(),
        }
    }
}

/// The scheduling policies, the governors of frequencies, and the techniques of the runtime.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Policies {
    /// One entry a policy.
    pub policies: Vec<PolicyEntry>,
    /// One entry a governor of frequencies.
    pub governors: Vec<GovernorEntry>,
    /// What the work-stealing runtime can do about cores that differ: `none` and `base`, with which a name starts, and the letters after its `+`.
    pub techniques: Vec<TechniqueEntry>,
}

/// A policy.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyEntry {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// The paper, or the kernel, that it is from.
    pub source: &'static str,
    /// What can be set.
    pub knobs: Vec<KnobEntry>,
}

/// A knob of a policy.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KnobEntry {
    /// Its name.
    pub name: &'static str,
    /// What it sets.
    pub summary: &'static str,
    /// Its value unless it is set.
    pub default: String,
    /// The words that it may be; none if it is a switch, a time or a number.
    pub words: &'static [&'static str],
}

/// A governor of frequencies.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GovernorEntry {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// Where it is from.
    pub source: &'static str,
}

/// A technique of the work-stealing runtime, or a name that others start from.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TechniqueEntry {
    /// What it is in a name such as `base+psm`.
    pub name: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// The paper that it is from, and the section.
    pub source: &'static str,
}

impl Policies {
    /// All that there are.
    pub fn all() -> Self {
        Self {
            policies: POLICIES.iter().copied().map(PolicyEntry::of).collect(),
            governors: GOVERNORS.iter().map(GovernorEntry::of).collect(),
            techniques: TECHNIQUES.iter().map(TechniqueEntry::of).collect(),
        }
    }
}

impl PolicyEntry {
    fn of(policy: &Description) -> Self {
        let knob = |knob: &Knob| KnobEntry {
            name: knob.name,
            summary: knob.summary,
            default: knob.value.to_string(),
            words: knob.value.words(),
        };
        let knobs = policy.knobs.iter().map(knob).collect();
        Self { name: policy.name, summary: policy.summary, source: policy.source, knobs }
    }
}

impl GovernorEntry {
    fn of(governor: &GovernorInfo) -> Self {
        Self { name: governor.name, summary: governor.summary, source: governor.source }
    }
}

impl TechniqueEntry {
    fn of(technique: &TechniqueInfo) -> Self {
        Self { name: technique.name, summary: technique.summary, source: technique.source }
    }
}

/// The programs and mixes that come with Evenkeel.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Workloads {
    /// One entry a program of threads.
    pub programs: Vec<ProgramEntry>,
    /// One entry a program made of tasks.
    pub task_programs: Vec<TaskProgramEntry>,
    /// One entry a mix.
    pub mixes: Vec<MixEntry>,
}

/// A program of threads.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProgramEntry {
    /// Its name.
    pub name: &'static str,
    /// A sentence.
    pub description: &'static str,
    /// Where its numbers are from.
    pub source: &'static str,
    /// Its thread parameter unless told otherwise, as `ferret:8` does; main threads and pipeline stages come on top.
    pub threads: u32,
    /// The largest thread parameter; `null` for no limit.
    pub max_threads: Option<u32>,
}

/// A program made of tasks.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TaskProgramEntry {
    /// Its name.
    pub name: &'static str,
    /// A sentence.
    pub description: &'static str,
    /// Where its numbers are from.
    pub source: &'static str,
}

/// A mix of programs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MixEntry {
    /// Its name.
    pub name: &'static str,
    /// Its class.
    pub class: &'static str,
    /// Its programs, with their thread parameters.
    pub programs: &'static [String],
    /// The threads of all programs together, as COLAB's Table 4 prints them.
    pub threads: u32,
}

impl Workloads {
    /// All that there are.
    pub fn all() -> Self {
        Self {
            programs: suite::programs().map(ProgramEntry::of).collect(),
            task_programs: suite::task_programs().map(TaskProgramEntry::of).collect(),
            mixes: mix::mixes().map(MixEntry::of).collect(),
        }
    }
}

impl ProgramEntry {
    fn of(program: ProgramInfo) -> Self {
        let ProgramInfo { name, description, source, default_threads, max_threads, .. } = program;
        Self { name, description, source, threads: default_threads, max_threads }
    }
}

impl TaskProgramEntry {
    fn of(program: ProgramInfo) -> Self {
        let ProgramInfo { name, description, source, .. } = program;
        Self { name, description, source }
    }
}

impl MixEntry {
    fn of(mix: &'static Mix) -> Self {
        Self { name: &mix.id, class: &mix.class, programs: &mix.programs, threads: mix.threads }
    }
}
