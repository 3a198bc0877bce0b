//! Jobs that come from outside: for whoever is free, oldest first.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

use crate::job::Job;
use crate::sync::{AtomicUsize, Mutex, lock};

/// A queue for any thread. Rarely used, so a lock will do.
#[derive(Default)]
pub(crate) struct Injected {
    jobs: Mutex<VecDeque<Sent>>,
    /// So that looking costs no lock.
    len: AtomicUsize,
}

pub(crate) struct Sent(pub(crate) NonNull<Job>);

// SAFETY: jobs are made to be run by another thread: their closures are `Send`.
unsafe impl Send for Sent {}

impl Injected {
    pub(crate) fn push(&self, job: NonNull<Job>) {
        let mut jobs = lock(&self.jobs);
        jobs.push_back(Sent(job));
        self.len.store(jobs.len(), Relaxed);
    }

    pub(crate) fn pop(&self) -> Option<NonNull<Job>> {
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
