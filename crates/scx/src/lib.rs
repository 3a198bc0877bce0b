//! Host 3: the Linux kernel itself. Through sched_ext every policy of the scheduler core schedules the whole machine, or some
//! processes of it: it decides in this process, or inside the kernel.

mod allowance;
mod counting;
mod event;
mod follow;
mod host;
mod inside;
mod kernel;
mod loading;
mod moments;
mod observed;
mod only;
mod pairs;
mod programs;
mod ring;
mod session;
mod skeleton;
mod speed;
mod watched;

use std::{fmt, io};

use evenkeel_linux::{launch, process};
use evenkeel_model::Ns;

pub use follow::{End, Follow};
pub use host::Figures;
pub use observed::{Observed, ObservedThread};
pub use only::Only;
pub use session::{Account, Path, Plan, Session};

/// What happens when this process does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Cores take what has waited for so long by themselves, in turn with what they run.
    pub late: Ns,
    /// The machine is given back.
    pub gone: Ns,
}

impl Default for Bounds {
    /// A decision takes some 10 us, and this process comes before all others: 20 ms are a hundred times what it should ever
    /// need, and about a frame of a screen. It is gone after 2 s, before the kernel's watchdog would find a thread that waited
    /// for 5 s, and with a better reason.
    fn default() -> Self {
        Self { late: Ns::from_ms(20), gone: Ns::from_secs(2) }
    }
}

/// Why the kernel has taken the machine back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// What kind of end it was.
    pub reason: String,
    /// More about it.
    pub message: String,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reason, message } = self;
        write!(f, "the kernel took the machine back: {reason}: {message}")
    }
}

/// Why a machine cannot be scheduled.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel cannot.
    #[error(
        "this kernel has no sched_ext: expected one with CONFIG_SCHED_CLASS_EXT, such as Linux 7.0 (Debian: \
         linux-image-amd64 of trixie-backports); `evenkeel vm --scx` boots one"
    )]
    NoSchedExt,
    /// What it has lacks functions.
    #[error("this kernel's sched_ext is too old: expected Linux 6.14 or newer (tried: 6.19, 7.0, 7.2)")]
    OldSchedExt,
    /// It has another scheduler.
    #[error("the kernel is scheduled by {0:?} already: expected no other scheduler of sched_ext; end that one first")]
    Taken(String),
    /// It runs in a container whose PID namespace gives threads other numbers than the kernel's.
    #[error("{}; expected to be {}", process::NUMBERED_OTHERWISE, process::OUTSIDE)]
    Container,
    /// This user may not.
    #[error(
        "this user may not; it needs root, or the capabilities CAP_BPF, CAP_PERFMON, CAP_SYS_NICE and CAP_SYS_RESOURCE"
    )]
    NotAllowed,
    /// The kernel's part has not so many places.
    #[error("this machine can have {cpus} CPUs: expected at most {most}")]
    TooManyCpus {
        /// CPUs that the kernel may have.
        cpus: usize,
        /// Places for them.
        most: usize,
    },
    /// This process cannot come before what it schedules.
    #[error("cannot run before what is to be scheduled (SCHED_FIFO): {0}")]
    NoPriority(io::Error),
    /// The kernel refuses the scheduler.
    #[error("the kernel refuses the scheduler: {0}")]
    Refused(String),
    /// A system call failed.
    #[error("cannot talk to the kernel's part: {0}")]
    Kernel(io::Error),
    /// More happened than could be heard.
    #[error("{0} events of the kernel were lost, and with them where threads are; the machine was given back")]
    Lost(u64),
    /// What is to be scheduled is not there, or this user may not.
    #[error("cannot schedule {only}: {error}")]
    NotAdopted {
        /// What is to be scheduled.
        only: Only,
        /// What the kernel said.
        error: io::Error,
    },
    /// It did not become the command.
    #[error(transparent)]
    NotStarted(launch::Error),
    /// Something that does not happen.
    #[error("cannot wait for the command: {0}")]
    Wait(io::Error),
}

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
