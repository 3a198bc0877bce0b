//! Two things at once.

use std::marker::PhantomData;

use evenkeel_runtime::dedicated::here;

use crate::registry::global;

/// What a closure of [`join_context`] learns.
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
    /// Of this thread alone.
    _thread: PhantomData<*mut ()>,
}

impl FnContext {
    #[inline]
    fn new(migrated: bool) -> FnContext {
        FnContext { migrated, _thread: PhantomData }
    }

    /// Whether the closure was called by another thread than the one that has provided it.
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// Runs two closures, at the same time if another worker is free, and returns both results. The second one is run by this thread, after the first, unless it was stolen by
/// then.
///
/// # Panics
/// If a closure does, after both have ended; with the panic of the first if both do.
#[inline(always)]
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_migrating(|_| oper_a(), |_| oper_b())
}

/// As [`join`]. The closures learn whether another thread calls them.
///
/// # Panics
/// As [`join`].
#[inline(always)]
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_migrating(|migrated| oper_a(FnContext::new(migrated)), |migrated| oper_b(FnContext::new(migrated)))
}

/// On this worker, of whichever kind of pool: what lies in the queue of a worker is stolen there as anywhere.
#[inline(always)]
fn join_migrating<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    here(|worker| match worker {
        Some(worker) => worker.join(a, b),
        None => outside((a, b)),
    })
}

/// In the global pool: both have migrated. As one argument, since closures that are passed by themselves would be written to memory on the way that does not come here, too.
#[cold]
fn outside<A, B, RA, RB>((a, b): (A, B)) -> (RA, RB)
where
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    global().pool.install(|| {
        here(|worker| match worker {
            Some(worker) => worker.join(|_| a(true), |_| b(true)),
            None => unreachable!("a worker runs it"),
        })
    })
}
