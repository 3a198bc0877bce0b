//! What a kernel needs of a pool, and the pool that is none.

use std::ops::Range;

/// Something that may run two closures, or the rounds of a loop, at the same time.
pub trait Pool: Sync {
    /// Runs both closures and returns when both are done. A pool may run them at the same time.
    fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send;

    /// How many rounds of a loop, or elements of a sequence, are one task where a kernel suggests so many.
    ///
    /// A pool without workers takes all of them; one that is a test takes very few, so that small inputs split too.
    fn grain(&self, suggested: usize) -> usize {
        suggested.max(1)
    }

    /// Calls `f` with every index of `range`, in tasks of at most `grain` indices.
    fn par_for<F>(&self, range: Range<usize>, grain: usize, f: F)
    where
        F: Fn(usize) + Sync,
    {
        halve(self, range, self.grain(grain), &f);
    }

    /// Cuts `data` into chunks of `size` elements, the last one shorter, and calls `f` with the number of each and the
    /// chunk. Each chunk is one task.
    fn par_chunks<T, F>(&self, data: &mut [T], size: usize, f: F)
    where
        T: Send,
        F: Fn(usize, &mut [T]) + Sync,
    {
        chunks(self, data, size.max(1), 0, &f);
    }
}

fn halve<P, F>(pool: &P, range: Range<usize>, grain: usize, f: &F)
where
    P: Pool + ?Sized,
    F: Fn(usize) + Sync,
{
    if range.len() <= grain {
        range.for_each(f);
        return;
    }
    let middle = range.start + range.len() / 2;
    pool.join(|| halve(pool, range.start..middle, grain, f), || halve(pool, middle..range.end, grain, f));
}

fn chunks<P, T, F>(pool: &P, data: &mut [T], size: usize, first: usize, f: &F)
where
    P: Pool + ?Sized,
    T: Send,
    F: Fn(usize, &mut [T]) + Sync,
{
    if data.is_empty() {
        return;
    }
    let count = data.len().div_ceil(size);
    if count == 1 {
        f(first, data);
        return;
    }
    let (low, high) = data.split_at_mut(count / 2 * size);
    pool.join(|| chunks(pool, low, size, first, f), || chunks(pool, high, size, first + count / 2, f));
}

/// No pool at all: plain calls and plain loops, in order, on the caller. What every speedup is relative to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Serial;

impl Pool for Serial {
    #[inline]
    fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        let first = a();
        (first, b())
    }

    #[inline]
    fn grain(&self, _: usize) -> usize {
        usize::MAX
    }

    #[inline]
    fn par_chunks<T, F>(&self, data: &mut [T], size: usize, f: F)
    where
        T: Send,
        F: Fn(usize, &mut [T]) + Sync,
    {
        data.chunks_mut(size).enumerate().for_each(|(index, chunk)| f(index, chunk));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;
    use crate::Evenkeel;
    use crate::testing::Tiny;

    fn every_index_once(pool: &impl Pool) {
        for (from, to) in [(0, 0), (0, 1), (3, 4), (5, 100)] {
            let calls: Vec<AtomicU32> = (0..100).map(|_| AtomicU32::new(0)).collect();
            pool.par_for(from..to, 7, |index| {
                calls[index].fetch_add(1, Relaxed);
            });
            for (index, calls) in calls.iter().enumerate() {
                assert_eq!(calls.load(Relaxed), u32::from((from..to).contains(&index)), "index {index}");
            }
        }
    }

    fn every_chunk_once(pool: &impl Pool) {
        for (len, size) in [(0, 3), (1, 3), (3, 3), (100, 7), (5, usize::MAX)] {
            let mut data = vec![0; len];
            pool.par_chunks(&mut data, size, |index, chunk| {
                assert!(chunk.len() == size.min(len) || index == len / size);
                chunk.iter_mut().enumerate().for_each(|(k, slot)| *slot += index * size + k + 1);
            });
            assert_eq!(data, (1..=len).collect::<Vec<_>>());
        }
    }

    #[test]
    fn loops_reach_every_index_once() {
        every_index_once(&Serial);
        every_chunk_once(&Serial);
        Tiny::install(|| {
            every_index_once(&Tiny);
            every_index_once(&Evenkeel);
            every_chunk_once(&Tiny);
            every_chunk_once(&Evenkeel);
        });
    }
}
