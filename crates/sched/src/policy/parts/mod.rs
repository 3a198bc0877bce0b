//! What policies are made of: what several of them share, and what would hide the paper in their own files.

pub mod culprit;
pub mod energy;
pub mod fair;

pub(crate) mod faster_first;
pub(crate) mod fork_balance;
pub(crate) mod misfit;
pub(crate) mod running;
pub(crate) mod services;
pub(crate) mod stalls;
pub(crate) mod switcher;
