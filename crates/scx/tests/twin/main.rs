//! The policies inside the kernel decide as the scheduler core's do: in simulated runs of many programs, and of some that a real
//! kernel was recorded with, every single decision is made by both, from the same state, and compared. The kernel's are compiled for this machine for that
//! (`native.c`); how they are carried out in a real kernel is tested in a guest.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod bias;
mod blame;
mod exchange;
mod library;
mod state;
mod twin;
mod waits;

use std::sync::{Arc, Mutex};

use evenkeel_model::{Class, Machine, Ns, machines};
use evenkeel_sched::{Governor, POLICIES, Setup};
use evenkeel_sim::{Options, run};
use evenkeel_workload::recording::Recording;
use evenkeel_workload::{Workload, by_name};

use library::{Library, Pelt};
use twin::{Differences, Twin};

/// What is played: locks, pipelines, barriers, data-parallel work, a virtual machine with its service threads, and mixes of programs of two
/// and four.
const WORKLOADS: [&str; 9] =
    ["blackscholes:4", "fluidanimate:8", "ferret:6", "dedup:6", "bodytrack:4", "fop", "Sync-2", "Comp-3", "Rand-7"];
/// Recorded in a guest of two big and two little cores by `evenkeel vm bench --recordings`: barriers and neighbours that wait for each
/// other in nine threads, pipelines and a queue in sixteen.
const RECORDED: [(&str, &str); 2] =
    [("sync-3", include_str!("recorded/sync-3.ek")), ("comm-2", include_str!("recorded/comm-2.ek"))];
/// Equal speeds, and cores twice and four times as fast, which are exact in the kernel's numbers of 1024ths; and two memory nodes, for the policy that
/// keeps threads on theirs.
fn machines_played(policy: &str) -> Vec<Machine> {
    let bundled = |name: &str| machines::by_name(name).unwrap();
    let nodes = policy.starts_with("bias").then(|| bundled("x5560-2x1B3S"));
    [bundled("2B2S"), bundled("4B4S"), evenkeel_conformance::machine(2, 3)].into_iter().chain(nodes).collect()
}

/// What is played, and the last of them again with threads of different nice values.
fn workloads_played() -> Vec<Workload> {
    let mut played: Vec<Workload> = WORKLOADS.iter().map(|name| by_name(name).unwrap()).collect();
    let mut unequal = played.last().unwrap().clone();
    unequal.name += ", with nice values";
    let threads = unequal.programs.iter_mut().flat_map(|program| &mut program.threads);
    for (thread, nice) in threads.zip([0, -20, 5, 19, -5].into_iter().cycle()) {
        thread.sched.class = Class::fair(nice);
    }
    played.push(unequal);
    played
}

/// Plays a workload under a policy that is both. Returns how many decisions were compared, and those that differ.
fn play(library: &Arc<Library>, machine: &Machine, workload: &Workload, policy: &str) -> (u64, Vec<String>) {
    play_at(library, machine, workload, policy, Governor::Performance, Ns::from_ms(100))
}

fn play_at(
    library: &Arc<Library>,
    machine: &Machine,
    workload: &Workload,
    policy: &str,
    governor: Governor,
    time: Ns,
) -> (u64, Vec<String>) {
    let setup = Setup::parse(policy).unwrap();
    let found = Arc::new(Mutex::new(Differences::default()));
    let twin = Twin::new(Arc::clone(library), &setup, machine, Arc::clone(&found));
    let options = Options { max_time: time, governor, ..Options::default() };
    let _ = run(machine, workload, Box::new(twin), None, &options, &mut ());
    let found = std::mem::take(&mut *found.lock().unwrap());
    (found.compared, found.different)
}

#[test]
fn decisions_inside_the_kernel_are_those_of_the_scheduler_core() {
    let library = Arc::new(Library::build());
    let mut report = Vec::new();
    let mut all = 0;
    let knobs = [
        "colab:takeover=blamed",
        "colab:takeover=none",
        "colab:deal=turn",
        "colab:deal=load",
        "colab:eligible=all",
        "colab:vruntime=divided",
        "colab:balance",
        "colab:blame=all",
        "eas:overutilised=60",
        "gts:up=500:down=400",
        "pfs:lag=5ms",
        "bias:stay-on-node",
    ];
    let policies = POLICIES.iter().filter(|policy| policy.in_kernel.is_some()).map(|policy| policy.name);
    for policy in policies.chain(knobs) {
        for machine in machines_played(policy) {
            for workload in workloads_played() {
                let (compared, different) = play(&library, &machine, &workload, policy);
                all += compared;
                let shown = different.iter().take(3).cloned().collect::<Vec<_>>().join("\n    ");
                if !different.is_empty() {
                    report.push(format!(
                        "{policy}, {} on {}: {} of {compared} differ, such as\n    {shown}",
                        workload.name,
                        machine.name,
                        different.len()
                    ));
                }
            }
        }
    }
    assert!(all > 100_000, "only {all} decisions were compared");
    assert!(report.is_empty(), "{}", report.join("\n"));
}

