//! Jobs that are more urgent than what lies in queues: workers that look for something to do look here first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

use crate::injected::Sent;
use crate::job::Job;
use crate::sync::{AtomicUsize, Mutex, lock};

/// The highest priority first; of equal ones the oldest.
#[derive(Default)]
pub(crate) struct Urgent {
    jobs: Mutex<Jobs>,
    /// So that looking costs no lock.
    len: AtomicUsize,
}

#[derive(Default)]
struct Jobs {
    heap: BinaryHeap<Entry>,
    pushed: u64,
}

struct Entry {
    order: (u32, Reverse<u64>),
    job: Sent,
}

impl Urgent {
    pub(crate) fn push(&self, priority: u32, job: NonNull<Job>) {
        let mut jobs = lock(&self.jobs);
        let order = (priority, Reverse(jobs.pushed));
        jobs.pushed += 1;
        jobs.heap.push(Entry { order, job: Sent(job) });
        self.len.store(jobs.heap.len(), Relaxed);
    }

    pub(crate) fn pop(&self) -> Option<NonNull<Job>> {
        if self.is_empty() {
            return None;
        }
        let mut jobs = lock(&self.jobs);
        let first = jobs.heap.pop();
        self.len.store(jobs.heap.len(), Relaxed);
        first.map(|entry| entry.job.0)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len.load(Relaxed) == 0
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> std::cmp::Ordering {
        self.order.cmp(&other.order)
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.order == other.order
    }
}

impl Eq for Entry {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn highest_first_then_oldest() {
        let mut places = [0_usize; 5];
        let jobs: Vec<NonNull<Job>> = places.iter_mut().map(|place| NonNull::from(place).cast()).collect();
        let urgent = Urgent::default();
        assert_eq!(urgent.pop(), None);
        for (&job, priority) in jobs.iter().zip([1, 7, 1, u32::MAX, 7]) {
            urgent.push(priority, job);
        }
        let order: Vec<_> = std::iter::from_fn(|| urgent.pop()).collect();
        assert_eq!(order, [3, 1, 4, 0, 2].map(|job| jobs[job]));
        assert!(urgent.is_empty());
    }
}
