//! `evenkeel machines`, `policies` and `workloads`: what there is.

use anyhow::Result;
use evenkeel_model::Machine;
use evenkeel_sched::governor::{GOVERNORS, GovernorInfo};
use evenkeel_sched::policy::{Knob, POLICIES, PolicyInfo};
use evenkeel_workload::mix::{self, Mix};
use evenkeel_workload::suite::{self, ProgramInfo};
use serde::Serialize;

use crate::args::{Format, Output};
use crate::{catalog, json, table};

/// Lists the machines.
pub fn machines(output: Output) -> Result<String> {
    let machines = catalog::all_machines()?;
    match output.format {
        Format::Json => {
            let machines: Vec<MachineEntry<'_>> = machines.iter().map(MachineEntry::of).collect();
            json::print(&Machines { machines })
        }
        Format::Table => {
            let mut rows = table::new(&["machine", ">cores", "clusters, capacity, highest frequency", "description"]);
            for machine in &machines {
                let clusters: Vec<String> = MachineEntry::of(machine).clusters.iter().map(ClusterEntry::text).collect();
                let cores = machine.cores.len().to_string();
                rows.add_row([machine.name.as_str(), &cores, &clusters.join("\n"), &machine.description]);
            }
            Ok(table::text(&rows))
        }
    }
}

/// Lists the policies, their knobs, and the governors.
pub fn policies(output: Output) -> Result<String> {
    let policies: Vec<PolicyEntry> = POLICIES.iter().map(PolicyEntry::of).collect();
    match output.format {
        Format::Json => {
            json::print(&Policies { policies, governors: GOVERNORS.iter().map(GovernorEntry::of).collect() })
        }
        Format::Table => {
            let mut rows = table::new(&["policy", "what it does", "source"]);
            let mut knobs = table::new(&["knob", ">default", "what it sets"]);
            let mut any = false;
            for policy in &policies {
                rows.add_row([policy.name, policy.summary, policy.source]);
                for knob in &policy.knobs {
                    any = true;
                    knobs.add_row([&format!("{}:{}", policy.name, knob.name), &knob.default, knob.summary]);
                }
            }
            let mut text = table::text(&rows);
            if any {
                text += "\nKnobs are set after the policy's name: --policy NAME:KNOB=VALUE:KNOB\n";
                text += &table::text(&knobs);
            }
            let mut governors = table::new(&["governor", "what it does", "source"]);
            for governor in GOVERNORS {
                governors.add_row([governor.name, governor.summary, governor.source]);
            }
            text += "\nA governor sets frequencies under any policy: --governor NAME\n";
            text += &table::text(&governors);
            Ok(text)
        }
    }
}

/// Lists the programs and mixes.
pub fn workloads(output: Output) -> Result<String> {
    let listed = Workloads {
        programs: suite::programs().map(ProgramEntry::of).collect(),
        task_programs: suite::task_programs().map(TaskProgramEntry::of).collect(),
        mixes: mix::mixes().map(MixEntry::of).collect(),
    };
    match output.format {
        Format::Json => json::print(&listed),
        Format::Table => {
            let mut programs = table::new(&["program", ">threads", ">at most", "description"]);
            for program in &listed.programs {
                let most = program.max_threads.map_or(String::new(), |most| most.to_string());
                programs.add_row([program.name, &program.threads.to_string(), &most, program.description]);
            }
            let mut tasks = table::new(&["made of tasks", "description"]);
            for program in &listed.task_programs {
                tasks.add_row([program.name, program.description]);
            }
            let mut mixes = table::new(&["mix", ">threads", "programs"]);
            for mix in &listed.mixes {
                mixes.add_row([mix.name, &mix.threads.to_string(), &mix.programs.join(" + ")]);
            }
            Ok([programs, tasks, mixes].map(|rows| table::text(&rows)).join("\n"))
        }
    }
}

#[derive(Serialize)]
struct Machines<'a> {
    machines: Vec<MachineEntry<'a>>,
}

#[derive(Serialize)]
struct MachineEntry<'a> {
    name: &'a str,
    description: &'a str,
    clusters: Vec<ClusterEntry<'a>>,
}

#[derive(Serialize)]
struct ClusterEntry<'a> {
    name: &'a str,
    core_type: &'a str,
    cores: Vec<u16>,
    capacity: u32,
    max_frequency_hz: u64,
}

impl<'a> MachineEntry<'a> {
    fn of(machine: &'a Machine) -> Self {
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

impl ClusterEntry<'_> {
    fn text(&self) -> String {
        let ghz = self.max_frequency_hz as f64 / 1e9;
        format!("{} x {}, {}, {ghz:.2} GHz", self.cores.len(), self.core_type, self.capacity)
    }
}

#[derive(Serialize)]
struct Policies {
    policies: Vec<PolicyEntry>,
    governors: Vec<GovernorEntry>,
}

#[derive(Serialize)]
struct PolicyEntry {
    name: &'static str,
    summary: &'static str,
    source: &'static str,
    knobs: Vec<KnobEntry>,
}

#[derive(Serialize)]
struct KnobEntry {
    name: &'static str,
    summary: &'static str,
    default: String,
}

impl PolicyEntry {
    fn of(policy: &PolicyInfo) -> Self {
        let knob = |knob: &Knob| KnobEntry { name: knob.name, summary: knob.summary, default: knob.value.to_string() };
        let knobs = policy.knobs.iter().map(knob).collect();
        Self { name: policy.name, summary: policy.summary, source: policy.source, knobs }
    }
}

#[derive(Serialize)]
struct GovernorEntry {
    name: &'static str,
    summary: &'static str,
    source: &'static str,
}

impl GovernorEntry {
    fn of(governor: &GovernorInfo) -> Self {
        Self { name: governor.name, summary: governor.summary, source: governor.source }
    }
}

#[derive(Serialize)]
struct Workloads {
    programs: Vec<ProgramEntry>,
    task_programs: Vec<TaskProgramEntry>,
    mixes: Vec<MixEntry>,
}

#[derive(Serialize)]
struct ProgramEntry {
    name: &'static str,
    description: &'static str,
    source: &'static str,
    threads: u32,
    max_threads: Option<u32>,
}

impl ProgramEntry {
    fn of(program: ProgramInfo) -> Self {
        let ProgramInfo { name, description, source, default_threads, max_threads, .. } = program;
        Self { name, description, source, threads: default_threads, max_threads }
    }
}

#[derive(Serialize)]
struct TaskProgramEntry {
    name: &'static str,
    description: &'static str,
    source: &'static str,
}

impl TaskProgramEntry {
    fn of(program: ProgramInfo) -> Self {
        let ProgramInfo { name, description, source, .. } = program;
        Self { name, description, source }
    }
}

#[derive(Serialize)]
struct MixEntry {
    name: &'static str,
    class: &'static str,
    programs: &'static [String],
    threads: u32,
}

impl MixEntry {
    fn of(mix: &'static Mix) -> Self {
        Self { name: &mix.id, class: &mix.class, programs: &mix.programs, threads: mix.threads }
    }
}
