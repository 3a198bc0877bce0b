//! What there is: machines, policies, workloads.

use evenkeel_model::Machine;

use crate::json::{ClusterEntry, Machines, Policies, Workloads};
use crate::table;

/// The machines.
pub fn machines(machines: &[Machine]) -> String {
    let mut rows = table::new(&["machine", ">cores", "clusters, capacity, highest frequency", "description"]);
    for (machine, entry) in machines.iter().zip(&Machines::of(machines).machines) {
        let clusters: Vec<String> = entry.clusters.iter().map(cluster).collect();
        let cores = machine.cores.len().to_string();
        rows.add_row([entry.name, &cores, &clusters.join("\n"), entry.description]);
    }
    table::text(&rows)
}

fn cluster(cluster: &ClusterEntry<'_>) -> String {
    let ghz = cluster.max_frequency_hz as f64 / 1e9;
    format!("{} x {}, {}, {ghz:.2} GHz", cluster.cores.len(), cluster.core_type, cluster.capacity)
}

/// The policies, their knobs, the governors, and the techniques of the runtime.
pub fn policies() -> String {
    let Policies { policies, governors, techniques } = Policies::all();
    let mut rows = table::new(&["policy", "what it does", "source"]);
    let mut knobs = table::new(&["knob", ">default", "what it sets"]);
    let mut any = false;
    for policy in &policies {
        rows.add_row([policy.name, policy.summary, policy.source]);
        for knob in &policy.knobs {
            any = true;
            let words = if knob.words.is_empty() { String::new() } else { format!(" ({})", knob.words.join(", ")) };
            let name = format!("{}:{}", policy.name, knob.name);
            knobs.add_row([name, knob.default.clone(), format!("{}{words}", knob.summary)]);
        }
    }
    let mut text = table::text(&rows);
    if any {
        text += "\nKnobs are set after the policy's name: --policy NAME:KNOB=VALUE:KNOB\n";
        text += &table::text(&knobs);
    }
    let mut rows = table::new(&["governor", "what it does", "source"]);
    for governor in &governors {
        rows.add_row([governor.name, governor.summary, governor.source]);
    }
    text += "\nA governor sets frequencies under any policy: --governor NAME\n";
    text += &table::text(&rows);
    let mut rows = table::new(&["technique", "what it does", "source"]);
    for technique in &techniques {
        rows.add_row([technique.name, technique.summary, technique.source]);
    }
    text += "\nTechniques of the runtime (evenkeel help runtime): none or base, then + and letters, as in base+psm\n";
    text + &table::text(&rows)
}

/// The programs and mixes.
pub fn workloads() -> String {
    let Workloads { programs, task_programs, mixes } = Workloads::all();
    let mut of_threads = table::new(&["program", ">threads", ">at most", "description"]);
    for program in &programs {
        let most = program.max_threads.map_or(String::new(), |most| most.to_string());
        of_threads.add_row([program.name, &program.threads.to_string(), &most, program.description]);
    }
    let mut of_tasks = table::new(&["made of tasks", "description"]);
    for program in &task_programs {
        of_tasks.add_row([program.name, program.description]);
    }
    let mut mixed = table::new(&["mix", ">threads", "programs"]);
    for mix in &mixes {
        mixed.add_row([mix.name, &mix.threads.to_string(), &mix.programs.join(" + ")]);
    }
    [of_threads, of_tasks, mixed].map(|rows| table::text(&rows)).join("\n")
}
