//! Follows a real program and moves its threads as a policy of `sched` says.

pub mod driver;
pub mod sample;

mod affinity;
mod claim;
mod counters;
mod follow;
mod orphans;
mod proc;
mod sampler;
mod service;
mod session;
mod summary;
mod timeline;
mod used;

pub(crate) use crate::clock::clock;
pub(crate) use crate::wait::poll;
pub use claim::Error as Claimed;
pub use follow::{PERIOD, PERIODS, Plan};
pub use session::{Error, Followed, Target, follow};
pub use summary::{Short, Summary, ThreadSummary};
pub use timeline::{Move, Slice, Timeline};
