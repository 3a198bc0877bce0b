//! What a recorded run would take on the machine that it was made on, under each policy: to be held against what was measured.

use evenkeel_model::metrics::geometric_mean;
use evenkeel_sched::Setup;
use evenkeel_workload::recording::{RecordedThread, Recording, Step};

use crate::{Control, Error, Plan, Result, Run, Runner, catalog};

/// Plays what programs measure of a recorded run, as [`Runner`] does: in both core orders, whose geometric mean counts, since a
/// kernel that takes all cores for equal may begin with any of them. Returns seconds, by policy.
///
/// # Errors
/// The recording does not state its machine, or cannot be played.
pub fn makespans(path: &str, mut recording: Recording, policies: Vec<Setup>) -> Result<Vec<f64>> {
    leave_out_starts(&mut recording.threads);
    let found = catalog::recording(path, "recording", &recording)?;
    let unknown = |why: &str| Error::Machine { name: path.to_owned(), why: why.to_owned() };
    let machine = found.recorded_on.ok_or_else(|| unknown("the recording does not state its machine"))?;
    let plan = Plan { workloads: vec![found.workload], machines: vec![machine], policies, ..Plan::default() };
    let control = Control::default();
    let repetitions = plan.repetitions();
    let results = Runner::new(plan, &control)?.run_all(&control)?;
    let seconds = |run: &Run| run.measurement.makespan.as_secs_f64();
    let mean = |runs: &[Run]| geometric_mean(&runs.iter().map(seconds).collect::<Vec<f64>>());
    Ok(results.runs.chunks(repetitions).filter_map(mean).collect())
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
    const RECORDED: &str = r#"{"evenkeel":1,"makespan_ns":200000000,"threads":4}
{"thread":0,"name":"sh","process":0,"ops":[["run",50000000],["spawn",1],["wait"],["run",40000000]]}
{"thread":1,"name":"main","process":1,"spawned":true,"ops":[["run",90000000],["io",10000000],["spawn",2],["spawn",3],["wait"],["wait"],["wake",0]]}
{"thread":2,"name":"worker","process":1,"spawned":true,"ops":[["run",10000000],["wake",1]]}
{"thread":3,"name":"worker","process":1,"spawned":true,"ops":[["run",10000000],["wake",1]]}
"#;

    fn predict(machine: Option<&str>) -> Result<Vec<f64>> {
        let recording = Recording::from_text(RECORDED, "r.ek").unwrap();
        let policies = ["eevdf", "pfs"].map(|name| catalog::policy(name).unwrap());
        makespans("r.ek", Recording { machine: machine.map(str::to_owned), ..recording }, policies.into())
    }

    #[test]
    fn a_prediction_is_of_what_programs_measure() {
        let makespans = predict(Some(include_str!("../../../machines/2B2S.toml"))).unwrap();
        let [stock, pfs] = makespans[..] else { panic!("{makespans:?}") };
        assert!((0.01..0.012).contains(&pfs), "{pfs}");
        assert!((0.01..0.045).contains(&stock), "{stock}");
        assert_eq!(predict(None).unwrap_err().to_string(), "r.ek: the recording does not state its machine");
    }
}
