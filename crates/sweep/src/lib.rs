//! Sweeps: every combination of machines, workloads, policies and seeds, and of any value of a machine, a workload, a policy or
//! the conditions of a run.
//!
//! A [`Grid`] is read from a file and numbers its runs. [`sweep`] does those that are not done yet, on all cores, and writes a
//! [Parquet](https://parquet.apache.org) file: a row a run, in the order of the grid. What is done is in a journal
//! beside it, run by run, so that an end in the middle loses nothing. [`Shard`]s of a grid are done on several machines, and
//! [`merge()`] makes of their files what one machine would have written, to the byte. [`Summary`] tells what came out.
//!
//! ```
//! use evenkeel_experiment::Control;
//! use evenkeel_sweep::{Grid, Request, Summary, sweep};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let grid = Grid::parse(
//!     r#"
//!         machines = ["2B2S"]
//!         workloads = ["radix"]
//!         policies = ["cfs", "gts"]
//!         seeds = 2
//!         machine.costs.migrate_across_clusters_us = [0, 60]
//!     "#,
//!     "grid.toml",
//!     None,
//!     &(),
//! )?;
//! let folder = tempfile::tempdir()?;
//! let done = sweep(&grid, &Request::into(folder.path().join("out.parquet")), &Control::default())?;
//! assert_eq!((grid.runs(), done.computed), (2 * 2 * 2 * 2, 16));
//! let summary = Summary::read(&folder.path().join("out.parquet"))?;
//! println!("{} differs by {:?}", summary.policies[0].policy, summary.policies[0].effects.h_antt);
//! # Ok(())
//! # }
//! ```

mod blame;
mod checksums;
mod columns;
mod error;
mod grid;
mod journal;
mod key;
mod known;
mod merge;
mod named;
mod open_files;
mod pages;
mod places;
mod row;
mod shard;
mod summary;
mod sweep;
mod table;
mod twice;
mod variants;
mod wrong;

pub use error::Error;
pub use grid::Grid;
pub use journal::journals;
pub use known::already;
pub use merge::{Merging, at_its_end, merge};
pub use shard::Shard;
pub use summary::{AtValue, Effects, PolicySummary, Summary, Varied};
pub use sweep::{Done, Request, sweep};
pub use table::{is_done, rows, table};

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
