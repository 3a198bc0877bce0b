//! A recorded run and its threads.

use std::collections::BTreeMap;

use evenkeel_model::Ns;

use super::division::Division;
use super::step::Step;
use crate::program::{Start, ThreadKind};

/// A recorded run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// The command with its arguments; empty if it is not known.
    pub command: Vec<String>,
    /// The machine that it ran on: the text of a machine file.
    pub machine: Option<String>,
    /// How long the recorded run took.
    pub makespan: Ns,
    /// How long it took there from a wake-up until the thread ran on a CPU that was idle, if that was measured.
    pub wake: Option<Ns>,
    /// Whether [`Step::Run`] counts instructions. Else it counts nanoseconds on the biggest core of `machine` at its
    /// highest frequency.
    pub counted: bool,
    /// What a reader should know, such as events that were lost. A sentence each.
    pub notes: Vec<String>,
    /// The pieces of each pool, by its number, where they are known.
    pub pools: BTreeMap<u32, Division>,
    /// The threads, in the order in which they appeared.
    pub threads: Vec<RecordedThread>,
    /// What threads took from lists ([`Step::Take`]), each list's in the order in which they began.
    pub items: Vec<RecordedItem>,
}

/// What one thread did.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedThread {
    /// Its name, which others may share.
    pub name: String,
    /// The process that it belongs to, counted from 0.
    pub process: u32,
    /// Whether it does the program's work or serves the runtime system.
    pub kind: ThreadKind,
    /// When it began: after so much of the recording, or when another thread spawned it.
    pub start: Start,
    /// Instructions per ns on each core type of the recording's machine, biggest first; `None` where it hardly ran. Empty
    /// where instructions are not counted, or their rate is unknown.
    pub rates: Vec<Option<f64>>,
    /// What it did, in order; then it exited, or the recording ended.
    pub steps: Vec<Step>,
}

/// One of the items of a list, which any thread that takes from the list may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedItem {
    /// The number of the list.
    pub list: u32,
    /// The thread that did it, by its position: the code is like that of this thread.
    pub by: u32,
    /// What was done, in order.
    pub steps: Vec<Step>,
}
