//! Parallel loops over pieces of a range instead of single numbers: to keep a value from number to number, or for a vectorised loop.

use std::ops::Range;

use crate::par::Loop;
use crate::pool::Pool;

/// Calls `piece` for pieces of a range, in parallel, and reduces what they give to one value; `None` if the range is empty.
///
/// Neighbours are combined in their order. Pieces have at most `grain` numbers (zero counts as one), and then it depends on the range alone what
/// is combined with what; `None` cuts as suits, as in [`par_for`](crate::par_for).
///
/// # Panics
/// If a closure does, after all that was begun has ended.
///
/// ```
/// let data: Vec<u64> = (0..1000).collect();
/// let sum = evenkeel_runtime::par_pieces(0..data.len(), None, |piece| data[piece].iter().sum::<u64>(), |a, b| a + b);
/// assert_eq!(sum, Some(499_500));
/// ```
pub fn par_pieces<T, P, C>(range: Range<usize>, grain: Option<usize>, piece: P, combine: C) -> Option<T>
where
    T: Send,
    P: Fn(Range<usize>) -> T + Sync,
    C: Fn(T, T) -> T + Sync,
{
    (!range.is_empty()).then(|| Loop { piece: &piece, combine: &combine, grain }.run(range))
}

impl Pool {
    /// [`par_pieces`](crate::par_pieces) in this pool.
    ///
    /// # Panics
    /// If a closure does.
    pub fn par_pieces<T, P, C>(&self, range: Range<usize>, grain: Option<usize>, piece: P, combine: C) -> Option<T>
    where
        T: Send,
        P: Fn(Range<usize>) -> T + Sync,
        C: Fn(T, T) -> T + Sync,
    {
        self.install(|| par_pieces(range, grain, &piece, &combine))
    }
}
