//! `heft`: every task where it ends first (Topcuoglu et al., TPDS 2002), as the workers' queues fill: a reference that
//! knows the whole graph and what each task costs on each core.
//!
//! The rank of a task is the longest path from its beginning to the end of the graph, each task at its mean cost over the
//! workers. A task that becomes ready goes to the worker that would end it first; each worker takes the highest rank of
//! its own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use evenkeel_model::{Behaviour, Machine, Ns};
use evenkeel_workload::Op;
use evenkeel_workload::graph::TaskGraph;
use evenkeel_workload::program::{Task, Tasking, Work};

use super::ready::{Crew, Ready};
use crate::code::Flatten;

/// What each kind of task, and the creation of a task, costs on each worker's core at its highest frequency.
#[derive(Clone, Debug, Default)]
pub(super) struct Costs {
    /// By site of the graph and worker.
    pub tasks: Vec<Vec<Ns>>,
    /// By worker.
    pub create: Vec<Ns>,
}

impl Costs {
    /// For workers that are tied to one core each.
    pub fn new(
        flatten: &Flatten<'_>,
        machine: &Machine,
        tasking: &Tasking,
        tasks: &[&Task],
        workers: &[Option<Vec<u16>>],
    ) -> Self {
        let homes = workers.iter().flatten().map(|cores| machine.cores[usize::from(cores[0])].core_type);
        let homes: Vec<_> = homes.collect();
        let time = |home, behaviour: &Behaviour, work: Work| {
            let instructions = (flatten.calibrate)(flatten.program, behaviour, work) as f64;
            instructions / machine.rate(home, machine.core_types[usize::from(home.0)].max_frequency(), behaviour)
        };
        let phase = |op: &Op| match op {
            Op::Compute { phase, work, .. } => Some((&flatten.program.phases[phase.index()].behaviour, *work)),
            _ => None,
        };
        let on = |task: &Task, home| {
            let compute = |op: &Op| phase(op).map_or(0.0, |(behaviour, work)| time(home, behaviour, work));
            Ns(length(&task.body, &compute) as u64)
        };
        let of_task = |task: &&Task| homes.iter().map(|home| on(task, *home)).collect();
        let create = |home: &_| Ns(time(*home, &Behaviour::REFERENCE, tasking.create) as u64);
        Self { tasks: tasks.iter().map(of_task).collect(), create: homes.iter().map(create).collect() }
    }
}

/// How long operations take in ns, given how long a computation does.
fn length(ops: &[Op], compute: &impl Fn(&Op) -> f64) -> f64 {
    let one = |op: &Op| match op {
        Op::Spin(span) | Op::Sleep { span, .. } => span.0 as f64,
        Op::Repeat { times, body } => times.unwrap_or(1) as f64 * length(body, compute),
        op => compute(op),
    };
    ops.iter().map(one).sum()
}

#[derive(Debug)]
pub(super) struct Heft {
    costs: Costs,
    /// By task: its site, and its rank in nanoseconds.
    tasks: Vec<(u32, u64)>,
    queues: Vec<Queue>,
}

/// What waits for one worker.
#[derive(Debug, Default)]
struct Queue {
    tasks: BinaryHeap<(u64, Reverse<u32>)>,
    /// What the waiting tasks cost in total.
    cost: Ns,
    /// When the worker will have done the task that it took last.
    free: Ns,
}

impl Heft {
    pub fn new(graph: &TaskGraph, costs: Costs) -> Self {
        let workers = costs.create.len();
        let mean = |task: usize| {
            let all = &costs.tasks[graph.site(task)];
            all.iter().map(|cost| cost.0 as f64).sum::<f64>() / workers as f64
        };
        let ranks = graph.bottom_levels(mean);
        let task = |(task, rank): (usize, f64)| (graph.site(task) as u32, rank.round() as u64);
        let tasks = ranks.into_iter().enumerate().map(task).collect();
        Self { costs, tasks, queues: (0..workers).map(|_| Queue::default()).collect() }
    }

    fn cost(&self, task: u32, worker: usize) -> Ns {
        self.costs.tasks[self.tasks[task as usize].0 as usize][worker]
    }

    /// When a worker would end a task that went to its queue now.
    fn finish(&self, task: u32, worker: usize, crew: &Crew) -> Ns {
        let queue = &self.queues[worker];
        let creates = match crew.main {
            Some((main, ahead)) if main == worker => Ns(self.costs.create[worker].0 * ahead as u64),
            _ => Ns::ZERO,
        };
        queue.free.max(crew.now + creates) + queue.cost + self.cost(task, worker)
    }
}

impl Ready for Heft {
    fn arrange(&self, tasks: &mut [u32]) {
        tasks.sort_by_key(|task| (Reverse(self.tasks[*task as usize].1), *task));
    }

    fn push(&mut self, _: &TaskGraph, task: u32, _: usize, crew: &Crew) -> Option<usize> {
        let earliest = (0..self.queues.len()).min_by_key(|worker| self.finish(task, *worker, crew))?;
        let cost = self.cost(task, earliest);
        let queue = &mut self.queues[earliest];
        queue.tasks.push((self.tasks[task as usize].1, Reverse(task)));
        queue.cost += cost;
        Some(earliest).filter(|worker| crew.workers[*worker].idle.is_some())
    }

    fn take(&mut self, worker: usize, crew: &Crew) -> Option<u32> {
        let (_, Reverse(task)) = self.queues[worker].tasks.pop()?;
        let cost = self.cost(task, worker);
        let queue = &mut self.queues[worker];
        queue.cost -= cost;
        queue.free = crew.now + cost;
        Some(task)
    }
}
