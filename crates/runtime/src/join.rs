//! Two things at once.
#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::job::{Job, Panic, StackJob, discard};
use crate::pool::Pool;
use crate::worker::{Ticket, Worker};

/// Runs two closures, at the same time if another core is free, and returns both results.
///
/// `b` waits in this worker's queue while `a` runs. If no worker has stolen it by then it is called here like any other function. Outside of
/// [`Pool::install`] the [global pool](Pool::global) is used.
///
/// # Panics
/// If a closure panics, after both have ended; with the panic of `a` if both do.
///
/// ```
/// fn sum(numbers: &[u64]) -> u64 {
///     if numbers.len() < 1000 {
///         return numbers.iter().sum();
///     }
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let (left, right) = evenkeel_runtime::join(|| sum(left), || sum(right));
///     left + right
/// }
/// assert_eq!(sum(&(0..10_000).collect::<Vec<_>>()), 49_995_000);
/// ```
// Always, or larger closures go through memory twice: written word by word, read back two words at once, which waits for the store buffer.
#[inline(always)]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    match Worker::current() {
        Some(worker) => join_in(worker, a, |_| b()),
        None => outside((a, b)),
    }
}

/// Takes both closures as one, made for this call: passed by themselves they would have to have an address, and so be written to memory, on the way
/// that does not come here as well.
#[cold]
fn outside<A, B, RA, RB>((a, b): (A, B)) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    Pool::global().install(|| join(a, b))
}

impl Pool {
    /// [`join`](crate::join) in this pool.
    ///
    /// # Panics
    /// If a closure does.
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| join(a, b))
    }
}

/// [`join`] in this worker. `b` gets whether it was migrated.
#[inline(always)]
pub(crate) fn join_in<A, B, RA, RB>(worker: Worker<'_>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce(bool) -> RB + Send,
    RB: Send,
{
    let job = StackJob::new(b);
    let ticket = worker.push(job.as_job());
    // From here on another thread may know the job: this frame is not left before it is back or done.
    match catch_unwind(AssertUnwindSafe(a)) {
        Ok(left) => {
            if worker.pop_at(ticket) {
                // SAFETY: it has come out of the queue.
                (left, unsafe { job.call() })
            } else {
                (left, search(worker, &job))
            }
        }
        Err(panic) => give_up(worker, &job, ticket, panic),
    }
}

/// The job is not on top of the queue: it was stolen, or lies below tasks of a scope.
#[cold]
fn search<B, RB>(worker: Worker<'_>, job: &StackJob<B, RB>) -> RB
where
    B: FnOnce(bool) -> RB + Send,
    RB: Send,
{
    let mine = job.as_job();
    // If it was stolen, all that is older was, too, and above where it was are tasks of scopes only: once it is done, they can wait for others.
    while !job.latch().is_open()
        && let Some(found) = worker.pop_any()
    {
        if found == mine {
            // SAFETY: it has come out of the queue.
            return unsafe { job.call() };
        }
        // SAFETY: it was in the queue.
        unsafe { Job::run(found, worker.slot()) };
    }
    worker.wait_until(job.latch(), worker.floor());
    // SAFETY: the latch is open.
    unsafe { job.outcome() }.unwrap_or_else(|panic| resume_unwind(panic))
}

/// `a` has panicked: `b` comes to its end, too, and its result is dropped.
#[cold]
fn give_up<B, RB>(worker: Worker<'_>, job: &StackJob<B, RB>, ticket: Ticket, panic: Panic) -> !
where
    B: FnOnce(bool) -> RB + Send,
    RB: Send,
{
    let other = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: it has come out of the queue.
        drop(if worker.pop_at(ticket) { unsafe { job.call() } } else { search(worker, job) });
    }));
    if let Err(second) = other {
        discard(second);
    }
    resume_unwind(panic)
}
