//! The guide to the format: what it shows must load, what it lists must exist.

use evenkeel_model::{CoreTypeId, Hz, machines};
use evenkeel_workload::graph::TaskGraph;
use evenkeel_workload::program::{Tasking, Work};
use evenkeel_workload::{format, suite};

const GUIDE: &str = include_str!("../../../../docs/workloads.md");

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
fn the_example_of_the_page_on_tasks_loads() {
    let page = include_str!("../../../../docs/tasks.md");
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let program = format::load("guide", example, "docs/tasks.md", None).unwrap().programs.remove(0);
    assert_eq!(TaskGraph::new(&program).unwrap().len(), 10 * 65);
}

#[test]
fn the_page_on_tasks_names_the_defaults() {
    let page = include_str!("../../../../docs/tasks.md");
    let usual = Tasking::default();
    let kinst = |work| match work {
        Work::Instructions(count) => format!("{} kinst", count / 1000),
        Work::Time(_) => unreachable!("the costs are instructions"),
    };
    for (key, value) in
        [("window", usual.window.to_string()), ("create", kinst(usual.create)), ("queue", kinst(usual.queue))]
    {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{key}` |"))).unwrap();
        assert!(row.ends_with(&format!("| {value} |")), "{row}");
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

#[test]
fn phases_of_the_suite_gain_from_a_big_core_what_the_guide_says() {
    let machine = machines::by_name("2B2S").unwrap();
    let phases = suite::table_3().flat_map(|info| suite::program(info.name, None).unwrap().phases);
    let gains: Vec<f64> = phases
        .map(|phase| {
            let rate = |core_type, mhz| machine.rate(CoreTypeId(core_type), Hz::from_mhz(mhz), &phase.behaviour);
            rate(0, 2000) / rate(1, 1200)
        })
        .collect();
    let [least, most] = [f64::min, f64::max].map(|pick| gains.iter().copied().reduce(pick).unwrap());
    let phrase = format!("between {least:.1} and {most:.1} times from a big core");
    assert!(GUIDE.contains(&phrase), "docs/workloads.md should say: {phrase}");
}
