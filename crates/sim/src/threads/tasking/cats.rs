//! `cats`: critical tasks on big cores, without knowing what a task costs (Chronaki et al., ICS 2015; where the paper
//! leaves a choice, as the scheduler `botlev` of its runtime Nanos++ does it).
//!
//! The priority of a task is its bottom level: how many tasks are below it on the longest path of the graph, as far as
//! that has been created. A task that becomes ready is critical if it begins the longest path seen so far, or continues
//! the one on which the last critical task lies. Critical tasks wait in one queue, the others in another, each by
//! priority. Workers on big cores take critical tasks and, if there are none, others; workers on little cores take no
//! critical ones.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use evenkeel_workload::graph::TaskGraph;

use super::ready::{Crew, Ready};

/// A task with fewer tasks below it begins no path (`maxBlev`).
const SHORTEST_PATH: u32 = 1;

#[derive(Debug)]
pub(super) struct Cats {
    levels: Vec<u32>,
    listed: Vec<Listed>,
    critical: Queue,
    others: Queue,
    /// The highest bottom level of a task that became ready.
    longest: u32,
    /// The last critical task, and its bottom level then.
    last: Option<(u32, u32)>,
    stack: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listed {
    Elsewhere,
    Critical,
    Others,
}

/// By bottom level, then by creation. A task whose level rises while it waits is in it once more; once it has been taken,
/// its place is elsewhere.
type Queue = BinaryHeap<(u32, Reverse<u32>)>;

impl Cats {
    pub fn new(tasks: usize) -> Self {
        Self {
            levels: vec![0; tasks],
            listed: vec![Listed::Elsewhere; tasks],
            critical: Queue::new(),
            others: Queue::new(),
            longest: SHORTEST_PATH,
            last: None,
            stack: Vec::new(),
        }
    }

    fn put(&mut self, task: u32, place: Listed) {
        let entry = (self.levels[task as usize], Reverse(task));
        self.listed[task as usize] = place;
        match place {
            Listed::Critical => self.critical.push(entry),
            Listed::Others => self.others.push(entry),
            Listed::Elsewhere => {}
        }
    }

    fn pop(&mut self, place: Listed) -> Option<u32> {
        let queue = if place == Listed::Critical { &mut self.critical } else { &mut self.others };
        while let Some((_, Reverse(task))) = queue.pop() {
            if std::mem::replace(&mut self.listed[task as usize], Listed::Elsewhere) == place {
                return Some(task);
            }
        }
        None
    }

    /// Whether a task that becomes ready lies on the longest path.
    fn is_critical(&mut self, graph: &TaskGraph, task: u32) -> bool {
        let level = self.levels[task as usize];
        let begins = level >= self.longest;
        // Levels rise while the graph grows, so that of a successor may be any that is not too low.
        let continues = self.last.is_some_and(|(last, its_level)| {
            graph.predecessors(task as usize).binary_search(&last).is_ok() && level + 1 >= its_level
        });
        self.longest = self.longest.max(level);
        if begins || continues {
            self.last = Some((task, level));
        }
        begins || continues
    }
}

impl Ready for Cats {
    /// The new task is at the bottom; the levels of those above it rise.
    fn created(&mut self, graph: &TaskGraph, task: usize, done: &[bool]) {
        self.stack.push(task as u32);
        while let Some(task) = self.stack.pop() {
            let level = self.levels[task as usize] + 1;
            for &above in graph.predecessors(task as usize) {
                if !done[above as usize] && self.levels[above as usize] < level {
                    self.levels[above as usize] = level;
                    self.put(above, self.listed[above as usize]);
                    self.stack.push(above);
                }
            }
        }
    }

