//! What every policy makes of six mixes, every ready queue of two task graphs, and workers of three kernels, to the last digit: a change of results is
//! a change that was meant, and every machine prints the same. `SNAPSHOTS=overwrite cargo test --test it golden` accepts
//! new results.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fmt::Write;

use assert_cmd::Command;
use evenkeel_model::machines;
use evenkeel_sched::{Description, POLICIES, Setup, policy};
use evenkeel_sim::workers;
use evenkeel_workload::kernels::Table;
use serde_json::Value;
use snapbox::{assert_data_eq, file};

/// Each policy runs on the first of these that it accepts.
const MACHINES: [&str; 2] = ["2B4S", "2B2S"];

#[test]
fn every_policy_gives_the_known_results() {
    let mut left: Vec<&'static Description> = POLICIES.to_vec();
    let mut text = String::new();
    for name in MACHINES {
        let machine = machines::by_name(name).unwrap();
        let check = |info: &&'static Description| policy::check(Setup::from(*info).make().as_ref(), &machine);
        let (accepting, refusing): (Vec<_>, Vec<_>) = left.into_iter().partition(|info| check(info).is_ok());
        text += &mixes(name, &accepting);
        for info in &refusing {
            let _ = writeln!(text, "{}", check(info).unwrap_err());
        }
        left = refusing;
    }
    assert!(left.is_empty(), "{left:?} accept none of the machines");
    assert_data_eq!(text, file!["golden/mixes.txt"]);
}

/// The results of six mixes.
fn mixes(machine: &str, policies: &[&Description]) -> String {
    let policies: Vec<&str> = policies.iter().map(|info| info.name).collect();
    let policies = policies.join(",");
    let args = [
        "compare",
        "Sync-1",
        "NSync-2",
        "Comm-2",
        "Comp-3",
        "Rand-5",
        "Rand-9",
        "--machine",
        machine,
        "--policy",
        &policies,
        "--seeds",
        "1",
        "--format",
        "json",
    ];
    results(&args)
}

#[test]
fn every_ready_queue_gives_the_known_results() {
    let mut text = String::new();
    for queue in ["fifo", "steal", "cats", "heft"] {
        let args = [
            "compare",
            "cholesky",
            "fork-join",
            "--machine",
            "odroid-xu3",
            "--policy",
            "cfs,gts",
            "--tasks",
            queue,
            "--orders",
            "declared",
            "--seeds",
            "1",
            "--format",
            "json",
        ];
        let _ = writeln!(text, "{queue}\n{}", results(&args));
    }
    assert_data_eq!(text, file!["golden/tasks.txt"]);
}

#[test]
fn workers_give_the_known_results() {
    let table = Table::iii();
    let mut text = String::new();
    for machine in ["aaws-4B4L", "aaws-1B7L"] {
        let machine = machines::by_name(machine).unwrap();
        for kernel in ["qsort-1", "radix-2", "uts"].map(|name| table.kernel(name).unwrap()) {
            for techniques in ["none", "base", "base+p", "base+ps", "base+psm", "base+m"] {
                let options = workers::Options { techniques: techniques.parse().unwrap(), ..Default::default() };
                let outcome = workers::run(&machine, table, kernel, &options, &mut ()).unwrap();
                let _ = writeln!(text, "{} {} {techniques}: {outcome:?}", machine.name, kernel.name);
            }
        }
    }
    assert_data_eq!(text, file!["golden/workers.txt"]);
}

/// A line for each run of a comparison, and the number of events.
fn results(args: &[&str]) -> String {
    let output = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel")).args(args).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut text = String::new();
    for run in report["runs"].as_array().unwrap() {
        let name = |field: &str| run[field].as_str().unwrap().to_owned();
        let metric = |field: &str| run["metrics"][field].clone();
        let _ = writeln!(
            text,
            "{} {} {}: makespan {} s, h_antt {}, energy {} J, {} migrations, {} switches, {} preemptions",
            name("workload"),
            name("policy"),
            name("order"),
            metric("makespan_s"),
            metric("h_antt"),
            metric("energy_j"),
            metric("migrations"),
            metric("context_switches"),
            metric("preemptions"),
        );
    }
    let _ = writeln!(text, "{} events", report["events"]);
    text
}
