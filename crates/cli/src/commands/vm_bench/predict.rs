//! Sim-to-real: what a recorded run would take in the simulator, under each policy.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use evenkeel_experiment::{Control, Plan, Run, Runner};
use evenkeel_linux::vm::bench::Host;
use evenkeel_model::metrics::geometric_mean;
use evenkeel_workload::recording::{RecordedThread, Recording, Step};

use crate::catalog;

/// Stands for the guest's own scheduler: Linux since 6.6.
const SIMULATED_STOCK: &str = "eevdf";

/// Plays what is measured of a recorded run on the machine that it was made on, as `compare` does: in both core orders, whose
/// geometric mean counts, since a kernel that takes all cores for equal may begin with any of them. Returns seconds.
pub fn makespans(file: &Path, policies: &[&str]) -> Result<Vec<f64>> {
    let path = file.display().to_string();
    let text = fs::read_to_string(file).with_context(|| format!("{path}: cannot be read"))?;
    let mut recording = Recording::from_text(&text, &path)?;
    leave_out_starts(&mut recording.threads);
    let found = evenkeel_experiment::catalog::recording(&path, "recording", &recording)?;
    let machine = found.recorded_on.context("the recording does not tell its machine")?;
    let policy = |name: &&str| catalog::policy(if *name == Host::Stock.name() { SIMULATED_STOCK } else { name });
    let plan = Plan {
        workloads: vec![found.workload],
        machines: vec![machine],
        policies: policies.iter().map(policy).collect::<Result<_>>()?,
        ..Plan::default()
    };
    let control = Control::default();
    let repetitions = plan.repetitions();
    let results = Runner::new(plan, &control)?.run_all(&control)?;
    let seconds = |run: &Run| run.measurement.makespan.as_secs_f64();
    let mean = |runs: &[Run]| geometric_mean(&runs.iter().map(seconds).collect::<Vec<f64>>());
    let means: Option<Vec<f64>> = results.runs.chunks(repetitions).map(mean).collect();
    means.context("a recording was not played")
}

/// Programs take their own time, after they have been loaded, and in an emulator loading takes longer than many a run. So what a
/// thread did before it started the first other thread of its process takes no time, and nothing does of what only starts
/// processes, as a shell does.
fn leave_out_starts(threads: &mut [RecordedThread]) {
    let processes: Vec<u32> = threads.iter().map(|thread| thread.process).collect();
    for thread in threads {
        let spawns = |step: &Step| if let Step::Spawn(child) = step { Some(*child) } else { None };
        let own = |step: &Step| spawns(step).is_some_and(|child| processes[child as usize] == thread.process);
        let started = match thread.steps.iter().position(own) {
            Some(first) => first,
            None if thread.steps.iter().any(|step| spawns(step).is_some()) => thread.steps.len(),
            None => continue,
        };
        let rest = thread.steps.split_off(started);
        thread.steps.retain(|step| !matches!(step, Step::Run(_) | Step::Sleep(_) | Step::Io(_)));
        thread.steps.extend(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell that takes 50 ms, and starts a program that takes 100 ms to load and has two threads of 10 ms.
    const RECORDED: &str = r#"{"evenkeel":1,"makespan_ns":200000000,"threads":4,"machine":MACHINE}
{"thread":0,"name":"sh","process":0,"ops":[["run",50000000],["spawn",1],["wait"],["run",40000000]]}
{"thread":1,"name":"main","process":1,"spawned":true,"ops":[["run",90000000],["io",10000000],["spawn",2],["spawn",3],["wait"],["wait"],["wake",0]]}
{"thread":2,"name":"worker","process":1,"spawned":true,"ops":[["run",10000000],["wake",1]]}
{"thread":3,"name":"worker","process":1,"spawned":true,"ops":[["run",10000000],["wake",1]]}
"#;

    #[test]
    fn a_prediction_is_of_what_programs_measure() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("recording.ek");
        let described = include_str!("../../../../../machines/2B2S.toml");
        fs::write(&file, RECORDED.replace("MACHINE", &serde_json::to_string(described).unwrap())).unwrap();
        let makespans = makespans(&file, &["stock", "pfs"]).unwrap();
        let [stock, pfs] = makespans[..] else { panic!("{makespans:?}") };
        assert!((0.01..0.012).contains(&pfs), "{pfs}");
        assert!((0.01..0.045).contains(&stock), "{stock}");
        fs::write(&file, RECORDED.replace(",\"machine\":MACHINE", "")).unwrap();
        let error = super::makespans(&file, &["stock"]).unwrap_err();
        assert_eq!(error.to_string(), "the recording does not tell its machine");
    }
}
