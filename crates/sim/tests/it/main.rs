//! The simulator from outside. One binary, so that the crates are linked once.

mod allocations;
mod big_little;
mod bounds;
mod common;
mod conformance;
mod conservation;
mod everything;
mod java;
mod memory;
mod oracle;
mod policies;
mod semantics;
mod siblings;
mod split;
mod steering;
mod tasks;
mod waiting;
