//! What lies in a queue: a pointer to a task with the function that runs it in front.
//!
//! Running a job never unwinds: each kind catches the panic of its closure and hands it to the thread that waits.
#![allow(unsafe_code)]

use std::any::Any;
use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::thread;

use crate::latch::Latch;
use crate::state::WorkerSlot;

/// The first field of every job.
#[repr(C)]
pub(crate) struct Job {
    run: unsafe fn(NonNull<Job>, &WorkerSlot),
}

impl Job {
    /// The head of a job that is run by this function, which does not unwind.
    pub(crate) fn new(run: unsafe fn(NonNull<Job>, &WorkerSlot)) -> Job {
        Job { run }
    }

    /// Runs it, as the worker in this slot.
    ///
    /// # Safety
    /// `job` came out of a queue, each job is run once, and the calling thread is the worker in `slot`.
    pub(crate) unsafe fn run(job: NonNull<Job>, slot: &WorkerSlot) {
        // SAFETY: jobs in queues exist; `run` is the function of this kind of job.
        unsafe { (job.as_ref().run)(job, slot) }
    }
}

/// What a closure that another thread has called left: its value or its panic.
type Outcome<R> = thread::Result<R>;

/// The payload of a panic.
pub(crate) type Panic = Box<dyn Any + Send>;

/// Drops a panic that is not propagated. That runs code of the program, which can panic: what this leaves is dropped in the same way,
/// and what that leaves is leaked.
pub(crate) fn discard(panic: Panic) {
    let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(panic))) else { return };
    std::mem::forget(catch_unwind(AssertUnwindSafe(|| drop(second))));
}

/// The second half of a [`join`](crate::join), in the frame of the caller. The closure gets whether it was migrated: taken out of the queue by another frame than the
/// caller's, nearly always that of another thread.
#[repr(C)]
pub(crate) struct StackJob<F, R> {
    job: Job,
    latch: Latch,
    f: UnsafeCell<ManuallyDrop<F>>,
    outcome: UnsafeCell<MaybeUninit<Outcome<R>>>,
}

impl<F: FnOnce(bool) -> R + Send, R: Send> StackJob<F, R> {
    #[inline(always)]
    pub(crate) fn new(f: F) -> StackJob<F, R> {
        StackJob {
            job: Job { run: Self::run },
            latch: Latch::new(),
            f: UnsafeCell::new(ManuallyDrop::new(f)),
            outcome: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// For the queue.
    #[inline(always)]
    pub(crate) fn as_job(&self) -> NonNull<Job> {
        NonNull::from(self).cast()
    }

    /// Opened when another worker has run it.
    pub(crate) fn latch(&self) -> &Latch {
        &self.latch
    }

    /// Runs it here, in the frame that has it.
    ///
    /// # Safety
    /// It has come out of the queue and is not run otherwise.
    #[inline(always)]
    pub(crate) unsafe fn call(&self) -> R {
        // SAFETY: the caller's promise.
        let f = unsafe { self.take() };
        f(false)
    }

    /// The closure.
    ///
    /// # Safety
    /// As for [`call`](Self::call).
    #[inline(always)]
    unsafe fn take(&self) -> F {
        // SAFETY: no other thread has it, and it is taken once.
        unsafe { ManuallyDrop::take(&mut *self.f.get()) }
    }

    /// What it left.
    ///
    /// # Safety
    /// The latch is open, and the outcome is taken once.
    pub(crate) unsafe fn outcome(&self) -> Outcome<R> {
        // SAFETY: written before the latch was opened.
        unsafe { (*self.outcome.get()).assume_init_read() }
    }

    unsafe fn run(job: NonNull<Job>, slot: &WorkerSlot) {
        // SAFETY: it has come out of the queue.
        if let Some(sleeper) = unsafe { Self::finish(job.cast()) } {
            slot.pool().wake(sleeper);
        }
    }

    /// Runs it for the thread that waits, and returns the worker that has to be woken for that. The job may be gone afterwards.
    ///
    /// # Safety
    /// As for [`call`](Self::call). The frame that has the job waits for its latch.
    pub(crate) unsafe fn finish(this: NonNull<Self>) -> Option<usize> {
        {
            // SAFETY: the frame with the job is left after the latch has opened only.
            let this = unsafe { this.as_ref() };
            // SAFETY: the caller's promise.
            let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { this.take() }(true)));
            // SAFETY: it is not read before the latch is open.
            unsafe { (*this.outcome.get()).write(outcome) };
        }
        // SAFETY: the address of a field; the latch is not yet open.
        unsafe { Latch::open(&raw const (*this.as_ptr()).latch) }
    }
}

/// A closure on the heap that catches its panic itself.
#[repr(C)]
pub(crate) struct HeapJob<F> {
    job: Job,
    f: F,
}

impl<F: FnOnce(&WorkerSlot) + Send> HeapJob<F> {
    /// For a queue, which has to run it: else it leaks.
    ///
    /// # Safety
    /// What `f` borrows lives until it has run, and `f` does not unwind.
    pub(crate) unsafe fn leak(f: F) -> NonNull<Job> {
        NonNull::from(Box::leak(Box::new(HeapJob { job: Job { run: Self::run }, f }))).cast()
    }

    unsafe fn run(job: NonNull<Job>, slot: &WorkerSlot) {
        // SAFETY: made by `leak`, and run once.
        let this = unsafe { Box::from_raw(job.cast::<Self>().as_ptr()) };
        (this.f)(slot);
    }
}
