//! Follows a real program and moves its threads as a policy of `sched` says.

pub mod driver;
pub mod sample;

mod counters;
mod eyes;
mod follow;
mod hands;
mod proc;
mod service;
mod summary;
mod timeline;

pub use follow::{Follow, PERIOD, PERIODS, Plan};
pub(crate) use follow::{clock, poll};
pub use summary::{Summary, ThreadSummary};
pub use timeline::{Move, Slice, Timeline};
