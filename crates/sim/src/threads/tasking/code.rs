//! A program's runtime system as the simulator runs it: the steps of its workers, and where in the code they are.

use evenkeel_model::ThreadId;
use evenkeel_workload::graph::TaskGraph;
use evenkeel_workload::program::{MainThread, ReadyQueue, Tasking};

use super::costs::Costs;

/// A step of a worker, or of the main thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// The main thread waits if it is too far ahead.
    Window,
    /// The main thread has created a task. If that is ready, the thread puts it in next.
    Create,
    /// The main thread waits for all tasks.
    Wait,
    /// The main thread is at its end, and so are the workers.
    End,
    /// Spends the time to put in what has become ready.
    Gather,
    /// Puts it in.
    Push,
    /// Back to where the way to put something in was begun.
    Return,
    /// Takes a task, or waits for one.
    Take,
    /// Begins what was taken.
    Enter,
    /// The task is done. If others are ready now, the worker puts them in next.
    Done,
}

/// A program's runtime system, laid out.
#[derive(Debug)]
pub(crate) struct RuntimeCode {
    pub graph: TaskGraph,
    pub tasking: Tasking,
    /// The first worker is the thread that creates tasks, the others follow each other.
    pub(super) main: ThreadId,
    pub(super) others: ThreadId,
    pub(super) workers: usize,
    /// The lock of a ready queue that all share.
    pub(super) lock: Option<u32>,
    /// Where a worker's loop begins, where it puts tasks in, and where it exits.
    pub(super) loop_at: u32,
    pub(super) push_at: u32,
    pub(super) exit_at: u32,
    /// By site of the graph: name and beginning.
    pub(super) tasks: Vec<(String, u32)>,
    /// The phase of the runtime's own code, and what an access to a ready queue costs in instructions of it.
    pub(super) phase: u32,
    pub(super) queue: u64,
    /// What `heft` knows; empty for the others.
    pub(super) costs: Costs,
}

impl RuntimeCode {
    pub(super) fn thread(&self, worker: usize) -> ThreadId {
        if worker == 0 { self.main } else { ThreadId(self.others.0 + worker as u32 - 1) }
    }

    pub(super) fn worker(&self, thread: ThreadId) -> usize {
        if thread == self.main { 0 } else { (thread.0 - self.others.0) as usize + 1 }
    }

    /// Whether only the first worker carries the main thread. A plan must know who does.
    pub(super) fn main_stays(&self) -> bool {
        self.tasking.main != MainThread::Default || self.tasking.ready == ReadyQueue::Heft
    }

    /// So many tasks may be created and not done.
    pub(super) fn window(&self) -> usize {
        self.tasking.window as usize * self.workers
    }
}
