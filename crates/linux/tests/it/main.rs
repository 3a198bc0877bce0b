//! The recorder on a simulated machine. One binary, so that the crates are linked once.

mod common;
mod replay;
mod simulated;
