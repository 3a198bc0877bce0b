//! OpenMP's static loops, split by how fast each thread's core is: a program that meets a barrier after each loop waits for its
//! slowest core, however threads are moved. This library is preloaded into a program that was built with clang, ifx or flang, and
//! whose loops are therefore divided by a call into its OpenMP library (libomp); nothing of the program changes.
//!
//! - [`split`]: how many iterations each thread gets, all of them once.
//! - [`speeds`]: what is known of threads' speeds in a parallel region, and whether a split there is worth it.
//! - `region`: the regions of a program, and the team of threads that is in one.
//! - `tool`: learns of regions from libomp, by the interface that OpenMP has for tools (OpenMP 5.0, chapter 4).
//! - `libomp`: answers, in libomp's stead, which iterations of a loop are a thread's.
//! - `real`: the functions of libomp in whose place this library's are called.
//! - `cores`: each thread on a core of its own.
//!
//! Within a region nothing changes, so that equal loops of it give each iteration to the same thread, as OpenMP promises (5.0, 2.9.2).

#![deny(missing_docs)]

pub mod speeds;
pub mod split;

mod clock;
mod cores;
mod libomp;
mod real;
mod region;
mod switch;
mod tool;

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
