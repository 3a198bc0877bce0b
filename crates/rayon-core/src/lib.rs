//! The interface of [Rayon](https://docs.rs/rayon)'s `rayon-core`, version 1.13, on the work-stealing runtime of Evenkeel.
//!
//! A program that uses Rayon gets it in two lines of its `Cargo.toml`, and needs no other change:
//!
//! ```toml
//! [patch.crates-io]
//! rayon-core = { git = "https://…/evenkeel" }
//! ```
//!
//! Every item does what Rayon documents for the item of the same name. `docs/rayon.md` of the repository says what differs.

mod broadcast;
mod builder;
mod configuration;
mod cores;
mod error;
mod join;
mod registry;
mod scope;
mod spawn;
mod start;
mod thread_pool;

pub use broadcast::{broadcast, spawn_broadcast};
pub use builder::ThreadPoolBuilder;
#[allow(deprecated)]
pub use configuration::{Configuration, initialize};
pub use error::ThreadPoolBuildError;
pub use evenkeel_runtime::dedicated::{BroadcastContext, Scope, ScopeFifo};
pub use join::{FnContext, join, join_context};
pub use scope::{in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use spawn::{spawn, spawn_fifo};
pub use start::ThreadBuilder;
pub use thread_pool::{
    ThreadPool, Yield, current_num_threads, current_thread_has_pending_tasks, current_thread_index, max_num_threads,
    yield_local, yield_now,
};
