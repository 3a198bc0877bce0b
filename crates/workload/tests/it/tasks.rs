//! The programs made of tasks that come with Evenkeel.

use evenkeel_model::machines;
use evenkeel_workload::graph::TaskGraph;
use evenkeel_workload::program::ReadyQueue;
use evenkeel_workload::{by_name, suite};

/// "Exploiting Asymmetric Multi-Core Processors with Flexible System Software", Table I: how many times faster an A15 is
/// than an A7.
const TABLE_1: [(&str, f64); 9] = [
    ("blackscholes-task", 2.18),
    ("bodytrack-task", 4.16),
    ("canneal-task", 1.73),
    ("dedup-task", 2.67),
    ("facesim-task", 3.40),
    ("ferret-task", 3.59),
    ("fluidanimate-task", 2.64),
    ("streamcluster-task", 3.48),
    ("swaptions-task", 2.78),
];

#[test]
fn the_task_forms_have_the_ratios_of_table_1_and_its_runtime_system() {
    let machine = machines::by_name("odroid-xu3").unwrap();
    let little = machine.cores.iter().map(|core| core.core_type).max().unwrap();
    for (name, ratio) in TABLE_1 {
        let program = by_name(name).unwrap().programs.remove(0);
        for phase in &program.phases {
            let ours = machine.speedup_over(little, &phase.behaviour);
            assert!((ours / ratio - 1.0).abs() < 0.01, "{name}: {ours}, published {ratio}");
        }
        let tasking = program.tasking.unwrap();
        assert!(tasking.ready == ReadyQueue::Fifo && tasking.tied, "III.D; worker threads stay on their cores");
    }
}

#[test]
fn a_task_form_does_the_work_of_the_threads() {
    for (name, _) in TABLE_1 {
        let threads = suite::totals(&name.replace("task", "pthread"), None).unwrap().instructions;
        let tasks = suite::totals(name, None).unwrap().instructions;
        assert!((tasks / threads - 1.0).abs() < 1e-3, "{name}: {tasks} instructions instead of {threads}");
    }
}

#[test]
fn every_task_program_is_found_by_its_name_and_says_what_is_assumed() {
    let names: Vec<&str> = suite::task_programs().map(|program| program.name).collect();
    assert!(TABLE_1.iter().all(|(name, _)| names.contains(name)));
    for info in suite::task_programs() {
        assert!(info.source.contains("assumed") && !info.description.is_empty(), "{}", info.name);
        let graph = TaskGraph::new(&by_name(info.name).unwrap().programs[0]).unwrap();
        println!("{:20} {:6} tasks", info.name, graph.len());
        assert!((100..100_000).contains(&graph.len()), "{}: {} tasks", info.name, graph.len());
    }
}

#[test]
fn a_cholesky_factorisation_has_the_path_that_it_is_known_for() {
    let program = by_name("cholesky").unwrap().programs.remove(0);
    let graph = TaskGraph::new(&program).unwrap();
    // T tiles a side: T (T + 1) (T + 2) / 6 tasks, and potrf, trsm, syrk T - 1 times before the last potrf.
    assert_eq!(graph.len(), 12 * 13 * 14 / 6);
    assert_eq!(graph.critical_path(|_| 1.0), 3.0 * 11.0 + 1.0);
}
