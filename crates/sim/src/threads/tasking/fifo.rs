//! `fifo`: one queue for all workers. A task that becomes ready goes to its tail, the first worker that is free takes
//! the one at its head (flexible system software, III.D).

use std::collections::VecDeque;

use evenkeel_workload::graph::TaskGraph;

use super::ready::{Crew, Ready};

#[derive(Debug, Default)]
pub(super) struct Fifo {
    queue: VecDeque<u32>,
}

impl Ready for Fifo {
    fn push(&mut self, _: &TaskGraph, task: u32, _: usize, crew: &mut Crew) -> Option<usize> {
        self.queue.push_back(task);
        crew.any_idle(|_| true)
    }

    fn take(&mut self, _: usize, _: &Crew) -> Option<u32> {
        self.queue.pop_front()
    }
}