    fn push(&mut self, graph: &TaskGraph, task: u32, _: usize, crew: &mut Crew) -> Option<usize> {
        if self.is_critical(graph, task) {
            self.put(task, Listed::Critical);
            let no_big = !crew.big_at_work(None);
            return crew.any_idle(|worker| worker.big).or_else(|| crew.any_idle(|_| no_big));
        }
        self.put(task, Listed::Others);
        crew.any_idle(|worker| !worker.big).or_else(|| crew.any_idle(|_| true))
    }

    fn take(&mut self, worker: usize, crew: &Crew) -> Option<u32> {
        if crew.workers[worker].big {
            return self.pop(Listed::Critical).or_else(|| self.pop(Listed::Others));
        }
        // Threads that no core is tied to may all be on little cores: then one of them must take critical tasks.
        let no_other_big = !crew.big_at_work(Some(worker));
        self.pop(Listed::Others).or_else(|| if no_other_big { self.pop(Listed::Critical) } else { None })
    }
}

#[cfg(test)]
mod tests {
    use super::super::ready::tests::{crew, graph};
    use super::*;

    /// A path 0 -> 1 -> 2 beside 3 -> 4 and a lone 5.
    fn two_paths() -> (TaskGraph, Cats) {
        let graph = graph(&[(&[], &[0]), (&[], &[0]), (&[], &[0]), (&[], &[1]), (&[], &[1]), (&[], &[2])]);
        let cats = Cats::new(graph.len());
        (graph, cats)
    }

    #[test]
    fn levels_rise_as_the_graph_grows() {
        let (graph, mut cats) = two_paths();
        for task in 0..3 {
            cats.created(&graph, task, &[false; 6]);
        }
        assert_eq!(cats.levels, [2, 1, 0, 0, 0, 0]);
        // A task that is done when a successor is created has none below it.
        cats.created(&graph, 4, &[false, false, false, true, false, false]);
        assert_eq!(cats.levels[3], 0);
    }

    #[test]
    fn the_longest_path_is_critical_to_its_end() {
        let (graph, mut cats) = two_paths();
        let (mut crew, done) = (crew(1, 1), [false; 6]);
        (0..6).for_each(|task| cats.created(&graph, task, &done));
        for ready in [5, 3, 0] {
            cats.push(&graph, ready, 0, &mut crew);
        }
        // Task 3 was the highest when it became ready, then task 0; the lone one never was.
        assert_eq!((cats.take(1, &crew), cats.take(1, &crew)), (Some(5), None), "little cores leave critical tasks");
        assert_eq!((cats.take(0, &crew), cats.take(0, &crew)), (Some(0), Some(3)));
        cats.push(&graph, 1, 0, &mut crew);
        cats.push(&graph, 4, 0, &mut crew);
        cats.push(&graph, 2, 0, &mut crew);
        assert_eq!(cats.listed[1], Listed::Critical, "it continues the path of task 0");
        assert_eq!(cats.listed[4], Listed::Others, "the path of task 3 is not the longest any more");
        assert_eq!(cats.listed[2], Listed::Critical);
    }

    #[test]
    fn a_waiting_task_moves_up_when_tasks_are_created_below_it() {
        let (graph, mut cats) = two_paths();
        let (mut crew, done) = (crew(1, 1), [false; 6]);
        cats.created(&graph, 5, &done);
        cats.push(&graph, 5, 0, &mut crew);
        cats.created(&graph, 3, &done);
        cats.push(&graph, 3, 0, &mut crew);
        cats.created(&graph, 4, &done);
        assert_eq!((cats.take(1, &crew), cats.take(1, &crew), cats.take(1, &crew)), (Some(3), Some(5), None));
    }

    #[test]
    fn little_cores_take_all_tasks_if_no_worker_is_on_a_big_one() {
        let (graph, mut cats) = two_paths();
        let mut crew = crew(0, 2);
        (0..6).for_each(|task| cats.created(&graph, task, &[false; 6]));
        crew.workers[1].idle = true;
        assert_eq!(cats.push(&graph, 0, 0, &mut crew), Some(1));
        assert_eq!(cats.take(1, &crew), Some(0));
    }
}
