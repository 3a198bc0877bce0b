//! What lies beside the queue of one worker.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use crate::injected::Injected;
use crate::job::Job;
use crate::state::WorkerSlot;

/// For what only this worker may take, and in its order.
#[derive(Default)]
pub(crate) struct OwnQueues {
    /// Jobs that this worker has to run itself.
    pub(crate) broadcasts: Injected<Job>,
    /// Jobs that are to begin in the order in which this worker spawned them.
    pub(crate) fifo: Fifo,
}

/// Jobs that begin in the order in which they were put here. For each of them the same entry is put into the queue of a worker, and runs the oldest.
#[repr(C)]
pub(crate) struct Fifo {
    entry: Job,
    jobs: Injected<Job>,
}

impl Default for Fifo {
    fn default() -> Fifo {
        Fifo { entry: Job::new(Self::run), jobs: Injected::default() }
    }
}

impl Fifo {
    /// Puts a job here, and returns the entry for it. This has to exist until that has been run.
    pub(crate) fn push(&self, job: NonNull<Job>) -> NonNull<Job> {
        self.jobs.push(job);
        NonNull::from(self).cast()
    }

    unsafe fn run(entry: NonNull<Job>, slot: &WorkerSlot) {
        // SAFETY: the address of a `Fifo`, by `push`. It exists until each of its jobs has ended, and the reference ends before this one begins.
        let job = unsafe { entry.cast::<Fifo>().as_ref() }.jobs.pop();
        // There is one for each entry.
        if let Some(job) = job {
            // SAFETY: it was in a queue, and the caller is the worker in this slot.
            unsafe { Job::run(job, slot) };
        }
    }
}
