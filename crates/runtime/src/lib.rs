//! A work-stealing runtime that keeps parallel programs even on cores that differ.
//!
//! [`join`] two closures, [`scope`] any number of tasks, have a [`graph`] of tasks wait for the data that they share, or run a loop with [`par_for`],
//! [`par_map_reduce`], [`par_pieces`], [`par_chunks`] and [`par_chunks_mut`]. They use the [global pool](Pool::global), and in [`Pool::install`] that pool. Waiting for a task costs
//! little more than calling a function as long as no worker steals it, so tasks may be small.
//!
//! A panic in a task is propagated to the thread that waits for it. Parallel code may be nested as deep as stacks allow, pools in pools included.

mod affinity;
mod asymmetry;
mod builder;
mod chunks;
mod clock;
pub mod dedicated;
mod deque;
mod dvfs;
mod enter;
mod error;
mod fence;
mod fork;
mod graph;
mod injected;
mod job;
mod join;
mod latch;
mod missing;
mod par;
mod pieces;
mod pool;
mod region;
mod scope;
mod sleep;
mod state;
mod stats;
mod steal_request;
mod sync;
mod task;
mod thread;
mod trace;
mod urgent;
mod worker;
mod workers;

pub use asymmetry::{Account, Spans, this_machine, this_machine_as_it_is, this_machine_with_speeds};
pub use builder::{PoolBuilder, Record};
pub use chunks::{par_chunks, par_chunks_mut};
pub use error::{BuildError, MAX_THREADS, Shortage};
pub use evenkeel_model::Machine;
pub use evenkeel_model::stealing::Techniques;
pub use evenkeel_topology::Topology;
pub use graph::{Creation, Graph, graph};
pub use join::join;
pub use missing::Missing;
pub use par::{par_for, par_for_grain, par_map_reduce, par_map_reduce_grain};
pub use pieces::par_pieces;
pub use pool::Pool;
pub use region::{Access, Lend, Read, Region, Write};
pub use scope::{Scope, scope};
pub use stats::Stats;
#[cfg(feature = "perfetto")]
pub use trace::write_perfetto;
pub use trace::{Event, What};

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(all(test, loom))]
mod interleavings;
