//! The runtime's choice: which of the ready tasks a worker takes, and which idle worker a ready task wakes.

use std::fmt::Debug;

use evenkeel_workload::graph::TaskGraph;

/// Ready tasks, in the order that a runtime system gives them.
pub(super) trait Ready: Debug {
    /// The main thread created a task. `done` says of every task whether it has ended.
    fn created(&mut self, _graph: &TaskGraph, _task: usize, _done: &[bool]) {}

    /// Puts in a task that `by` made ready. Answers which idle worker should be woken for it.
    fn push(&mut self, graph: &TaskGraph, task: u32, by: usize, crew: &mut Crew) -> Option<usize>;

    /// Takes out the task that a worker runs next.
    fn take(&mut self, worker: usize, crew: &Crew) -> Option<u32>;
}

/// The workers as a ready queue sees them.
#[derive(Debug)]
pub(super) struct Crew {
    pub workers: Vec<Worker>,
    pub draws: fastrand::Rng,
}

/// One worker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Worker {
    /// Whether it runs, or ran last, on a core of the biggest type.
    pub big: bool,
    pub idle: bool,
}

impl Crew {
    /// An idle worker that suits. Idle workers of a runtime system look for work again and again, so it is chance who
    /// finds it first.
    pub fn any_idle(&mut self, suits: impl Fn(&Worker) -> bool) -> Option<usize> {
        let idle = || self.workers.iter().enumerate().filter(|(_, worker)| worker.idle && suits(worker));
        let count = idle().count();
        let chosen = if count > 1 { self.draws.usize(..count) } else { 0 };
        idle().nth(chosen).map(|(index, _)| index)
    }

    /// Whether a worker on a big core, other than this one, is at work and so will ask again.
    pub fn big_at_work(&self, besides: Option<usize>) -> bool {
        let others = self.workers.iter().enumerate().filter(|(index, _)| Some(*index) != besides);
        others.into_iter().any(|(_, worker)| worker.big && !worker.idle)
    }
}

/// Workers for the tests of ready queues: those on big cores first, all of them busy.
#[cfg(test)]
pub(super) fn crew(big: usize, little: usize) -> Crew {
    let worker = |index| Worker { big: index < big, idle: false };
    Crew { workers: (0..big + little).map(worker).collect(), draws: fastrand::Rng::with_seed(1) }
}
