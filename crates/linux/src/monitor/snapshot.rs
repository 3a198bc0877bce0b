//! What is said between a host and one that watches it.

use evenkeel_model::Ns;
use evenkeel_sched::policy::Label;
use serde::{Deserialize, Serialize};

use crate::event::Tid;

/// What a host schedules, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// What the host is: the command that started it, such as `run` or `scx`.
    pub host: String,
    /// Its process.
    pub pid: Tid,
    /// The policy, with its knobs.
    pub policy: String,
    /// How long it has scheduled.
    pub elapsed: Ns,
    /// The CPU time that it has used for that.
    pub cost: Ns,
    /// The names of the core types, the biggest first.
    pub core_types: Vec<String>,
    /// The cores, in order of their core types.
    pub cores: Vec<CoreNow>,
    /// The threads that live, in order of their numbers.
    pub threads: Vec<ThreadNow>,
    /// What the host cannot do or see, and why.
    pub missing: Vec<String>,
}

/// A core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreNow {
    /// The kernel's number of it.
    pub cpu: u16,
    /// Which of [`Snapshot::core_types`] it is.
    pub core_type: u8,
    /// The thread that it runs, if that is one of the host's.
    pub thread: Option<Tid>,
}

/// A thread. All times count from when the host first saw it; `scx` counts what a thread did itself from zero when `exec` gives it another number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadNow {
    /// Its number.
    pub tid: Tid,
    /// That of its process.
    pub process: Tid,
    /// It serves a language's runtime system.
    pub service: bool,
    /// What it does.
    pub state: State,
    /// The CPU that it runs on, waits for, or was on last.
    pub cpu: u16,
    /// What the policy thinks of it.
    #[serde(with = "Word")]
    pub label: Label,
    /// How much faster it is on the biggest core type than on the smallest, if that was measured.
    pub speedup: Option<f64>,
    /// How long it has run on each core type.
    pub run: Vec<Ns>,
    /// How long it has been ready without a core.
    pub delay: Ns,
    /// How long others have waited for it; `None` where that is not seen.
    pub blame: Option<Ns>,
    /// The CPUs that a watcher has pinned it to; empty if none has.
    pub pinned: Vec<u16>,
}

/// What a thread does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// It has a core.
    Running,
    /// It waits for a core.
    Ready,
    /// It waits for something else.
    #[default]
    Waiting,
}

/// How labels are written.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Label")]
enum Word {
    Big,
    Little,
    Critical,
    Any,
}

impl State {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ready => "ready",
            Self::Waiting => "waiting",
        }
    }
}

/// What a watcher asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Request {
    /// A snapshot this often, one of [`super::PERIODS`].
    Every(Ns),
    /// A change.
    Change(Change),
}

/// What a watcher wants to be different.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// A thread is kept to some CPUs until it is pinned elsewhere; to none: no longer.
    Pin {
        /// The thread.
        tid: Tid,
        /// The CPUs.
        cpus: Vec<u16>,
    },
    /// Another policy schedules, as for `--policy`.
    Policy(String),
}

/// What a host says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reply {
    /// What there is.
    Snapshot(Snapshot),
    /// A change was made.
    Done(Change),
    /// A change was not made, and why.
    Refused(String),
}
