//! Parallel loops over the pieces of a slice.
#![allow(unsafe_code)]

use crate::par::par_for;
use crate::pool::Pool;

/// Calls `f` for each piece of `size` elements of a slice (zero counts as one), in parallel. The last piece may be shorter.
///
/// # Panics
/// If `f` does.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let longest = AtomicUsize::new(0);
/// evenkeel_runtime::par_chunks(&[1, 2, 3, 4, 5], 2, |chunk| {
///     longest.fetch_max(chunk.len(), Ordering::Relaxed);
/// });
/// assert_eq!(longest.into_inner(), 2);
/// ```
pub fn par_chunks<T, F>(slice: &[T], size: usize, f: F)
where
    T: Sync,
    F: Fn(&[T]) + Sync,
{
    let size = size.max(1);
    par_for(0..slice.len().div_ceil(size), |chunk| {
        let start = chunk * size;
        f(&slice[start..start + size.min(slice.len() - start)]);
    });
}

/// As [`par_chunks`](crate::par_chunks), and `f` may change its piece.
///
/// # Panics
/// If `f` does.
///
/// ```
/// let mut numbers = [1, 2, 3, 4, 5];
/// evenkeel_runtime::par_chunks_mut(&mut numbers, 2, |chunk| chunk.reverse());
/// assert_eq!(numbers, [2, 1, 4, 3, 5]);
/// ```
pub fn par_chunks_mut<T, F>(slice: &mut [T], size: usize, f: F)
where
    T: Send,
    F: Fn(&mut [T]) + Sync,
{
    struct Base<T>(*mut T);
    // SAFETY: each element is used by one thread only, which may be another one: `T` is `Send`.
    unsafe impl<T: Send> Sync for Base<T> {}
    impl<T> Base<T> {
        /// # Safety
        /// Inside of the slice, and there is no other reference to any of it.
        unsafe fn piece<'a>(&self, start: usize, len: usize) -> &'a mut [T] {
            // SAFETY: the caller's promise.
            unsafe { std::slice::from_raw_parts_mut(self.0.add(start), len) }
        }
    }

    let (base, len) = (Base(slice.as_mut_ptr()), slice.len());
    let size = size.max(1);
    par_for(0..len.div_ceil(size), |chunk| {
        let start = chunk * size;
        // SAFETY: a loop calls each number once, so pieces do not overlap; the slice is borrowed until the loop has ended.
        f(unsafe { base.piece(start, size.min(len - start)) });
    });
}

impl Pool {
    /// [`par_chunks`](crate::par_chunks) in this pool.
    ///
    /// # Panics
    /// If `f` does.
    pub fn par_chunks<T, F>(&self, slice: &[T], size: usize, f: F)
    where
        T: Sync,
        F: Fn(&[T]) + Sync,
    {
        self.install(|| par_chunks(slice, size, &f));
    }

    /// [`par_chunks_mut`](crate::par_chunks_mut) in this pool.
    ///
    /// # Panics
    /// If `f` does.
    pub fn par_chunks_mut<T, F>(&self, slice: &mut [T], size: usize, f: F)
    where
        T: Send,
        F: Fn(&mut [T]) + Sync,
    {
        self.install(|| par_chunks_mut(slice, size, &f));
    }
}
