//! Small real programs on asymmetric machines, under the guest's own kernel and under each policy.
//!
//! First each program is timed alone on one big core, from which follows what would be ideal. Then each bench is recorded
//! under the guest's own scheduler, for a prediction. Then every bench runs under every scheduler in turn, repeatedly.

mod error;
mod estimate;
mod guest;
mod measure;
mod plan;
mod programs;
mod result;

pub use error::Error;
pub use plan::{Caller, Plan, STOCK};
pub use programs::{BENCHES, Bench, PROGRAMS, Program};
pub use result::{Measured, Row};
