//! The kernels on Evenkeel's own runtime.

use std::ops::Range;

use crate::Pool;

/// The pool that the calling thread works for (`evenkeel_runtime::Pool::install`), or the global one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evenkeel;

impl Pool for Evenkeel {
    #[inline]
    fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        evenkeel_runtime::join(a, b)
    }

    #[inline]
    fn par_for<F>(&self, range: Range<usize>, grain: usize, f: F)
    where
        F: Fn(usize) + Sync,
    {
        evenkeel_runtime::par_for_grain(range, grain, f);
    }
}
