//! What the host sees of a thread each time it looks.

use evenkeel_model::Ns;

use crate::event::Tid;

/// A machine has at most this many core types.
pub const MAX_TYPES: usize = 8;

/// A living thread of the target, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The thread.
    pub tid: Tid,
    /// Its process.
    pub process: Tid,
    /// Whether it runs, waits for a core, or waits for something.
    pub state: State,
    /// The CPU that it runs on, waits for, or was on last.
    pub cpu: u16,
    /// All time that it has run, by core type.
    pub run: [Ns; MAX_TYPES],
    /// All time that it was runnable and another thread had its CPU.
    pub delay: Ns,
    /// Where it comes from, if that was seen.
    pub birth: Option<Birth>,
}

/// The beginning of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Birth {
    /// The thread that started it.
    pub parent: Tid,
    /// When.
    pub at: Ns,
}

/// The state of a thread, as far as scheduling is concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Runs or waits for a CPU.
    #[default]
    Runnable,
    /// Waits for another thread, in the futex system call.
    Futex,
    /// Waits for anything else.
    Blocked,
}

/// A wait of one thread for another that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blame {
    /// Who ended it.
    pub waker: Tid,
    /// How long it was.
    pub waited: Ns,
}
