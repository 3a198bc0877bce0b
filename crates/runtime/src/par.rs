//! Parallel loops.
//!
//! Without a grain loops use lazy binary splitting (A. Tzannes, G. C. Caragea, R. Barua and U. Vishkin, "Lazy Binary-Splitting: A
//! Run-Time Adaptive Work-Stealing Scheduler", PPoPP 2010): a worker runs through its part of the loop, checks now and then whether its queue is empty, which
//! means that everything it had on offer was stolen, and only then offers half of what is left. A few pieces for each worker are made at once, as in
//! oneTBB's `auto_partitioner`, because a loop of few long iterations has nothing left to offer when its worker checks for the first time.

use std::ops::Range;
use std::time::Duration;

use crate::clock::LapTimer;
use crate::join::join;
use crate::pool::Pool;
use crate::worker::Worker;

/// Pieces for each worker that are made at once. `assumed`: a few.
const PIECES: usize = 4;
/// A worker checks its queue about this often. `assumed`: a few times what a steal takes.
const CHECK: Duration = Duration::from_micros(10);

/// How a loop over a range becomes a value: of pieces, and of two neighbours.
pub(crate) struct Loop<'a, P, C> {
    pub(crate) piece: &'a P,
    pub(crate) combine: &'a C,
    /// Pieces are not longer than this; as suits if `None`.
    pub(crate) grain: Option<usize>,
}

impl<P, C, T> Loop<'_, P, C>
where
    P: Fn(Range<usize>) -> T + Sync,
    C: Fn(T, T) -> T + Sync,
    T: Send,
{
    pub(crate) fn run(&self, range: Range<usize>) -> T {
        match (self.grain, Worker::current()) {
            (Some(_), Some(_)) => self.halve(range),
            (None, Some(worker)) => self.spread(range, PIECES * worker.shared().slots.len(), worker.index()),
            (_, None) => Pool::global().install(|| self.run(range)),
        }
    }

    /// Recursive decomposition down to the grain.
    fn halve(&self, range: Range<usize>) -> T {
        if range.len() <= self.grain.unwrap_or(1).max(1) {
            return (self.piece)(range);
        }
        let (left, right) = halves(range);
        let (left, right) = join(|| self.halve(left), || self.halve(right));
        (self.combine)(left, right)
    }

    /// Offers `pieces` pieces at once.
    fn spread(&self, range: Range<usize>, pieces: usize, home: usize) -> T {
        let Some(worker) = Worker::current() else { return (self.piece)(range) };
        // Stolen: other workers need tasks, perhaps more than one.
        let pieces = if worker.index() == home { pieces } else { PIECES * worker.shared().slots.len() };
        if pieces <= 1 || range.len() <= 1 {
            return self.lazily(range, worker);
        }
        let home = worker.index();
        let (left, right) = halves(range);
        let (left, right) = join(|| self.spread(left, pieces / 2, home), || self.spread(right, pieces / 2, home));
        (self.combine)(left, right)
    }

    /// Runs through the range, and offers half of the rest whenever the queue is empty.
    fn lazily(&self, mut range: Range<usize>, worker: Worker<'_>) -> T {
        let mut step = 1;
        let mut timer = LapTimer::start();
        let mut done = None;
        loop {
            let next = range.start + step.min(range.len());
            let value = (self.piece)(range.start..next);
            let value = match done.take() {
                Some(done) => (self.combine)(done, value),
                None => value,
            };
            range.start = next;
            if range.is_empty() {
                return value;
            }
            if range.len() > 1 && worker.is_empty() {
                let (left, right) = halves(range);
                let home = worker.index();
                let (left, right) = join(|| self.spread(left, 1, home), || self.spread(right, 1, home));
                return (self.combine)(value, (self.combine)(left, right));
            }
            done = Some(value);
            worker.serve_thief();
            step = match timer.lap() {
                short if short < CHECK / 4 => step * 4,
                long if long > CHECK => (step / 2).max(1),
                _ => step,
            };
        }
    }
}

