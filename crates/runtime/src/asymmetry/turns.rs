//! Tasks that cannot be split take turns on the bigger cores.
//!
//! Mugging comes too late for two equal tasks on a big core and one at a third of its speed: when the big one has ended, a third of the other is done, and the
//! rest takes 5/3 of a task in all, where 3/2 would do (Equation 3 of Torng et al., ISCA 2016). How long a task will be is not known. But if the task of
//! which less is done is always on the bigger core, then equal tasks end together, and the time is the least possible. That is least attained service first, which comes to
//! processor sharing. The paper leaves such tasks where they are.
//!
//! It takes a thread, since all workers are busy. The thread samples them once a quantum, only while one is active, and moves none as long as there are tasks to
//! steal or tasks that end.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use evenkeel_model::{CoreTypeId, Ns};

use crate::sync::lock_std as lock;

/// How often it samples. `assumed`: a few hundred times what an exchange costs, so that turns cost less than a percent.
const QUANTUM: Duration = Duration::from_millis(5);

/// Where the sampling thread rests and is woken.
#[derive(Default)]
pub(crate) struct Turns {
    resting: AtomicBool,
    state: Mutex<TurnsState>,
    wake: Condvar,
}

#[derive(Default)]
struct TurnsState {
    woken: bool,
    over: bool,
}

/// What the thread samples of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaskSample {
    /// Whether it has a task.
    pub active: bool,
    /// The type of its core.
    pub kind: CoreTypeId,
    /// Where its queue begins and ends, and how many jobs it has found. As long as all are the same it is taken to run the same task.
    pub marks: (isize, isize, u64),
}

/// How far each task is, by the samples.
pub(crate) struct Progress {
    /// The speed of each core type, 1 for the biggest.
    speeds: Vec<f64>,
    last: Vec<TaskSample>,
    /// Of each worker's task, in nanoseconds of a big core.
    done: Vec<f64>,
}

impl Turns {
    /// A worker has become active.
    pub fn begin(&self) {
        if self.resting.load(SeqCst) {
            lock(&self.state).woken = true;
            self.wake.notify_one();
        }
    }

    /// Ends the thread.
    pub fn end(&self) {
        lock(&self.state).over = true;
        self.wake.notify_one();
    }

    /// Sleeps for a quantum, and before that as long as no worker is active. Returns whether to sample; if not, it is over.
    pub fn wait(&self, active: impl Fn() -> bool) -> bool {
        self.resting.store(true, SeqCst);
        // A worker that becomes active after this sees `resting`.
        let idle = !active();
        let mut state = lock(&self.state);
        while idle && !state.woken && !state.over {
            state = self.wake.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        state.woken = false;
        self.resting.store(false, SeqCst);
        let (state, _) = self
            .wake
            .wait_timeout_while(state, QUANTUM, |state| !state.over)
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        !state.over
    }
}

impl Progress {
    /// Without a sample.
    pub fn new(speeds: Vec<f64>) -> Self {
        Self { speeds, last: Vec::new(), done: Vec::new() }
    }

