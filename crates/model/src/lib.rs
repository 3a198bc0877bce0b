//! What a machine is: cores, core types, operating points, power; speedup prediction; metrics.
//!
//! Pure mathematics. Nothing here opens a file, reads a clock, spawns a thread or draws an unseeded random number.

/// The machines that come with Evenkeel.
pub mod machines {
    pub use crate::machine::vary::{has, varied};
    pub use crate::machine::{by_name, names, text};
}

mod behaviour;
mod core_set;
mod counters;
mod difference;
pub mod lane;
pub mod marginal;
pub mod metrics;
pub mod names;
pub mod predict;
pub mod splitting;
pub mod stealing;
mod thread;
pub mod tree;
pub mod words;

mod machine;
mod units;

pub use behaviour::Behaviour;
pub use core_set::CoreSet;
pub use counters::{COUNTERS, Counter, Counters};
pub use difference::Difference;
pub use machine::{Cluster, Core, CoreOrder, CoreType, Costs, Machine, MachineError, NoMachine, Opp};
pub use predict::{MachinePredictor, Predictor};
pub use thread::{Clamp, Class, FULL_LOAD, NICE_0_WEIGHT, ThreadKind};
pub use units::{ClusterId, CoreId, CoreTypeId, Hz, Instructions, Joules, Ns, ProgramId, ThreadId, Volts, Watts};

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
