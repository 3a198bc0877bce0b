//! `heft`: heterogeneous earliest finish time (Topcuoglu et al., TPDS 2002). A reference that knows the whole graph, and
//! what each task costs on each core, before the program begins.
//!
//! The rank of a task is the longest path from its beginning to the end of the graph, each task at its mean cost over the
//! workers. By falling rank, every task is planned for the worker that ends it first, in a gap between others if there is
//! one. In the run a worker takes the ready task that its plan has first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use evenkeel_model::Ns;
use evenkeel_workload::graph::TaskGraph;

use super::costs::Costs;
use super::ready::{Crew, Ready};

#[derive(Debug)]
pub(super) struct Heft {
    plan: Vec<Planned>,
    /// By worker, what is ready, the first of its plan first.
    queues: Vec<BinaryHeap<Reverse<(Ns, u32)>>>,
}

/// Where a task is to run, and from when on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Planned {
    worker: usize,
    from: Ns,
    to: Ns,
}

impl Heft {
    pub fn new(graph: &TaskGraph, costs: &Costs) -> Self {
        let nowhere = Planned { worker: 0, from: Ns::ZERO, to: Ns::ZERO };
        let mut plan = vec![nowhere; graph.len()];
        let mut begin = 0;
        while begin < graph.len() {
            let end = graph.next_wait(begin);
            stretch(graph, costs, begin..end, &mut plan);
            begin = end;
        }
        Self { plan, queues: costs.create.iter().map(|_| BinaryHeap::new()).collect() }
    }
}

/// Plans the tasks between two waits of the main thread. It is with the first worker and creates them one by one.
fn stretch(graph: &TaskGraph, costs: &Costs, tasks: Range<usize>, plan: &mut [Planned]) {
    let workers = costs.create.len();
    let cost = |task: usize, worker: usize| costs.tasks[graph.site(task)][worker];
    let ranks = graph.bottom_levels(tasks.clone(), |task| {
        (0..workers).map(|worker| cost(task, worker).0 as f64).sum::<f64>() / workers as f64
    });
    let created = |task: usize| Ns(costs.create[0].0 * (task + 1 - tasks.start) as u64);
    let mut busy: Vec<Vec<(Ns, Ns)>> = vec![Vec::new(); workers];
    busy[0].push((Ns::ZERO, created(tasks.end - 1)));
    let mut order: Vec<usize> = tasks.clone().collect();
    order.sort_by(|a, b| ranks[b - tasks.start].total_cmp(&ranks[a - tasks.start]).then(a.cmp(b)));
    for task in order {
        let before = graph.predecessors(task).iter().map(|before| plan[*before as usize].to);
        let ready = before.fold(created(task), Ns::max);
        let mut best: Option<(Planned, usize)> = None;
        for (worker, busy) in busy.iter().enumerate() {
            let (from, place) = gap(busy, ready, cost(task, worker));
            let to = from + cost(task, worker);
            if best.is_none_or(|(best, _)| to < best.to) {
                best = Some((Planned { worker, from, to }, place));
            }
        }
        if let Some((best, place)) = best {
            busy[best.worker].insert(place, (best.from, best.to));
            plan[task] = best;
        }
    }
}

/// The first gap of a length that begins at `ready` or later: its beginning, and its position among the busy times.
fn gap(busy: &[(Ns, Ns)], ready: Ns, length: Ns) -> (Ns, usize) {
    let first = busy.partition_point(|(_, end)| *end <= ready);
    let mut from = ready;
    for (place, (begin, end)) in busy.iter().enumerate().skip(first) {
        if from + length <= *begin {
            return (from, place);
        }
        from = from.max(*end);
    }
    (from, busy.len())
}

impl Ready for Heft {
    fn push(&mut self, _: &TaskGraph, task: u32, _: usize, crew: &mut Crew) -> Option<usize> {
        let Planned { worker, from, .. } = self.plan[task as usize];
        self.queues[worker].push(Reverse((from, task)));
        Some(worker).filter(|worker| crew.workers[*worker].idle)
    }

    fn take(&mut self, worker: usize, _: &Crew) -> Option<u32> {
        self.queues[worker].pop().map(|Reverse((_, task))| task)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ready::tests::graph;
    use super::*;

    /// Costs in ms on a big worker and on a little one of half its speed, with a main thread that needs no time.
    fn costs(big: &[u64]) -> Costs {
        let tasks = big.iter().map(|cost| vec![Ns::from_ms(*cost), Ns::from_ms(2 * cost)]).collect();
        Costs { tasks, create: vec![Ns::ZERO; 2] }
    }

    #[test]
    fn a_plan_worked_out_by_hand() {
        // A diamond 0 -> {1, 2} -> 3 of 2, 3, 1 and 2 ms on the big worker, and a lone task of 1 ms.
        // Mean costs 3, 4.5, 1.5, 3, 1.5 give the ranks 10.5, 7.5, 4.5, 3, 1.5, so the order is 0, 1, 2, 3, 4.
        //   0: big 0-2 or little 0-4. 1: big 2-5 or little 2-8. 2: big 5-6 or little 2-4, so little.
        //   3: after 1, big 5-7 or little 5-9. 4: big 7-8 or little, in the gap before 2, 0-2: so little.
        let graph = graph(&[(&[], &[0]), (&[0], &[1]), (&[0], &[2]), (&[1, 2], &[3]), (&[], &[4])]);
        let heft = Heft::new(&graph, &costs(&[2, 3, 1, 2, 1]));
        let at = |worker, from, to| Planned { worker, from: Ns::from_ms(from), to: Ns::from_ms(to) };
        assert_eq!(heft.plan, [at(0, 0, 2), at(0, 2, 5), at(1, 2, 4), at(0, 5, 7), at(1, 0, 2)]);
    }

    #[test]
    fn the_worker_that_creates_tasks_has_no_time_for_others() {
        let graph = graph(&[(&[], &[0]), (&[], &[1])]);
        let creating = Costs { create: vec![Ns::from_ms(3); 2], ..costs(&[1, 1]) };
        let heft = Heft::new(&graph, &creating);
        // Created at 3 and 6 ms: the first goes to the little worker (3-5 against 6-7), the second to the big one (6-7).
        let at = |worker, from, to| Planned { worker, from: Ns::from_ms(from), to: Ns::from_ms(to) };
        assert_eq!(heft.plan, [at(1, 3, 5), at(0, 6, 7)]);
    }
}