    /// `passed` is the time since the last sample. Returns the worker to go to a bigger core, and the one that leaves it for that.
    pub fn sample(&mut self, now: Vec<TaskSample>, passed: Ns) -> Option<(usize, usize)> {
        let speed = |kind: CoreTypeId| self.speeds.get(kind.index()).copied().unwrap_or(1.0);
        let task = |worker: usize, sample: &TaskSample| {
            let before =
                self.last.get(worker).filter(|before| before.active && sample.active && before.marks == sample.marks);
            before.map_or(0.0, |before| self.done[worker] + passed.0 as f64 * speed(before.kind))
        };
        let done: Vec<f64> = now.iter().enumerate().map(|(worker, sample)| task(worker, sample)).collect();
        let active = || (0..now.len()).filter(|worker| now[*worker].active);
        let pairs = active().flat_map(|ahead| active().map(move |behind| (behind, ahead)));
        // Less than half of what the bigger core is ahead after another quantum is no reason to move.
        let worth = |(behind, ahead): &(usize, usize)| {
            let (small, big) = (now[*behind].kind, now[*ahead].kind);
            small > big && done[*ahead] - done[*behind] > passed.0 as f64 * (speed(big) - speed(small)) / 2.0
        };
        let gap = |(behind, ahead): &(usize, usize)| done[*ahead] - done[*behind];
        let turn = pairs.filter(worth).max_by(|one, other| gap(one).total_cmp(&gap(other)));
        (self.last, self.done) = (now, done);
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUANTUM: Ns = Ns::from_ms(5);

    /// When the last of equal tasks of so many quanta ends, on a big core and one at a third of its speed. A worker that has ended a task takes the
    /// next; a big one without a task takes over the little one's.
    fn makespan(tasks: usize, quanta: f64, turns: bool) -> f64 {
        let mut progress = Progress::new(vec![1.0, 1.0 / 3.0]);
        let mut left = tasks;
        let mut kinds = [0_u8, 1];
        // What is left of each worker's task, and how many it has had.
        let mut rest = [0.0_f64; 2];
        let mut had = [0_u64; 2];
        for quantum in 0.. {
            for worker in 0..2 {
                if rest[worker] <= 0.0 && left > 0 {
                    (rest[worker], left) = (quanta, left - 1);
                    had[worker] += 1;
                }
            }
            if rest.iter().all(|rest| *rest <= 0.0) {
                return f64::from(quantum);
            }
            let sample = |worker: usize| TaskSample {
                active: rest[worker] > 0.0,
                kind: CoreTypeId(kinds[worker]),
                marks: (0, 0, had[worker]),
            };
            let turn = progress.sample(vec![sample(0), sample(1)], QUANTUM);
            let idle = (0..2).find(|worker| rest[*worker] <= 0.0 && kinds[*worker] == 0);
            if idle.is_some() || (turns && left == 0 && turn.is_some()) {
                kinds.swap(0, 1);
            }
            for worker in 0..2 {
                rest[worker] -= if kinds[worker] == 0 { 1.0 } else { 1.0 / 3.0 };
            }
        }
        unreachable!("tasks end")
    }

    #[test]
    fn equal_tasks_end_together_and_reach_the_sum_of_the_speeds() {
        for tasks in 2..5 {
            let ideal = tasks as f64 * 60.0 / (4.0 / 3.0);
            let took = makespan(tasks, 60.0, true);
            assert!(took <= ideal + 2.0, "{tasks} tasks: {took} quanta, ideal {ideal}");
        }
        // What mugging alone makes of two: 5/3 of a task.
        assert!((makespan(2, 60.0, false) - 100.0).abs() < 2.0);
    }

    #[test]
    fn a_worker_that_changes_tasks_or_waits_is_left_alone() {
        let mut progress = Progress::new(vec![1.0, 0.5]);
        let sample = |kind, active, steals| TaskSample { active, kind: CoreTypeId(kind), marks: (0, 0, steals) };
        for round in 0..9 {
            assert_eq!(progress.sample(vec![sample(0, true, round), sample(1, true, round)], QUANTUM), None);
        }
        for _ in 0..9 {
            assert_eq!(progress.sample(vec![sample(0, true, 9), sample(1, false, 9)], QUANTUM), None);
        }
        assert_eq!(progress.sample(vec![sample(0, true, 9), sample(1, true, 9)], QUANTUM), Some((1, 0)));
    }

    #[test]
    fn cores_of_one_type_have_nothing_to_exchange() {
        let mut progress = Progress::new(vec![1.0]);
        let sample = |steals| TaskSample { active: true, kind: CoreTypeId(0), marks: (0, 0, steals) };
        for round in 0..9 {
            assert_eq!(progress.sample(vec![sample(0), sample(round)], QUANTUM), None);
        }
    }
}
