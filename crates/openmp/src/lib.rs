//! OpenMP's static loops, split by how fast each thread's core is: a program that meets a barrier after each loop waits for its
//! slowest core, however threads are moved. This library is preloaded into a program; nothing of that changes.
//!
//! If it was built with clang, ifx or flang, its loops are divided by a call into its OpenMP library (libomp), which is answered here. If it was
//! built with GCC, it divides them itself, and its teams have more threads, of which a fast core runs more.
//!
//! How many iterations each thread gets, and whether a split is worth it for a region, is [`evenkeel_model::splitting`]'s.
//!
//! - `region`: the regions of a program, and the team of threads that is in one.
//! - `tool`: learns of regions from libomp, by the interface that OpenMP has for tools (OpenMP 5.0, chapter 4).
//! - `libomp`: answers, in libomp's stead, which iterations of a loop are a thread's.
//! - `user_schedule`: loops whose schedule is the user's, where that is static.
//! - `dynamic`: how large the parts are that threads take of a loop one after the other.
//! - `real`: the functions of libomp in whose place this library's are called.
//! - `shares`, `libgomp`: how many threads programs of GCC's have, and which core runs which.
//! - `cores`: which cores there are, and threads bound to them.
//! - `why`: what is said of loops that are left as they are.
//!
//! Within a region nothing changes, so that equal loops of it give each iteration to the same thread, as OpenMP promises (5.0, 2.9.2).

#![deny(missing_docs)]

mod clock;
mod cores;
mod dynamic;
mod libgomp;
mod libomp;
mod real;
mod region;
mod shares;
mod switch;
mod tool;
mod user_schedule;
mod why;

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
