//! `steal`: a queue for each worker. It puts the tasks that it makes ready at the end of its own and takes the newest from
//! there; with none left it takes the oldest of another worker. Its search begins at a random one (Blumofe and Leiserson,
//! JACM 1999).

use std::collections::VecDeque;

use evenkeel_workload::graph::TaskGraph;

use super::ready::{Crew, Ready};

#[derive(Debug)]
pub(super) struct Steal {
    queues: Vec<VecDeque<u32>>,
    victims: fastrand::Rng,
}

impl Steal {
    pub fn new(workers: usize, seed: u64) -> Self {
        Self { queues: vec![VecDeque::new(); workers], victims: fastrand::Rng::with_seed(seed ^ 0x7374_6561_6c21) }
    }
}

impl Ready for Steal {
    fn push(&mut self, _: &TaskGraph, task: u32, by: usize, crew: &mut Crew) -> Option<usize> {
        self.queues[by].push_back(task);
        crew.any_idle(|_| true)
    }

    fn take(&mut self, worker: usize, _: &Crew) -> Option<u32> {
        if let Some(task) = self.queues[worker].pop_back() {
            return Some(task);
        }
        let workers = self.queues.len();
        let first = self.victims.usize(..workers);
        (first..first + workers).find_map(|victim| self.queues[victim % workers].pop_front())
    }
}

#[cfg(test)]
mod tests {
    use super::super::ready::tests::crew;
    use super::*;

    #[test]
    fn the_owner_takes_the_newest_and_a_thief_the_oldest() {
        let (graph, mut crew) = (TaskGraph::default(), crew(1, 1));
        let mut steal = Steal::new(2, 1);
        for task in 0..4 {
            steal.push(&graph, task, 0, &mut crew);
        }
        assert_eq!(steal.take(0, &crew), Some(3));
        assert_eq!(steal.take(1, &crew), Some(0));
        assert_eq!(steal.take(1, &crew), Some(1));
        assert_eq!(steal.take(0, &crew), Some(2));
        assert_eq!(steal.take(0, &crew), None);
    }
}
