//! A work-stealing runtime that keeps parallel programs even on cores that differ.
//!
//! [`join`] two closures, [`scope`] any number of tasks, or run a loop with [`par_for`], [`par_map_reduce`], [`par_chunks`] and [`par_chunks_mut`]. Without
//! further ado they use the [global pool](Pool::global); in [`Pool::install`] they use that pool. Waiting for a task costs little more than calling
//! a function as long as nobody steals it, so tasks may be small.
//!
//! Panics are carried to whoever waits. Parallel code may be nested as deep as stacks allow, pools in pools included.

mod builder;
mod chunks;
mod clock;
mod deque;
mod error;
mod fence;
mod injected;
mod job;
mod join;
mod latch;
mod par;
mod pieces;
mod pool;
mod scope;
mod sleep;
mod stats;
mod sync;
mod worker;

pub use builder::{MAX_THREADS, PoolBuilder};
pub use chunks::{par_chunks, par_chunks_mut};
pub use error::{BuildError, Shortage};
pub use join::join;
pub use par::{par_for, par_for_grain, par_map_reduce, par_map_reduce_grain};
pub use pieces::par_pieces;
pub use pool::Pool;
pub use scope::{Scope, scope};
pub use stats::Stats;

#[cfg(all(test, loom))]
mod interleavings;
