//! Building blocks that several kernels share: reduce, tabulate, gather, distribute.
//!
//! None needs `unsafe`: a parallel loop that writes gets a part of the output of its own, cut off by `split_at_mut`.

use std::mem;
use std::ops::Range;
use std::slice::IterMut;

use bytemuck::{Zeroable, zeroed_vec};

use crate::Pool;

/// How many elements a task copies at least.
const COPY: usize = 8192;

/// `leaf` of every part of `range`, combined pairwise in order.
pub fn reduce<P, T, L, C>(pool: &P, range: Range<usize>, grain: usize, leaf: &L, combine: &C) -> T
where
    P: Pool,
    T: Send,
    L: Fn(Range<usize>) -> T + Sync,
    C: Fn(T, T) -> T + Sync,
{
    if range.len() <= pool.grain(grain) {
        return leaf(range);
    }
    let middle = range.start + range.len() / 2;
    let (low, high) = pool.join(
        || reduce(pool, range.start..middle, grain, leaf, combine),
        || reduce(pool, middle..range.end, grain, leaf, combine),
    );
    combine(low, high)
}

/// `f(0), f(1), ..., f(len - 1)`, in tasks of `grain`.
pub fn tabulate<P, T, F>(pool: &P, len: usize, grain: usize, f: F) -> Vec<T>
where
    P: Pool,
    T: Zeroable + Send,
    F: Fn(usize) -> T + Sync,
{
    let mut all = zeroed_vec(len);
    fill(pool, &mut all, grain, f);
    all
}

/// Sets every element to `f` of its index, in tasks of `grain`.
pub fn fill<P, T, F>(pool: &P, all: &mut [T], grain: usize, f: F)
where
    P: Pool,
    T: Send,
    F: Fn(usize) -> T + Sync,
{
    let grain = pool.grain(grain);
    pool.par_chunks(all, grain, |chunk, slots| {
        for (index, slot) in slots.iter_mut().enumerate() {
            *slot = f(chunk * grain + index);
        }
    });
}

/// What `f` pushes for each index of `0..len`, in order, in tasks of `grain` indices.
pub fn gather<P, T, F>(pool: &P, len: usize, grain: usize, f: F) -> Vec<T>
where
    P: Pool,
    T: Copy + Zeroable + Send + Sync,
    F: Fn(usize, &mut Vec<T>) + Sync,
{
    let grain = pool.grain(grain);
    let mut parts: Vec<Vec<T>> = Vec::new();
    parts.resize_with(len.div_ceil(grain), Vec::new);
    pool.par_chunks(&mut parts, 1, |part, slot| {
        let range = part * grain..len.min((part + 1).saturating_mul(grain));
        // Enough for a filter.
        slot[0].reserve(range.len());
        range.for_each(|index| f(index, &mut slot[0]));
    });
    concat(pool, parts)
}

fn concat<P, T>(pool: &P, mut parts: Vec<Vec<T>>) -> Vec<T>
where
    P: Pool,
    T: Copy + Zeroable + Send + Sync,
{
    if parts.len() <= 1 {
        return parts.pop().unwrap_or_default();
    }
    let total: usize = parts.iter().map(Vec::len).sum();
    let mut all = zeroed_vec(total);
    let mut places = carve(&mut all, parts.iter().map(Vec::len));
    let together = (COPY * parts.len()).div_ceil(total.max(1));
    pool.par_chunks(&mut places, together, |chunk, places| {
        for (place, part) in places.iter_mut().zip(&parts[chunk * together..]) {
            place.copy_from_slice(part);
        }
    });
    all
}

