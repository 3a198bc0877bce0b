//! Why an experiment cannot be carried out.

use std::io;
use std::path::PathBuf;

use evenkeel_model::predict::PredictError;
use evenkeel_model::{MachineError, NoMachine};
use evenkeel_sched::policy::SetupError;
use evenkeel_workload::NameError;

/// Why an experiment cannot be carried out. The message says what is wrong and where; [`std::error::Error::source`]
/// leads to the cause. No message names an option of a command: a caller that has options adds its own hints.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name that nothing of its kind has.
    #[error("unknown {kind} \"{name}\": {hint}")]
    Unknown {
        /// What kind of thing was named.
        kind: &'static str,
        /// The name.
        name: String,
        /// The nearest known name, or all of them.
        hint: String,
    },
    /// No bundled machine has this name.
    #[error(transparent)]
    NoMachine(#[from] NoMachine),
    /// A machine file has a mistake.
    #[error(transparent)]
    MachineFile(#[from] MachineError),
    /// A description of a machine by another tool, or a part of a machine, cannot be used.
    #[error("{name}: {why}")]
    Machine {
        /// The machine as it was named.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// No policy has this name, or it has no such knob.
    #[error(transparent)]
    Policy(#[from] SetupError),
    /// A policy cannot schedule a machine.
    #[error("{0}")]
    Refused(String),
    /// No bundled workload has this name.
    #[error(transparent)]
    NoWorkload(#[from] NameError),
    /// A file has a mistake. The message names the file.
    #[error("{0}")]
    File(String),
    /// A workload cannot run on a machine.
    #[error(transparent)]
    Unfit(evenkeel_sim::Error),
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A run has no program made of tasks, but [`crate::Tasks`] says how tasks are run.
    #[error("{setting} is for programs made of tasks, and {workload} has none")]
    NoTasks {
        /// The field of [`crate::Tasks`] that is set.
        setting: TaskSetting,
        /// The workload.
        workload: String,
    },
    /// A run could not be carried to its end.
    #[error("{what}")]
    Run {
        /// Which run: workload, machine and policy.
        what: String,
        /// Why.
        source: evenkeel_sim::Error,
    },
    /// A run of simulated workers could not be carried to its end.
    #[error("{what}")]
    Workers {
        /// Which run: kernel and machine.
        what: String,
        /// Why.
        source: evenkeel_sim::workers::TooManyEvents,
    },
    /// A predictor cannot be trained, or its file has a mistake.
    #[error(transparent)]
    Predictor(#[from] PredictError),
    /// A predictor cannot be trained for a machine.
    #[error("no predictor for {machine}")]
    Untrained {
        /// The machine.
        machine: String,
        /// Why.
        source: PredictError,
    },
    /// All cores of a machine are of one type.
    #[error("{machine} has one type of core: there is no speedup to predict")]
    OneCoreType {
        /// The machine.
        machine: String,
    },
    /// The given predictor has no model for a machine.
    #[error("{predictor} has no model for the core types of {machine}")]
    NoModel {
        /// The predictor, such as its file.
        predictor: String,
        /// The machine.
        machine: String,
    },
    /// A policy wants a predictor that is worse on purpose, which only training can make.
    #[error("a policy wants a worse predictor than {predictor}, which takes training")]
    WorsePredictor {
        /// The predictor that was given, such as its file.
        predictor: String,
    },
    /// An experiment file names something that does not exist or cannot be run.
    #[error("{0}")]
    ExperimentFile(String),
    /// Perfect knowledge of speedups is wanted of an experiment in which no policy sees any.
    #[error("perfect knowledge is of speedups that policies see, but {experiment} has workers, which see none")]
    NoSpeedups {
        /// The experiment.
        experiment: String,
    },
    /// [`crate::Control`] stopped the work.
    #[error("stopped after {done} of {of} runs")]
    Stopped {
        /// Runs of the present stage that were done.
        done: usize,
        /// Runs of the present stage.
        of: usize,
    },
    /// Something that went wrong in a named place.
    #[error("{place}")]
    In {
        /// The place.
        place: String,
        /// What went wrong there.
        source: Box<Error>,
    },
}

/// A field of [`crate::Tasks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskSetting {
    /// [`crate::Tasks::ready`].
    ReadyQueue,
    /// [`crate::Tasks::main`].
    MainThread,
}

impl std::fmt::Display for TaskSetting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ReadyQueue => "a ready queue",
            Self::MainThread => "a place for the main thread",
        })
    }
}

impl Error {
    /// One run was stopped on its way; how many were not, its stage knows.
    pub(crate) const INTERRUPTED: Self = Self::Stopped { done: 0, of: 1 };

    /// This error in a named place.
    pub(crate) fn within(self, place: impl Into<String>) -> Self {
        Self::In { place: place.into(), source: Box::new(self) }
    }
}

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;
