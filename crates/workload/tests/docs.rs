//! The guide to the format: what it shows must load, what it lists must exist.

use evenkeel_workload::{format, suite};

const GUIDE: &str = include_str!("../../../docs/workloads.md");

#[test]
fn the_examples_of_the_guide_load() {
    let examples: Vec<&str> =
        GUIDE.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect();
    assert_eq!(examples.len(), 2);
    for example in examples {
        let usual = format::load("guide", example, "docs/workloads.md", None).unwrap();
        let more = format::load("guide", example, "docs/workloads.md", Some(8)).unwrap();
        assert!(usual.programs[0].threads.len() < more.programs[0].threads.len());
    }
}

#[test]
fn the_table_of_the_guide_is_the_suite() {
    for program in suite::table_3() {
        let (sync, comm) = (program.sync_rate.unwrap(), program.comm_comp.unwrap());
        let row = format!("| {} | {sync} | {comm} |", program.name);
        assert!(GUIDE.contains(&row), "no row {row}");
    }
}
