//! The entry point: one workload on one machine under one policy.

use evenkeel_model::{Machine, Ns};
use evenkeel_sched::steering::Steering;
use evenkeel_sched::{Policy, Predict, Scheduler};
use evenkeel_workload::program::{Calibration, SchedParams, Start, ThreadKind};
use evenkeel_workload::{Op, Workload};

use crate::threads::beside::Beside;
use crate::threads::calendar::Entry;
use crate::threads::engine::Engine;
use crate::threads::error::Error;
use crate::threads::foresight::Foresight;
use crate::threads::lower::endless;
use crate::threads::mask::cores_of;
use crate::threads::observer::Observer;
use crate::threads::options::Options;
use crate::threads::outcome::Outcome;
use crate::threads::report;

/// Plays `workload` on `machine` under `policy`. Policies that want predicted speedups get them from `predict`; without
/// it they fall back on the machine's capacities.
///
/// # Errors
/// See [`Error`]. All of them are the workload's fault, or that of who chose a policy that does not accept the machine.
pub fn run(
    machine: &Machine,
    workload: &Workload,
    policy: Box<dyn Policy>,
    predict: Option<Predict>,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    play(machine, workload, policy, predict, options, None, observer)
}

/// Plays `workload` under `policy` while something steers its threads from beside.
///
/// # Errors
/// As [`run`].
pub fn run_steered(
    machine: &Machine,
    workload: &Workload,
    policy: Box<dyn Policy>,
    steering: &mut dyn Steering,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    play(machine, workload, policy, None, options, Some(steering), observer)
}

fn play(
    machine: &Machine,
    workload: &Workload,
    policy: Box<dyn Policy>,
    predict: Option<Predict>,
    options: &Options,
    steering: Option<&mut dyn Steering>,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    check(machine, workload)?;
    evenkeel_sched::policy::check(policy.as_ref(), machine).map_err(Error::Invalid)?;
    let predict = predict.filter(|_| !options.oracle);
    let sched = Scheduler::new(machine.clone(), policy, predict).with_governor(options.governor);
    let foresight = sched.wants_foresight().then(|| Foresight::rehearse(machine, workload, options)).transpose()?;
    let mut engine = Engine::new(machine, machine, workload, sched, options, observer)?;
    engine.foresight = foresight;
    if let Some(steering) = steering {
        engine.sched.set_culprit(steering.culprit());
        engine.beside = Some(Beside::new(steering));
        engine.calendar.push(Ns::ZERO, Entry::Look(Ns::ZERO));
    }
    engine.run()?;
    Ok(report::outcome(engine))
}

/// Whether the workload can run on the machine: the cores of its masks and the core that it is calibrated on are there, and
/// every program comes to an end.
/// [`run`] checks this too.
///
/// # Errors
/// [`Error::Invalid`] names the thread and what the machine has.
pub fn check(machine: &Machine, workload: &Workload) -> Result<(), Error> {
    let cores = machine.cores.len();
    for program in &workload.programs {
        if let Calibration::Core(core) = program.calibration
            && usize::from(core) >= cores
        {
            let what = format!("{} is calibrated on core {core}", program.name);
            return Err(Error::Invalid(format!("{what}, but {} has cores 0 to {}", machine.name, cores - 1)));
        }
        let ends = |thread: &evenkeel_workload::Thread| {
            thread.kind == ThreadKind::Application && thread.start != Start::Spawned && !endless(&thread.ops)
        };
        if workload.duration.is_none() && !program.threads.iter().any(ends) {
            let name = &program.name;
            return Err(Error::Invalid(format!("{name} never ends: give the workload a duration, or a loop an end")));
        }
        for thread in &program.threads {
            let sets = nested(&thread.ops).into_iter().chain([&thread.sched]);
            if let Some(mask) = sets.filter(|params| cores_of(machine, params).is_empty()).find_map(|p| p.cpus.as_ref())
            {
                let what = format!("{}/{} may run on cores {mask:?} only", program.name, thread.name);
                return Err(Error::Invalid(format!("{what}, but {} has cores 0 to {}", machine.name, cores - 1)));
            }
        }
    }
    Ok(())
}

/// All parameters that a thread's operations set.
fn nested(ops: &[Op]) -> Vec<&SchedParams> {
    let mut found = Vec::new();
    for op in ops {
        match op {
            Op::Set(params) => found.push(params),
            Op::Repeat { body, .. } | Op::Drain { body, .. } => found.extend(nested(body)),
            _ => {}
        }
    }
    found
}
