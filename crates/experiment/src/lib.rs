//! Simulated experiments as a library: what is run, on what it is compared, and what came out.
//!
//! A [`Plan`] names workloads, machines, policies, core orders and seeds. A [`Runner`] does the reference runs that H_ANTT and
//! H_STP need and trains the speedup predictors that policies want; then it does the runs, each of which gives a [`Run`].
//! A [`Comparison`] groups them by workload, machine and policy. [`paper`] holds the evaluations of five papers, and what they
//! published. Nothing here prints, and no result depends on how many cores did the work.
//!
//! ```
//! use evenkeel_experiment::{Comparison, Control, Plan, Runner, catalog};
//!
//! # fn main() -> Result<(), evenkeel_experiment::Error> {
//! let plan = Plan {
//!     workloads: vec![catalog::workload("radix")?.workload],
//!     machines: vec![catalog::machine("2B2S")?.machine],
//!     policies: vec![catalog::policy("cfs")?, catalog::policy("gts")?],
//!     ..Plan::default()
//! };
//! let control = Control::default();
//! let runner = Runner::new(plan, &control)?;
//! let results = runner.run_all(&control)?;
//! let comparison = Comparison::of(runner.plan(), &results, "cfs");
//! for policy in comparison.others() {
//!     println!("{}: {:?}", comparison.policies[policy], comparison.difference(policy, |run| run.h_antt));
//! }
//! # Ok(())
//! # }
//! ```

mod calibration;
pub mod catalog;
mod comparison;
mod control;
mod error;
pub mod files;
pub mod history;
pub mod paper;
mod plan;
pub mod prediction;
mod predictors;
mod reference;
mod run;
mod runner;
mod spread;
pub mod thresholds;
pub mod timeline;
pub mod training;
pub mod variation;

pub use comparison::{Cell, Comparison, Counts, Value};
pub use control::{Control, Progress, Stage};
pub use error::{Error, Result, TaskSetting};
pub use plan::{Beside, Conditions, GivenPredictor, Job, Plan, Tasks};
pub use run::{ClusterEnergy, Measurement, ProgramTime, Results, Run, ThreadTime};
pub use runner::{LINUX, Runner};
pub use spread::{Spread, mean};

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
