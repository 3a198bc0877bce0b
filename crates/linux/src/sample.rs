//! A sample of a thread: what is seen of it at one moment.

use evenkeel_model::Ns;

use crate::counts::Counts;
use crate::event::Tid;
use crate::numbers;

/// A machine has at most this many core types; `watch.bpf.c` has the same number.
pub const MAX_TYPES: usize = evenkeel_topology::kinds::MOST;

/// A living thread of the target, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The thread.
    pub tid: Tid,
    /// Its process.
    pub process: Tid,
    /// Whether it runs, waits for a core, or waits for something.
    pub state: ThreadState,
    /// The CPU that it runs on, waits for, or was on last.
    pub cpu: u16,
    /// All time that it has run, by core type.
    pub run: [Ns; MAX_TYPES],
    /// All time that it was runnable and another thread had its CPU.
    pub delay: Ns,
    /// How often it left a CPU, or came onto one, which is at most one more.
    pub switches: u64,
    /// Where it comes from, if that was seen.
    pub birth: Option<Birth>,
    /// What only eBPF sees.
    pub inside: Option<Inside>,
    /// All that has been counted of it since it was first seen, where there is a PMU.
    pub counts: Option<Counts>,
}

/// What only a sample from inside the kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inside {
    /// Since when it has been on its CPU, or off.
    pub turn: Turn,
    /// How often it was preempted.
    pub preempted: u64,
    /// All time that it waited in the futex system call.
    pub waited: Ns,
    /// All time that others waited there for it ([`PairWaits`]).
    pub blame: Ns,
}

/// The last time that a thread came onto a CPU or left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It has been running since.
    On(Ns),
    /// It has not run since.
    Off(Ns),
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
pub enum ThreadState {
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
    /// The thread that ended it.
    pub waker: Tid,
    /// How long it was.
    pub waited: Ns,
}

/// The sum of all waits of one thread for another: for the one that ended a wait, since that one's own last wait was over, and before that
/// for the one that ended that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairWaits {
    /// The thread that waited.
    pub waiter: Tid,
    /// The thread that was waited for.
    pub waker: Tid,
    /// The sum of the waits.
    pub waited: Ns,
    /// The number of the waits.
    pub times: u64,
}

impl PairWaits {
    /// From a key and a value of a map in the kernel.
    pub fn read(key: &[u8], value: &[u8]) -> Option<Self> {
        let (waiter, waker) = (numbers::word(key, 0)?, numbers::word(key, 4)?);
        Some(Self { waiter, waker, waited: Ns(numbers::long(value, 0)?), times: numbers::long(value, 8)? })
    }
}
