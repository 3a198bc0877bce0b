//! Every bundled workload ends without an error under every policy, on machines that the policy accepts.

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use evenkeel_model::{Machine, machines};
use evenkeel_sched::{POLICIES, Setup, policy};
use evenkeel_sim::{Options, check, run};
use evenkeel_workload::{Workload, by_name, format, mix, rtapp, suite};

/// What is in `workloads/`: programs and mixes by name, and files.
fn workloads() -> Vec<Workload> {
    let programs = suite::programs().chain(suite::task_programs()).map(|program| program.name);
    let named = programs.chain(mix::mixes().map(|mix| mix.id.as_str()));
    let mut found: Vec<Workload> = named.map(|name| by_name(name).expect("bundled")).collect();
    for (name, text) in files("complaints").filter(|(_, text)| text.contains("\n[[program]]")) {
        found.push(format::load(&name, &text, &name, None).expect("a workload"));
    }
    for (name, text) in files("rt-app") {
        found.push(rtapp::load(&name, &text).expect("an rt-app file").workload);
    }
    found
}

fn machines() -> Vec<Machine> {
    let bundled = machines::names().map(|name| machines::by_name(name).expect("bundled"));
    let files = files("complaints").filter(|(_, text)| text.contains("\n[[cluster]]"));
    bundled.chain(files.map(|(name, text)| Machine::from_toml(&text, &name).expect("a machine"))).collect()
}

/// Names and texts of the files of a folder, in order.
fn files(folder: &str) -> impl Iterator<Item = (String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads").join(folder);
    let mut paths: Vec<_> = fs::read_dir(folder).expect("there").map(|file| file.expect("readable").path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.display().to_string(), fs::read_to_string(&path).expect("readable")))
}

#[test]
fn every_policy_plays_every_workload() {
    // All of it takes many minutes: `make test-full` sets EVENKEEL_SLOW. Otherwise each workload on one machine under a
    // third of the policies, in turn.
    let all = std::env::var_os("EVENKEEL_SLOW").is_some();
    let machines = machines();
    let workloads = workloads();
    let queue = Mutex::new(workloads.iter().enumerate());
    let work = || loop {
        let Some((turn, workload)) = queue.lock().expect("no other thread failed").next() else { return };
        run_everywhere(&machines, workload, turn, all);
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| (0..threads).for_each(|_| _ = scope.spawn(work)));
}

/// `turn` chooses the machine and the policies, if not all of them are wanted.
fn run_everywhere(machines: &[Machine], workload: &Workload, turn: usize, all: bool) {
    let fitting: Vec<&Machine> = machines.iter().filter(|machine| check(machine, workload).is_ok()).collect();
    assert!(!fitting.is_empty(), "{} fits on no machine", workload.name);
    let chosen = if all { 0..fitting.len() } else { turn % fitting.len()..turn % fitting.len() + 1 };
    for machine in &fitting[chosen] {
        let in_turn = |(index, _): &(usize, _)| all || (index + turn).is_multiple_of(3);
        for (_, description) in POLICIES.iter().copied().enumerate().filter(in_turn) {
            // With the limit that users have: on the slowest machines some workloads take hours.
            let options = Options::default();
            let policy = Setup::from(description).make();
            if policy::check(policy.as_ref(), machine).is_err() {
                continue;
            }
            let outcome = run(machine, workload, policy, None, &options, &mut ());
            let what = format!("{} on {} under {}", workload.name, machine.name, description.name);
            assert!(outcome.as_ref().is_ok_and(|outcome| outcome.events > 0), "{what}: {:?}", outcome.err());
        }
    }
}
