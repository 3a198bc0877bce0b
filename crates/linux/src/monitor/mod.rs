//! How a host that schedules real threads is watched and told what to do while it works, from another process.
//!
//! A host listens on a socket in the kernel's abstract name space, named after its process, which is gone with the
//! process, however that ends. One that watches it sends [`Request`]s and is sent [`Reply`]s, each a line of JSON: a
//! [`Snapshot`] as soon as it says how often it wants one, then one every such period, and an answer to each request that changes
//! something. Only the user that the host runs
//! as, and root, are listened to. A host that is not watched does nothing for this.
//!
//! A snapshot has only what the host alone knows. What every process can read, such as names of threads and frequencies of
//! cores, is left to the one that watches.

mod client;
mod server;
mod snapshot;
#[cfg(test)]
mod tests;

pub use client::{Error, Found, Requests, Watcher, found};
pub use evenkeel_sched::policy::Label;
pub use server::{Asked, Monitor};
pub use snapshot::{Change, CoreNow, Reply, Request, Snapshot, State, ThreadNow};

use evenkeel_model::Ns;

/// What the names of hosts begin with; their process's number follows.
const NAME: &str = "evenkeel-watched-";

/// Snapshots may be so far apart.
pub const PERIODS: std::ops::RangeInclusive<Ns> = Ns::from_ms(100)..=Ns::from_secs(60);
