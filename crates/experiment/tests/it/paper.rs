//! An evaluation of the test's own, and what goes wrong with the files of such.

use std::sync::atomic::{AtomicUsize, Ordering};

use evenkeel_experiment::paper::{Experiment, Reproduction, Verdict, check_oracle};
use evenkeel_experiment::{Control, Error, Progress, Stage};

const HEAD: &str = r#"
name = "own"
title = "A test's own evaluation"
policies = ["cfs", "gts"]
seed = 1
"#;

const SETS: &str = r#"
[[set]]
name = "programs"
machines = ["2B2S"]
workloads = [{ name = "radix", threads = 4 }, { name = "ferret" }]

[[set]]
name = "model"
machines = ["matched"]
policies = ["feasible"]
workloads = [{ name = "4B4L" }]
host = "equations"
"#;

const ROWS: &str = r#"
[[row]]
id = "time"
what = "Programs take longer under GTS, or not"
published = 0.0
source = "1"
kind = "result"
select = { set = "programs" }
metric = "time"
policy = "gts"
baseline = "cfs"

[[row]]
id = "model"
what = "Raising big cores and lowering little ones gains something"
published = 1.1
source = "2"
kind = "result"
select = { set = "model" }
metric = "throughput"
policy = "feasible"

[[row]]
id = "nothing"
what = "Of a class that no workload has"
published = 1.0
source = "3"
kind = "result"
select = { set = "programs", class = "none" }
metric = "time"
policy = "gts"
"#;

fn run(text: &str) -> Result<Reproduction, Error> {
    Reproduction::run(Experiment::parse(text)?, false, &Control::default())
}

#[test]
fn every_row_has_its_number_from_the_samples_of_its_set() {
    let reproduction = run(&[HEAD, SETS, ROWS].concat()).unwrap();
    assert_eq!(reproduction.sets[0].samples.len(), 2 * 2, "workloads x policies");
    let simulated: Vec<_> = reproduction.rows.iter().map(|row| row.simulated).collect();
    let ran = &reproduction.sets[0];
    let effect = |workload| ran.effect(workload, "2B2S", reproduction.rows[0].published.metric, "gts", "cfs").unwrap();
    assert!((simulated[0].unwrap() - (effect("radix") + effect("ferret")) / 2.0).abs() < 1e-12);
    assert!(simulated[1].unwrap() > 1.0 && reproduction.rows[1].verdict == Verdict::Close, "{:?}", simulated[1]);
    assert_eq!((simulated[2], reproduction.rows[2].verdict), (None, Verdict::Miss));
    let summary = reproduction.summary();
    assert_eq!((summary.results, summary.compared), (3, 1));
    assert_eq!(reproduction.ranking(), None);
}

/// Counts runs.
#[derive(Default)]
struct Counted(AtomicUsize);

impl Progress for Counted {
    fn begin(&self, stage: Stage, runs: usize) {
        self.0.fetch_add(if stage == Stage::Runs { runs } else { 0 }, Ordering::Relaxed);
    }
}

#[test]
fn the_number_of_runs_is_known_beforehand() {
    const WORKERS: &str = r#"
[[set]]
name = "tasks"
machines = ["aaws-4B4L"]
policies = ["base", "base+m"]
workloads = [{ name = "radix-2" }]
seeds = 3
host = { workers = { interrupt_cycles = 20, step_ns = 40 } }
"#;
    let experiment = Experiment::parse(&[HEAD, SETS, WORKERS, ROWS].concat()).unwrap();
    let counted = Counted::default();
    let known = Reproduction::runs_of(&experiment).unwrap();
    Reproduction::run(experiment, false, &Control { progress: &counted, ..Control::default() }).unwrap();
    assert_eq!((known, counted.0.into_inner()), (2 * 2 + 2 * 3, known));
}

#[test]
fn a_mistake_in_a_set_names_the_set() {
    let wrong = SETS.replace("\"2B2S\"", "\"2B3S\"");
    let error = run(&[HEAD, &wrong, ROWS].concat()).unwrap_err();
    let Error::In { place, source } = error else { panic!("{error}") };
    assert_eq!(place, "set programs of own");
    assert!(matches!(*source, Error::NoMachine(_)), "{source}");
    let wrong = SETS.replace("matched", "matchd");
    let error = run(&[HEAD, &wrong, ROWS].concat()).unwrap_err().to_string();
    assert!(error.contains("no parameters \"matchd\": expected stated or matched"), "{error}");
    assert!(matches!(Experiment::parse("name = 1"), Err(Error::ExperimentFile(_))));
}

#[test]
fn perfect_knowledge_changes_nothing_where_no_policy_sees_speedups() {
    let workers = Experiment::by_name("aaws").unwrap();
    assert!(matches!(check_oracle(&workers, "aaws"), Err(Error::NoSpeedups { .. })));
    check_oracle(&Experiment::by_name("colab").unwrap(), "colab").unwrap();
    let error = Experiment::by_name("colba").unwrap_err().to_string();
    assert_eq!(error, "unknown experiment \"colba\": did you mean \"colab\"?");
}