fn halves(range: Range<usize>) -> (Range<usize>, Range<usize>) {
    let middle = range.start + range.len() / 2;
    (range.start..middle, middle..range.end)
}

/// Calls `f` for each number of a range, in parallel, in no particular order.
///
/// Outside of [`Pool::install`] the [global pool](Pool::global) is used. How much of the range a worker takes at a time follows from how long `f`
/// takes and how often others steal.
///
/// # Panics
/// If `f` does, after all that was begun has ended.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let sum = AtomicUsize::new(0);
/// evenkeel_runtime::par_for(0..100, |i| {
///     sum.fetch_add(i, Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 4950);
/// ```
pub fn par_for<F>(range: Range<usize>, f: F)
where
    F: Fn(usize) + Sync,
{
    each(range, None, &f);
}

/// As [`par_for`], in tasks of at most `grain` numbers each (zero counts as one): the range is halved until they are small enough.
///
/// # Panics
/// If `f` does.
pub fn par_for_grain<F>(range: Range<usize>, grain: usize, f: F)
where
    F: Fn(usize) + Sync,
{
    each(range, Some(grain), &f);
}

fn each<F>(range: Range<usize>, grain: Option<usize>, f: &F)
where
    F: Fn(usize) + Sync,
{
    if !range.is_empty() {
        Loop { piece: &|piece: Range<usize>| piece.for_each(f), combine: &|(), ()| (), grain }.run(range);
    }
}

/// Maps each number of a range to a value and reduces all of them to one, in parallel.
///
/// `reduce` has to be associative, and `identity` neutral to it; neighbours are reduced in their order, so `reduce` need not be commutative. How often
/// `identity` is used is not determined, so sums of floating-point numbers may differ in their last bits from run to run; not so with
/// [`par_map_reduce_grain`].
///
/// # Panics
/// If a closure does, after all that was begun has ended.
///
/// ```
/// let squares = evenkeel_runtime::par_map_reduce(1..11, || 0, |i| i * i, |a, b| a + b);
/// assert_eq!(squares, 385);
/// ```
pub fn par_map_reduce<T, I, M, R>(range: Range<usize>, identity: I, map: M, reduce: R) -> T
where
    T: Send,
    I: Fn() -> T + Sync,
    M: Fn(usize) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    map_reduce(range, None, &identity, &map, &reduce)
}

/// As [`par_map_reduce`], in tasks of at most `grain` numbers each (zero counts as one). Which values are reduced with which depends on range and grain only.
///
/// # Panics
/// If a closure does.
pub fn par_map_reduce_grain<T, I, M, R>(range: Range<usize>, grain: usize, identity: I, map: M, reduce: R) -> T
where
    T: Send,
    I: Fn() -> T + Sync,
    M: Fn(usize) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    map_reduce(range, Some(grain), &identity, &map, &reduce)
}

fn map_reduce<T, I, M, R>(range: Range<usize>, grain: Option<usize>, identity: &I, map: &M, reduce: &R) -> T
where
    T: Send,
    I: Fn() -> T + Sync,
    M: Fn(usize) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    if range.is_empty() {
        return identity();
    }
    Loop { piece: &|piece: Range<usize>| piece.map(map).fold(identity(), reduce), combine: reduce, grain }.run(range)
}

impl Pool {
    /// [`par_for`](crate::par_for) in this pool.
    ///
    /// # Panics
    /// If `f` does.
    pub fn par_for<F>(&self, range: Range<usize>, f: F)
    where
        F: Fn(usize) + Sync,
    {
        self.install(|| par_for(range, &f));
    }

    /// [`par_map_reduce`](crate::par_map_reduce) in this pool.
    ///
    /// # Panics
    /// If a closure does.
    pub fn par_map_reduce<T, I, M, R>(&self, range: Range<usize>, identity: I, map: M, reduce: R) -> T
    where
        T: Send,
        I: Fn() -> T + Sync,
        M: Fn(usize) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        self.install(|| par_map_reduce(range, &identity, &map, &reduce))
    }
}