/// All of what a real kernel's threads did, waits and wake-ups as they came, on the machine that they were recorded on.
#[test]
fn decisions_are_the_same_for_what_a_real_kernel_was_recorded_with() {
    let library = Arc::new(Library::build());
    for (name, text) in RECORDED {
        let recording = Recording::from_text(text, name).unwrap();
        let machine = Machine::from_toml(recording.machine.as_ref().unwrap(), name).unwrap();
        let workload = recording.workload(name, Some(&machine));
        for policy in POLICIES.iter().filter(|policy| policy.in_kernel.is_some()) {
            let governor = Governor::Performance;
            let (compared, different) =
                play_at(&library, &machine, &workload, policy.name, governor, Ns::from_secs(60));
            assert!(compared > 1000, "{}, {name}: only {compared} decisions", policy.name);
            assert!(
                different.is_empty(),
                "{}, {name}: {} of {compared} differ: {:#?}",
                policy.name,
                different.len(),
                different.iter().take(3).collect::<Vec<_>>()
            );
        }
    }
}

/// Threads that sleep most of the time, so that the machine has room and energy decides; one of them grows until it has not.
const LIGHT: &str = r#"{ "tasks": {
    "small": { "instance": 5, "loop": -1, "run": 900, "timer": { "ref": "unique", "period": 9000 } },
    "middle": { "instance": 2, "loop": -1, "run": 2500, "timer": { "ref": "unique", "period": 11000 } },
    "grows": { "loop": -1, "phases": {
        "a": { "loop": 2, "run": 1500, "timer": { "ref": "unique", "period": 8000 } },
        "b": { "loop": 2, "run": 20000, "sleep": 3000 } } } }, "global": { "duration": 1 } }"#;

/// Operating points are in the energy model: at 80 % of use the governor's frequency is just enough.
#[test]
fn energy_decides_inside_the_kernel_as_in_the_scheduler_core() {
    let library = Arc::new(Library::build());
    let workload = evenkeel_workload::rtapp::load("light", LIGHT).unwrap().workload;
    for governor in [Governor::Performance, Governor::Schedutil] {
        for name in ["odroid-xu3", "2B2S"] {
            for policy in ["eas", "eas:overutilised=60", "gts", "gts:up=500:down=400"] {
                let machine = machines::by_name(name).unwrap();
                let (compared, different) = play_at(&library, &machine, &workload, policy, governor, Ns::from_ms(100));
                assert!(compared > 500, "{policy} on {name}: only {compared} decisions");
                assert!(
                    different.is_empty(),
                    "{policy} on {name}, {governor:?}: {} of {compared}: {different:#?}",
                    different.len()
                );
            }
        }
    }
}

#[test]
fn load_averages_are_the_same_to_the_bit() {
    let library = Library::build();
    let (mut ours, mut theirs, mut now, mut state) = (evenkeel_sched::Pelt::default(), Pelt::default(), 0, 1_u64);
    for _ in 0..20_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        now += (state >> 40) << ((state >> 33 & 3) * 2);
        let level = (state >> 20) as u32 % 1025;
        ours.accrue(Ns(now), level);
        library.accrue(&mut theirs, now, level);
        assert_eq!(u64::from(ours.load()), (theirs.average * 1024) >> 20);
    }
}

/// Both little cores run a thread that an idle big core might take over, and the policies would rather have the one on core 2. It
/// has just begun: what moving costs is not worth it yet. Nor is a thread taken that has been told to go to another core.
#[test]
fn what_has_just_begun_or_is_on_its_way_hides_no_other_thread_from_an_idle_big_core() {
    const MS: u64 = 1_000_000;
    let library = Library::build();
    for policy in ["fcf", "bias", "pfs", "colab"] {
        library.begin();
        state::write_two_and_two(&library, policy);
        for (slot, core, since) in [(1, 2, 9 * MS), (2, 3, MS)] {
            library.core(core as usize).current = slot;
            let thread = library.thread(slot);
            (thread.core, thread.run, thread.since) = (core, state::RUNNING, since);
            (thread.may, thread.wanted) = ([u64::MAX; library::CORES / 64], [u64::MAX; library::CORES / 64]);
            thread.progress = i64::from(slot);
        }
        library.time(10 * MS);
        let taken = || library.pick(0) as u32;
        assert_eq!(taken(), 1, "{policy}: where moves cost nothing it is the first");
        library.move_takes(MS);
        assert_eq!(taken(), 2, "{policy}: it has run for 1 ms, and a move costs 1 ms on both cores");
        library.core(3).leaves = 2;
        assert_eq!(taken(), 0, "{policy}: the other one is on its way");
        library.time(11 * MS);
        assert_eq!(taken(), 1, "{policy}: it has run for 2 ms");
    }
}
