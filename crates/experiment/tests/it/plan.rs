//! Plans, and what runs of them produce.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use evenkeel_experiment::timeline::Timelines;
use evenkeel_experiment::training::Training;
use evenkeel_experiment::{
    Comparison, Conditions, Control, Error, GivenPredictor, Plan, Progress, Run, Runner, catalog, training,
};
use evenkeel_model::predict::Quality;
use evenkeel_model::{CoreOrder, Ns};
use evenkeel_sim::Meter;

fn plan(workloads: &[&str], machines: &[&str], policies: &[&str]) -> Plan {
    Plan {
        workloads: workloads.iter().map(|name| catalog::workload(name).unwrap().workload).collect(),
        machines: machines.iter().map(|name| catalog::machine(name).unwrap().machine).collect(),
        policies: policies.iter().map(|name| catalog::policy(name).unwrap()).collect(),
        ..Plan::default()
    }
}

fn control() -> Control<'static> {
    Control::default()
}

#[test]
fn results_come_in_the_order_of_the_plan_however_many_cores_do_the_work() {
    let plan = plan(&["radix", "Sync-1"], &["2B2S", "2B4S"], &["cfs", "colab"]);
    let results = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| Runner::new(plan.clone(), &control()).unwrap().run_all(&control()).unwrap())
    };
    let one = results(1);
    assert_eq!(one, results(3));
    assert_eq!(one.runs.len(), 2 * 2 * 2 * 2);
    for (run, job) in one.runs.iter().zip(plan.jobs()) {
        assert_eq!(run.workload, plan.workloads[job.workload].name);
        assert_eq!(run.machine, plan.machines[job.machine].name);
        assert_eq!((run.policy.as_str(), run.order), (plan.policies[job.policy].name(), job.order));
    }
    let own: u64 = one.runs.iter().map(|run| run.events).sum();
    assert!(one.events > own, "the reference runs count, too");
}

#[test]
fn a_comparison_is_against_its_baseline() {
    let runner = Runner::new(plan(&["radix", "ferret"], &["2B2S"], &["cfs", "gts"]), &control()).unwrap();
    let results = runner.run_all(&control()).unwrap();
    let compared = Comparison::of(runner.plan(), &results, "gts");
    assert_eq!((compared.baseline, compared.cells.len()), (1, 2));
    assert_eq!(compared.difference(1, |measured| measured.h_antt).unwrap().value, 0.0);
    let cell = &compared.cells[1];
    assert_eq!((cell.workload, cell.machine, cell.runs[0].len()), ("ferret", "2B2S", 2));
    // By seed, then by core order.
    let energy = |policy: usize| [0, 1].map(|order: usize| cell.runs[policy][order].measurement.energy.0);
    let ([a, b], [c, d]) = (energy(0), energy(1));
    let found = cell.difference(0, 1, |measured| measured.energy.0).unwrap();
    assert!((found.value - (((a / c) * (b / d)).sqrt() - 1.0)).abs() < 1e-12);
    assert_eq!((found.pairs(), found.interval), (1, None), "core orders are no chance");
    let in_second = compared.effect(Some(cell), Some(1), 0, |measured| measured.energy.0).unwrap();
    assert!((in_second.value - (b / d - 1.0)).abs() < 1e-12);
    let first = compared.effect(Some(&compared.cells[0]), Some(1), 0, |measured| measured.energy.0).unwrap();
    let of_all = compared.effect(None, Some(1), 0, |measured| measured.energy.0).unwrap();
    assert!((of_all.value - (((1.0 + first.value) * (b / d)).sqrt() - 1.0)).abs() < 1e-12);
    assert_eq!(cell.spread(0, |measured| measured.energy.0).deviation, 0.0);
}

