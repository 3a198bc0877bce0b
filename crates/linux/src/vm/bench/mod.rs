//! Small real programs on asymmetric machines, under the guest's own kernel, under each policy of each host, and under other
//! programs' schedulers.
//!
//! First each program is timed alone on a guest of big cores only. Then, in the guest that is measured, alone on one big core,
//! from which follows what would be ideal; of the user's own programs that is not known. Then, in each repetition, every bench is recorded under the guest's own
//! scheduler, for a prediction, and runs under every scheduler in turn, so that differences are those of neighbours in time.

mod benches;
mod difference;
mod error;
mod estimate;
mod guest;
mod measure;
mod output;
mod plan;
mod predicted;
mod programs;
mod result;
mod scheduler;
mod totals;

pub use benches::{Bench, Member, Unknown};
pub use error::Error;
pub use plan::{Caller, Plan};
pub use predicted::{Played, Predicted};
pub use programs::{PROGRAMS, Program, ProgramType};
pub use result::{Latency, Measured, Row};
pub use scheduler::{Host, Scheduler};
pub use totals::{Accuracy, Errors, Total};
