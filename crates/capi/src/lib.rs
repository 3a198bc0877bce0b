//! The runtime for C and C++. `include/evenkeel.h` is made from this crate: what is said here is for readers of that header, so names are C's.
//!
//! No panic and no exception crosses the border: what is called here does not panic but for a callback, and a callback that throws
//! ends the process (see [`callback`]).
#![allow(nonstandard_style)]

mod callback;
mod fork;
mod graph;
mod loops;
mod options;
mod pool;
mod status;

pub use callback::ek_function;
pub use fork::{ek_join, ek_scope, ek_scope_run, ek_spawn, ek_spawned};
pub use graph::{
    ek_access, ek_graph, ek_graph_body, ek_graph_run, ek_graph_wait, ek_graph_window, ek_mode, ek_task, ek_task_now,
};
pub use loops::{ek_combine, ek_parallel_for, ek_piece, ek_reduce, ek_reduce_piece};
pub use options::{ek_options, ek_options_default};
pub use pool::{ek_global_configure, ek_pool, ek_pool_free, ek_pool_new, ek_pool_run, ek_pool_threads};
pub use status::{ek_status, ek_status_text, ek_version};
