//! The runtime's choice: which of the ready tasks a worker takes, and which idle worker a ready task wakes.

use std::fmt::Debug;

use evenkeel_workload::graph::TaskGraph;

/// Ready tasks, in the order that a runtime system gives them.
pub(super) trait Ready: Debug {
    /// The main thread created a task. `done` says of every task whether it has ended.
    fn created(&mut self, _graph: &TaskGraph, _task: usize, _done: &[bool]) {}

    /// Puts in a task that `by` made ready. Returns which idle worker should be woken for it.
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
    /// An idle worker that suits. Idle workers of a runtime system search for work again and again, so it is chance which
    /// finds it first.
    pub fn any_idle(&mut self, suits: impl Fn(&Worker) -> bool) -> Option<usize> {
        let idle = || self.workers.iter().enumerate().filter(|(_, worker)| worker.idle && suits(worker));
        let count = idle().count();
        let chosen = if count > 1 { self.draws.usize(..count) } else { 0 };
        idle().nth(chosen).map(|(index, _)| index)
    }

    /// Whether a worker on a big core, other than this one, is at work and so will take a task again.
    pub fn big_at_work(&self, besides: Option<usize>) -> bool {
        let others = self.workers.iter().enumerate().filter(|(index, _)| Some(*index) != besides);
        others.into_iter().any(|(_, worker)| worker.big && !worker.idle)
    }
}

/// What the tests of ready queues need.
#[cfg(test)]
pub(super) mod tests {
    use evenkeel_workload::graph::TaskGraph;
    use evenkeel_workload::program::{RegionId, Start, Task, ThreadKind};
    use evenkeel_workload::{Op, Program, Thread};

    use super::{Crew, Worker};

    /// Workers, those on big cores first, all of them busy.
    pub fn crew(big: usize, little: usize) -> Crew {
        let worker = |index| Worker { big: index < big, idle: false };
        Crew { workers: (0..big + little).map(worker).collect(), draws: fastrand::Rng::with_seed(1) }
    }

    /// A graph from the regions that each task reads and writes; each task is a site of its own.
    pub fn graph(tasks: &[(&[u32], &[u32])]) -> TaskGraph {
        let regions = |list: &[u32]| list.iter().copied().map(RegionId).collect();
        let op = |(reads, writes): &(&[u32], &[u32])| {
            let (reads, writes) = (regions(reads), regions(writes));
            Op::Task(Box::new(Task { name: "t".into(), reads, writes, body: Vec::new() }))
        };
        let main = Thread {
            name: "main".into(),
            process: 0,
            ops: tasks.iter().map(op).collect(),
            start: Start::At(evenkeel_model::Ns::ZERO),
            kind: ThreadKind::Application,
            sched: Default::default(),
        };
        let regions = vec!["r".into(); 9];
        TaskGraph::new(&Program { threads: vec![main], regions, ..Program::default() }).unwrap()
    }
}
