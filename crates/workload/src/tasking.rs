//! Task-parallel programs in the manner of OmpSs and OpenMP 4: a main thread creates tasks in program order, each says
//! which regions of memory it reads and writes, and a runtime system runs it when the tasks that it depends on are done.

use serde::Deserialize;

use crate::program::{Op, RegionId, Work};

/// A task as the main thread meets it ([`Op::Task`]). Met twice, it is two tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Name of the kind of task, for messages and traces.
    pub name: String,
    /// Regions that it reads (`in`): it waits for the last task that writes each.
    pub reads: Vec<RegionId>,
    /// Regions that it writes (`out`, `inout`): it waits for the last writer and for all that have read since.
    pub writes: Vec<RegionId>,
    /// What it does.
    pub body: Vec<Op>,
}

/// The runtime system of a task-parallel program: who runs tasks, in which order, and what that costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Tasking {
    /// Which of the ready tasks a worker takes.
    pub ready: ReadyQueue,
    /// Where the main thread runs.
    pub main: MainThread,
    /// How many threads run tasks, the main thread among them. `None`: one for each core of the machine.
    pub workers: Option<u32>,
    /// Whether each worker stays on a core of its own.
    pub tied: bool,
    /// The main thread runs ahead by at most this many unfinished tasks for each worker; then it works as well, until
    /// half of them are left.
    pub window: u32,
    /// What the main thread needs to create a task.
    pub create: Work,
    /// What it takes to put a task into a ready queue, or to take one out.
    pub queue: Work,
}

impl Default for Tasking {
    fn default() -> Self {
        Self {
            ready: ReadyQueue::default(),
            main: MainThread::default(),
            workers: None,
            tied: false,
            // Nanos++, the runtime of OmpSs: its throttle policy stops at 500 tasks a thread and resumes at 250.
            window: 500,
            // Assumed: together some ten thousand instructions a task, the order of magnitude of Nanos++.
            create: Work::Instructions(8_000),
            queue: Work::Instructions(1_000),
        }
    }
}

/// Which of the ready tasks a worker takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadyQueue {
    /// The oldest, from one queue with a lock (flexible system software, III.D).
    #[default]
    Fifo,
    /// The newest of its own, else the oldest of another worker's.
    Steal,
    /// Critical tasks on big cores, by the longest path below each task (Chronaki et al., ICS 2015).
    Cats,
    /// Each task where it ends first, with the cost of every task known (Topcuoglu et al., TPDS 2002). A reference.
    Heft,
}

/// Where the main thread, which creates the tasks, runs (flexible system software, V.D).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MainThread {
    /// After it had to wait, on whichever worker is free first.
    #[default]
    Default,
    /// Always on a core of the biggest type.
    Big,
    /// Always on a core of the smallest type.
    Little,
}
