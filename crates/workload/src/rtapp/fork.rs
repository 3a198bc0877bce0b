//! Threads of a program as they are found: those that start with the run, then those that a `fork` makes.

use super::task::RtAppTask;
use crate::program::{SchedParams, Start, Thread, ThreadIndex, ThreadKind};

/// More threads than this are taken for a mistake. rt-app itself gives up after 1024 forks of a task.
const MOST: usize = 4096;
/// How many iterations of a loop get threads of their own for what they fork.
pub(super) const COPIES: u64 = 16;

/// Threads whose operations are still to be lowered, and those that are done.
#[derive(Default)]
pub(super) struct Threads {
    pub(super) list: Vec<Thread>,
    origins: Vec<Origin>,
    forks: Vec<u32>,
}

/// Where a thread comes from.
#[derive(Clone, Copy)]
pub(super) struct Origin {
    /// The position of its task.
    pub(super) task: usize,
    /// The thread that forks it.
    pub(super) parent: Option<usize>,
}

impl Threads {
    /// Adds a thread; `None` if there are too many. Names are rt-app's: the task, the thread's number, the fork's.
    pub(super) fn add(&mut self, tasks: &[RtAppTask], task: usize, parent: Option<usize>) -> Option<ThreadIndex> {
        let index = self.list.len();
        if index >= MOST {
            return None;
        }
        let name = &tasks[task].name;
        let (name, start) = if parent.is_some() {
            self.forks.resize(tasks.len(), 0);
            let fork = self.forks[task];
            self.forks[task] += 1;
            (format!("{name}-{index}-{fork:04}"), Start::Spawned)
        } else {
            (format!("{name}-{index}"), Start::At(tasks[task].delay))
        };
        let (kind, sched) = (ThreadKind::Application, SchedParams::default());
        self.list.push(Thread { name, process: 0, ops: Vec::new(), start, kind, sched });
        self.origins.push(Origin { task, parent });
        Some(ThreadIndex(index as u32))
    }

    pub(super) fn origin(&self, thread: usize) -> Origin {
        self.origins[thread]
    }

    /// The forked thread of `task` among `thread` and those that it descends from.
    pub(super) fn ancestor(&self, thread: usize, task: usize) -> Option<ThreadIndex> {
        let mut lineage = std::iter::successors(Some(thread), |&thread| self.origins[thread].parent);
        let forked = |origin: Origin| origin.task == task && origin.parent.is_some();
        lineage.find(|&thread| forked(self.origins[thread])).map(|thread| ThreadIndex(thread as u32))
    }
}
