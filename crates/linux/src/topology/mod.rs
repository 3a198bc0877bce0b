//! What this machine is.

pub mod list;
