//! The runtime system of a task-parallel program, at work: the main thread creates tasks, workers take those that are
//! ready, run them, and make others ready.
//!
//! A worker is a thread whose operations are a loop of the simulator's own (`layout.rs`): take the lock of the ready queue,
//! spend the time of an access, take a task, release the lock, run the task's operations, and put in what has become ready
//! the same way. So contention, waiting and scheduling are those of any program.
//!
//! The main thread is a course of operations that a worker carries. Where it has to wait it is put aside, its worker works
//! on, and a worker takes it up again: the first that asks, or always the same one (flexible system software, V.D).

mod cats;
mod fifo;
mod heft;
pub(crate) mod layout;
mod ready;
mod runtime;
mod steal;

use evenkeel_model::ThreadId;
use evenkeel_workload::graph::TaskGraph;
use evenkeel_workload::program::{MainThread, ReadyQueue, Tasking};

pub(crate) use runtime::{Runtime, Then};

/// A step of a worker, or of the main thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// The main thread waits if it is too far ahead.
    Window,
    /// The main thread has created a task. If that is ready, the thread puts it in next.
    Create,
    /// The main thread waits for all tasks.
    Wait,
    /// The main thread is at its end, and so is everybody.
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
    main: ThreadId,
    others: ThreadId,
    workers: usize,
    /// The lock of a ready queue that all share.
    lock: Option<u32>,
    /// Where a worker's loop begins, where it puts tasks in, and where it exits.
    loop_at: u32,
    push_at: u32,
    exit_at: u32,
    /// By site of the graph: name and beginning.
    tasks: Vec<(String, u32)>,
    /// The phase of the runtime's own code, and what an access to a ready queue costs in instructions of it.
    phase: u32,
    queue: u64,
    /// What `heft` knows; empty for the others.
    costs: heft::Costs,
}

impl RuntimeCode {
    fn thread(&self, worker: usize) -> ThreadId {
        if worker == 0 { self.main } else { ThreadId(self.others.0 + worker as u32 - 1) }
    }

    fn worker(&self, thread: ThreadId) -> usize {
        if thread == self.main { 0 } else { (thread.0 - self.others.0) as usize + 1 }
    }

    /// Whether only the first worker carries the main thread. A plan must know who does.
    fn main_stays(&self) -> bool {
        self.tasking.main != MainThread::Default || self.tasking.ready == ReadyQueue::Heft
    }

    /// So many tasks may be created and not done.
    fn window(&self) -> usize {
        self.tasking.window as usize * self.workers
    }
}
