//! Loops call each number once, whatever the grain and however uneven the work.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use evenkeel_runtime::{
    Pool, par_chunks, par_chunks_mut, par_for, par_for_grain, par_map_reduce, par_map_reduce_grain,
};
use proptest::prelude::*;

proptest! {
    #[test]
    fn each_number_is_called_once(len in 0..3000usize, grain in prop::option::of(0..100usize), threads in 1..5usize, slow in 0..3000usize) {
        let calls: Vec<AtomicU32> = (0..len).map(|_| AtomicU32::new(0)).collect();
        let f = |i: usize| {
            if i == slow {
                std::thread::yield_now();
            }
            calls[i].fetch_add(1, Ordering::Relaxed);
        };
        Pool::new(threads).unwrap().install(|| match grain {
            Some(grain) => par_for_grain(0..len, grain, f),
            None => par_for(0..len, f),
        });
        prop_assert!(calls.into_iter().all(|calls| calls.into_inner() == 1));
    }

    #[test]
    fn values_are_reduced_in_their_order(len in 0..500usize, grain in prop::option::of(0..50usize), threads in 1..5usize) {
        let join = |mut a: Vec<usize>, b: Vec<usize>| { a.extend(b); a };
        let numbers = Pool::new(threads).unwrap().install(|| match grain {
            Some(grain) => par_map_reduce_grain(3..3 + len, grain, Vec::new, |i| vec![i], join),
            None => par_map_reduce(3..3 + len, Vec::new, |i| vec![i], join),
        });
        prop_assert_eq!(numbers, (3..3 + len).collect::<Vec<_>>());
    }

    #[test]
    fn chunks_cover_a_slice(len in 0..500usize, size in 0..70usize, threads in 1..4usize) {
        let mut numbers = vec![0u32; len];
        let pool = Pool::new(threads).unwrap();
        let chunks = AtomicUsize::new(0);
        pool.install(|| par_chunks_mut(&mut numbers, size, |chunk| {
            chunks.fetch_add(1, Ordering::Relaxed);
            chunk.iter_mut().for_each(|number| *number += 1);
        }));
        prop_assert_eq!(chunks.into_inner(), len.div_ceil(size.max(1)));
        prop_assert!(numbers.iter().all(|&number| number == 1));
        let seen = AtomicUsize::new(0);
        pool.install(|| par_chunks(&numbers, size, |chunk| {
            seen.fetch_add(chunk.len(), Ordering::Relaxed);
        }));
        prop_assert_eq!(seen.into_inner(), len);
    }
}

#[test]
fn an_empty_loop_is_the_identity() {
    assert_eq!(par_map_reduce(5..5, || 7, |_| 1, |a, b| a + b), 7);
    par_for(5..5, |_| unreachable!());
    par_chunks::<u8, _>(&[], 3, |_| unreachable!());
}

#[test]
fn few_long_iterations_run_at_the_same_time() {
    // They wait for each other, so a worker that kept two of them for itself would wait for ever.
    for long in [2, 3, 4] {
        let pool = Pool::new(long).unwrap();
        let here = AtomicUsize::new(0);
        pool.par_for(0..long, |_| {
            here.fetch_add(1, Ordering::SeqCst);
            while here.load(Ordering::SeqCst) < long {
                std::thread::yield_now();
            }
        });
    }
}

#[test]
fn loops_in_loops() {
    let sum = Pool::new(3)
        .unwrap()
        .install(|| par_map_reduce(0..50, || 0, |i| par_map_reduce(0..i, || 0, |j| i * j, |a, b| a + b), |a, b| a + b));
    assert_eq!(sum, (0..50).map(|i| (0..i).map(|j| i * j).sum::<usize>()).sum());
}

#[test]
fn a_type_of_no_size_has_chunks_too() {
    let mut units = [(); 10];
    let chunks = AtomicUsize::new(0);
    par_chunks_mut(&mut units, 3, |_| {
        chunks.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(chunks.into_inner(), 4);
}
