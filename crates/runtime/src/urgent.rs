//! Jobs that are more urgent than those in queues: every search of a worker begins here.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

use crate::injected::Sent;
use crate::sync::{AtomicUsize, Mutex, lock};

/// The highest priority first; of equal ones the oldest.
pub(crate) struct Urgent<T> {
    jobs: Mutex<Jobs<T>>,
    /// So that a search costs no lock.
    len: AtomicUsize,
}

struct Jobs<T> {
    heap: BinaryHeap<UrgentJob<T>>,
    pushed: u64,
}

struct UrgentJob<T> {
    order: (u32, Reverse<u64>),
    job: Sent<T>,
}

impl<T> Default for Urgent<T> {
    fn default() -> Urgent<T> {
        Urgent { jobs: Mutex::new(Jobs { heap: BinaryHeap::new(), pushed: 0 }), len: AtomicUsize::new(0) }
    }
}

impl<T> Urgent<T> {
    pub(crate) fn push(&self, priority: u32, job: NonNull<T>) {
        let mut jobs = lock(&self.jobs);
        let order = (priority, Reverse(jobs.pushed));
        jobs.pushed += 1;
        jobs.heap.push(UrgentJob { order, job: Sent(job) });
        self.len.store(jobs.heap.len(), Relaxed);
    }

    pub(crate) fn pop(&self) -> Option<NonNull<T>> {
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

impl<T> Ord for UrgentJob<T> {
    fn cmp(&self, other: &UrgentJob<T>) -> std::cmp::Ordering {
        self.order.cmp(&other.order)
    }
}

impl<T> PartialOrd for UrgentJob<T> {
    fn partial_cmp(&self, other: &UrgentJob<T>) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for UrgentJob<T> {
    fn eq(&self, other: &UrgentJob<T>) -> bool {
        self.order == other.order
    }
}

impl<T> Eq for UrgentJob<T> {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn highest_first_then_oldest() {
        let mut places = [0_usize; 5];
        let jobs: Vec<NonNull<usize>> = places.iter_mut().map(NonNull::from).collect();
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
