//! Jobs that come from outside: for the next worker that is free, oldest first.

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

use crate::sync::{AtomicUsize, Mutex, lock};

/// A queue for any thread. Rarely used, so a lock will do.
pub(crate) struct Injected<T> {
    jobs: Mutex<VecDeque<Sent<T>>>,
    /// So that a search costs no lock.
    len: AtomicUsize,
}

/// A job on its way to another thread.
pub(crate) struct Sent<T>(pub(crate) NonNull<T>);

// SAFETY: jobs are made to be run by another thread: their closures are `Send`.
#[allow(unsafe_code)]
unsafe impl<T> Send for Sent<T> {}

impl<T> Default for Injected<T> {
    fn default() -> Injected<T> {
        Injected { jobs: Mutex::default(), len: AtomicUsize::new(0) }
    }
}

impl<T> Injected<T> {
    pub(crate) fn push(&self, job: NonNull<T>) {
        let mut jobs = lock(&self.jobs);
        jobs.push_back(Sent(job));
        self.len.store(jobs.len(), Relaxed);
    }

    pub(crate) fn pop(&self) -> Option<NonNull<T>> {
        if self.is_empty() {
            return None;
        }
        let mut jobs = lock(&self.jobs);
        let job = jobs.pop_front();
        self.len.store(jobs.len(), Relaxed);
        job.map(|Sent(job)| job)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len.load(Relaxed) == 0
    }
}
