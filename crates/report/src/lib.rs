//! Views of Evenkeel's results: [`json`] documents for programs, [`text`] for people at a terminal, [`page`]s for browsers.
//!
//! A view takes results and returns text. It runs nothing, reads nothing and prints nothing.

mod fit;
pub mod headline;
pub mod json;
pub mod number;
pub mod page;
pub mod table;
pub mod text;

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