#[test]
fn seeds_are_paired() {
    let plan = Plan { seeds: vec![3, 4, 5], ..plan(&["radix", "ferret"], &["2B2S"], &["cfs", "gts"]) };
    let runner = Runner::new(plan, &control()).unwrap();
    let mut results = runner.run_all(&control()).unwrap();
    // Seeds differ by far more than policies, which differ by a tenth with each seed and in each core order.
    for run in &mut results.runs {
        let slow = if run.policy == "gts" { 0.9 } else { 1.0 };
        run.measurement.h_antt = slow * (run.seed * run.seed) as f64;
    }
    let compared = Comparison::of(runner.plan(), &results, "cfs");
    for found in [compared.difference(1, |run| run.h_antt), compared.cells[0].difference(1, 0, |run| run.h_antt)] {
        let found = found.unwrap();
        let (low, high) = found.interval.unwrap();
        assert!((low + 0.1).abs() < 1e-9 && (high + 0.1).abs() < 1e-9 && found.pairs() == 3, "{found:?}");
    }
    // A workload whose metric has no ratio does not count.
    results.runs[0].measurement.h_antt = f64::INFINITY;
    // Of gts in the other core order.
    results.runs[9].measurement.h_antt *= 2.0;
    let compared = Comparison::of(runner.plan(), &results, "cfs");
    let [first, second] = [0, 1].map(|cell: usize| Some(&compared.cells[cell]));
    assert_eq!(compared.cells[0].difference(1, 0, |run| run.h_antt), None);
    assert_eq!(compared.difference(1, |run| run.h_antt).unwrap().pairs(), 3);
    assert!(compared.effect(first, Some(1), 1, |run| run.h_antt).is_some(), "this order has all of its runs");
    for order in [0, 1].map(Some) {
        let [of_all, of_second] = [None, second].map(|cell| compared.effect(cell, order, 1, |run| run.h_antt));
        assert_eq!(of_all, of_second, "the same cells in both orders");
    }
}

/// Wants to stop once so many runs are done.
struct After(usize, AtomicUsize, Arc<Meter>);

