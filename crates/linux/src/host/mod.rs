//! Follows a real program and moves its threads as a policy of `sched` says.

pub mod driver;

mod affinity;
mod clocks;
mod core_of;
mod counters;
mod follow;
mod live_policy;
mod name;
mod pace;
mod power;
mod proc;
mod rates;
mod sampler;
mod service;
mod session;
mod simulated;
mod stalls;
mod steps;
mod summary;
mod timeline;
mod used;
mod waits;
mod watched;

pub use crate::claim::Error as Claimed;
pub use core_of::CoreOf;
pub use counters::{Perf, Read, Source, ThreadCounters};
pub use follow::{PERIODS, Plan};
pub use live_policy::{foresees, live_policy};
pub use name::Name;
pub use pace::PERIOD;
pub use rates::{Increment, Rates};
pub use service::kind;
pub use session::{Error, Followed, Target, follow};
pub use simulated::Simulated;
pub use summary::{Short, Summary, ThreadSummary};
pub use timeline::{Move, Slice, Timeline};
pub use waits::{Waits, does_little};
