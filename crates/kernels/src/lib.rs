//! The 20 application kernels of Torng, Wang and Batten, "Asymmetry-Aware Work-Stealing Runtimes" (ISCA 2016, Table III),
//! written from their descriptions in the literature and generic over the pool that runs them.
//!
//! Two kernels have two inputs, so there are 22 [`ROWS`]. A row gives a [`Problem`], a problem runs on any [`Pool`], and its
//! answer can be checked:
//!
//! ```
//! use evenkeel_kernels::{Row, Serial};
//!
//! let problem = Row::by_name("cilksort").unwrap().problem(0.01);
//! let answer = problem.run(&Serial);
//! problem.check(&answer).unwrap();
//! ```
//!
//! Nothing here is `unsafe`: parallel loops write into parts of their own, and what is shared is atomic.

#![forbid(unsafe_code)]

mod evenkeel;
pub mod inputs;
mod kernel;
pub mod kernels;
mod pool;
mod primitives;
mod registry;
#[cfg(test)]
mod testing;

pub use evenkeel::Evenkeel;
pub use kernel::{Info, Kernel, Method, Suite, Wrong};
pub use pool::{Pool, Serial};
pub use registry::{Answer, Problem, ROWS, Row};