impl Progress for After {
    fn advance(&self) {
        if self.1.fetch_add(1, Ordering::Relaxed) + 1 == self.0 {
            self.2.stop().store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn work_that_is_stopped_says_how_far_it_came() {
    let runner = Runner::new(plan(&["radix"], &["2B2S"], &["cfs"]), &control()).unwrap();
    let after = After(1, AtomicUsize::new(0), Arc::default());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let control = Control { progress: &after, meter: Some(&after.2), ..control() };
    let stopped = pool.install(|| runner.run_all(&control)).unwrap_err();
    assert!(matches!(stopped, Error::Stopped { done: 1, of: 2 }), "{stopped}");
    assert_eq!(stopped.to_string(), "stopped after 1 of 2 runs");
}

#[test]
fn a_predictor_that_was_trained_before_gives_the_same_runs() {
    let fresh = plan(&["Sync-2"], &["2B2S"], &["colab"]);
    let predictor = training::train(&fresh.machines[0], None, &control()).unwrap().predictor;
    let given = GivenPredictor { name: "before.toml".into(), predictor };
    let with =
        |plan: Plan, given| Plan { conditions: Conditions { predictor: Some(given), ..plan.conditions }, ..plan };
    let runs = |plan| Runner::new(plan, &control()).and_then(|runner| runner.run_all(&control()));
    assert_eq!(runs(with(fresh.clone(), given.clone())).unwrap().runs, runs(fresh).unwrap().runs);
    let elsewhere = plan(&["Sync-2"], &["rk3588"], &["colab"]);
    let error = runs(with(elsewhere, given)).unwrap_err();
    assert_eq!(error.to_string(), "before.toml has no model for the core types of rk3588");
}

#[test]
fn what_else_is_in_a_plan_does_not_change_what_a_machine_s_predictor_has_learnt() {
    let mut wider = plan(&["Sync-2"], &["2B2S"], &["colab"]);
    wider.machines[0].name = "wider".into();
    wider.machines[0].core_types[0].width *= 3.0;
    let mut both = plan(&["Sync-2"], &["2B2S"], &["colab"]);
    both.machines.extend(wider.machines.clone());
    let runs = |plan| Runner::new(plan, &control()).and_then(|runner| runner.run_all(&control())).unwrap().runs;
    let beside: Vec<Run> = runs(both).into_iter().filter(|run| run.machine == "wider").collect();
    assert_eq!(beside, runs(wider));
}

#[test]
fn what_is_left_out_is_not_learnt_from() {
    let (machine, quality) = (catalog::machine("2B2S").unwrap().machine, Quality::Best);
    let suites = vec!["splash2".to_owned()];
    let training = Training { suites, counters: 2, leave_one_out: true, ..Training::default() };
    let observed = training::observe(&machine, &training, &control()).unwrap();
    let learn = |left_out: &[&str]| training::learn(&machine, &observed, left_out, training.counters, quality);
    assert_ne!(learn(&["radix"]).unwrap().to_toml(), learn(&[]).unwrap().to_toml());
    let all = observed[0].samples.iter().map(|sample| sample.group.as_str()).collect::<Vec<_>>();
    assert!(matches!(learn(&all), Err(Error::Untrained { .. })));
    let few = Training { least_share: 0.9, ..training.clone() };
    let single = training::observe(&machine, &few, &control()).unwrap();
    assert!(single[0].samples.len() < observed[0].samples.len(), "no thread of four does so much");
}

#[test]
fn what_cannot_be_run_says_which_run_and_why() {
    let short = Conditions { max_time: Ns::from_us(1), ..Conditions::default() };
    let short = Plan { conditions: short, ..plan(&["radix"], &["2B2S"], &["cfs"]) };
    let Err(Error::Run { what, source }) = Runner::new(short, &control()) else { panic!("it takes longer") };
    assert!(what.starts_with("radix alone on 4x"), "{what}");
    assert!(matches!(source, evenkeel_sim::Error::MaxTime { .. }), "{source}");
    let refused = Runner::new(plan(&["radix"], &["2B4S"], &["iks"]), &control()).err().unwrap();
    assert!(
        matches!(refused, Error::Refused(_)) && refused.to_string().contains("iks cannot schedule 2B4S"),
        "{refused}"
    );
    let tasks = evenkeel_experiment::Tasks { ready: Some(Default::default()), main: None };
    let tasks = Conditions { tasks, ..Conditions::default() };
    let tasks = Plan { conditions: tasks, ..plan(&["radix"], &["2B2S"], &["cfs"]) };
    assert!(matches!(Runner::new(tasks, &control()), Err(Error::NoTasks { .. })));
}

#[test]
fn timelines_tell_what_the_runs_did() {
    let runner = Runner::new(plan(&["radix", "ferret"], &["2B2S", "2B4S"], &["cfs", "gts"]), &control()).unwrap();
    let results = runner.run_all(&control()).unwrap();
    let recorded = Timelines::record(&runner, 3).unwrap();
    assert_eq!((recorded.panels.len(), recorded.left), (3, 1));
    let panel = &recorded.panels[1];
    assert_eq!((panel.workload.as_str(), panel.machine.name.as_str()), ("radix", "2B4S"));
    let little_first: Vec<&Run> = (results.runs.iter())
        .filter(|run| {
            run.order == CoreOrder::LittleFirst && run.workload == panel.workload && run.machine == panel.machine.name
        })
        .collect();
    for (history, run) in panel.histories.iter().zip(&little_first) {
        assert_eq!(history.end, run.measurement.makespan);
        for (core, outcome) in run.cores.iter().enumerate() {
            let spans = history.spans.iter().filter(|span| span.core.index() == core);
            assert_eq!(Ns(spans.map(|span| (span.end - span.start).0).sum()), outcome.busy, "core {core}");
        }
        let woken = history.threads.iter().map(|thread| thread.latencies.count()).sum::<u64>();
        assert_eq!(woken, run.measurement.wakeups.count);
    }
    assert_eq!(panel.horizon(), little_first.iter().map(|run| run.measurement.makespan).max().unwrap());
}
