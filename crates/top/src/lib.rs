//! A live view of a host that schedules real threads: its cores and threads in a terminal, with keys that sort and filter them,
//! pin one, or let another policy decide.
//!
//! [`Facts`] reads what every process can read of threads and cores; [`View`] puts that beside what the host says, as rates since
//! the last snapshot. [`App`] is what is on the screen, and what a key does to it; it knows neither the terminal nor the host.
//! [`watch`] connects the three.

mod app;
mod draw;
mod facts;
mod sort;
mod terminal;
mod view;

#[cfg(test)]
mod tests;

pub use app::{Act, App};
pub use draw::draw;
pub use facts::Facts;
pub use sort::Sort;
pub use terminal::{Error, watch};
pub use view::{CoreRow, ThreadRow, View};

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