/// Moves the elements of `from` to `to`, those of bucket 0 first, and otherwise in their order; returns the buckets' lengths.
///
/// Blocks count what goes where, prefix sums give each block its place in each bucket, and the blocks move their elements
/// there (Zagha and Blelloch, "Radix Sort for Vector Multiprocessors", SC 1991). One task is a block.
pub fn distribute<P, T, F>(
    pool: &P,
    from: &[T],
    mut to: &mut [T],
    block: usize,
    buckets: usize,
    bucket_of: F,
) -> Vec<usize>
where
    P: Pool,
    T: Copy + Send + Sync,
    F: Fn(&T) -> usize + Sync,
{
    let block = pool.grain(block).min(from.len().max(1));
    let mut parts: Vec<Part<'_, T>> = from.chunks(block).map(Part::new).collect();
    pool.par_chunks(&mut parts, 1, |_, part| part[0].count(buckets, &bucket_of));
    // A bucket holds what comes from the first block, then what comes from the second, and so on.
    let mut lengths = vec![0; buckets];
    for (bucket, length) in lengths.iter_mut().enumerate() {
        for part in &mut parts {
            *length += part.counts[bucket];
            part.places.push(cut(&mut to, part.counts[bucket]).iter_mut());
        }
    }
    pool.par_chunks(&mut parts, 1, |_, part| part[0].place());
    lengths
}

/// A block that is distributed.
struct Part<'a, T> {
    elements: &'a [T],
    /// The bucket of each element.
    buckets: Vec<u16>,
    counts: Vec<usize>,
    places: Vec<IterMut<'a, T>>,
}

impl<'a, T: Copy> Part<'a, T> {
    fn new(elements: &'a [T]) -> Self {
        Self { elements, buckets: Vec::new(), counts: Vec::new(), places: Vec::new() }
    }

    fn count(&mut self, buckets: usize, bucket_of: impl Fn(&T) -> usize) {
        self.buckets = self.elements.iter().map(|element| bucket_of(element) as u16).collect();
        self.counts = vec![0; buckets];
        self.buckets.iter().for_each(|&bucket| self.counts[usize::from(bucket)] += 1);
        self.places.reserve(buckets);
    }

    fn place(&mut self) {
        for (element, &bucket) in self.elements.iter().zip(&self.buckets) {
            if let Some(place) = self.places[usize::from(bucket)].next() {
                *place = *element;
            }
        }
    }
}

/// Cuts `data` into consecutive parts of these lengths, so that tasks can write into them.
pub fn carve<T>(mut data: &mut [T], lengths: impl IntoIterator<Item = usize>) -> Vec<&mut [T]> {
    lengths.into_iter().map(|length| cut(&mut data, length)).collect()
}

/// Cuts the first `length` elements off.
fn cut<'a, T>(data: &mut &'a mut [T], length: usize) -> &'a mut [T] {
    let (part, rest) = mem::take(data).split_at_mut(length);
    *data = rest;
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;
    use crate::testing::Tiny;

    fn all_agree_with_iterators(pool: &impl Pool) {
        for len in [0, 1, 5, 6, 1000] {
            assert_eq!(tabulate(pool, len, 10, |i| i * i), (0..len).map(|i| i * i).collect::<Vec<_>>());
            let odd = gather(pool, len, 10, |i, out| out.extend((i % 2 == 1).then_some(i)));
            assert_eq!(odd, (0..len).filter(|i| i % 2 == 1).collect::<Vec<_>>());
            // Not commutative: the order counts.
            let text = reduce(pool, 0..len, 10, &|r| r.map(|i| format!("{i},")).collect(), &|a: String, b| a + &b);
            assert_eq!(text, (0..len).map(|i| format!("{i},")).collect::<String>());
        }
    }

    #[test]
    fn both_pools_agree_with_iterators() {
        all_agree_with_iterators(&Serial);
        Tiny::install(|| all_agree_with_iterators(&Tiny));
    }

    #[test]
    fn a_distribution_is_stable() {
        let from: Vec<usize> = (0..100).map(|at| at * 37 % 101).collect();
        let mut to = vec![0; from.len()];
        let lengths = Tiny::install(|| distribute(&Tiny, &from, &mut to, 10, 4, |element| element % 3));
        let mut expected = from;
        expected.sort_by_key(|element| element % 3);
        assert_eq!(to, expected);
        assert_eq!(lengths.iter().sum::<usize>(), 100);
        assert_eq!(lengths[3], 0);
    }

    #[test]
    fn parts_are_consecutive() {
        let mut data = [1, 2, 3, 4, 5];
        assert_eq!(carve(&mut data, [2, 0, 3]), [&[1, 2][..], &[], &[3, 4, 5]]);
    }
}
