//! Tests that need something of the machine: eBPF, a virtual machine, two CPUs. Where it is missing, a test is not passed
//! but ignored, with the reason.
//!
//! A binary `tests/live` of a crate has `harness = false`, a `main` that calls [`main`], and tests marked with
//! `#[test(ebpf, two_cpus)]` by what they need: see [`needs`]. They run one after the other, since programs that run at the
//! same time would disturb each other.
//!
//! `EVENKEEL_REQUIRE=ebpf,vm` (or `all`) makes it a failure that something is missing.

pub use evenkeel_testing_macros::test;
pub use inventory;

#[cfg(feature = "browser")]
pub mod browser;
mod kill;
mod long;
pub mod needs;
mod run;
pub mod sysfs;

pub use kill::kill;
pub use needs::Need;
pub use run::{Test, main, skips};
