//! The entry point: one workload on one machine under one policy.

use std::sync::Arc;

use evenkeel_model::{Machine, Ns};
use evenkeel_sched::{Governor, Policy, Predict, Scheduler};
use evenkeel_workload::program::{Calibration, SchedParams, Start, ThreadKind};
use evenkeel_workload::{Op, Workload};

use crate::threads::code::endless;
use crate::threads::engine::Engine;
use crate::threads::foresight::Foresight;
use crate::threads::life::cores_of;
use crate::threads::{Observer, Outcome, report};
use crate::{MAX_EVENTS, Meter};

/// How a run is carried out.
#[derive(Clone, Debug)]
pub struct Options {
    /// Every random draw of the run derives from this.
    pub seed: u64,
    /// A run that lasts longer ends with [`Error::MaxTime`]. By default ten hours, which every bundled workload keeps on every bundled machine.
    pub max_time: Ns,
    /// A run that has more events ends with [`Error::MaxEvents`]. [`MAX_EVENTS`] by default.
    pub max_events: u64,
    /// Where the run says how far it is, and sees that it shall stop.
    pub meter: Option<Arc<Meter>>,
    /// Every answer of the scheduler takes effect this much later, as with an asynchronous host. Zero: at once.
    pub delay: Ns,
    /// Background noise: short kernel work and interrupts on every core, drawn from the seed. Each seed also starts programs
    /// from another core; without noise they are started from the first.
    pub noise: bool,
    /// What decides how fast the clusters run.
    pub governor: Governor,
    /// Policies see the true speedup of every thread instead of a prediction.
    pub oracle: bool,
    /// Counters are read for every thread, whatever the policy needs, and reported in [`crate::threads::ThreadOutcome`].
    pub counters: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            max_time: Ns::from_secs(36_000),
            max_events: MAX_EVENTS,
            meter: None,
            delay: Ns::ZERO,
            noise: false,
            governor: Governor::default(),
            oracle: false,
            counters: false,
        }
    }
}

/// Why a run could not be carried to its end.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum Error {
    /// The workload asks for something that cannot be done.
    #[error("{0}")]
    Invalid(String),
    /// Every thread that is left waits for another one. The text names the waiting cycle.
    #[error("deadlock at {at}: {cycle}")]
    Deadlock {
        /// When nothing could happen any more.
        at: Ns,
        /// Who waits for whom.
        cycle: String,
    },
    /// The run lasted longer than [`Options::max_time`].
    #[error("still running after {limit}: {threads}")]
    MaxTime {
        /// The limit.
        limit: Ns,
        /// What was still running, and on what.
        threads: String,
    },
    /// The run had more events than [`Options::max_events`].
    #[error("still running after {limit} events, at {at}: {threads}")]
    MaxEvents {
        /// The limit.
        limit: u64,
        /// The simulated time that it had reached.
        at: Ns,
        /// What was still running, and on what.
        threads: String,
    },
}

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
    check(machine, workload)?;
    evenkeel_sched::policy::check(policy.as_ref(), machine).map_err(Error::Invalid)?;
    let predict = predict.filter(|_| !options.oracle);
    let sched = Scheduler::new(machine.clone(), policy, predict).with_governor(options.governor);
    let foresight = sched.wants_foresight().then(|| Foresight::rehearse(machine, workload, options)).transpose()?;
    let mut engine = Engine::new(machine, machine, workload, sched, options, observer)?;
    engine.foresight = foresight;
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
