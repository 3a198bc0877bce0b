//! What a machine is: cores, core types, operating points, power; speedup prediction; metrics.
//!
//! Pure mathematics. Nothing here opens a file, reads a clock, spawns a thread or draws an unseeded random number.

mod behaviour;
mod counters;
mod machine;
mod units;

pub use behaviour::Behaviour;
pub use counters::{COUNTERS, Counter, Counters};
pub use machine::{Cluster, Core, CoreOrder, CoreType, Costs, Machine, Opp};
pub use units::{
    ClusterId, CoreId, CoreSet, CoreTypeId, Hz, Instructions, Joules, Ns, ProgramId, ThreadId, Volts, Watts,
};
