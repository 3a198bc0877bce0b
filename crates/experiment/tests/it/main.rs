//! The library as its users see it: without the command.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod catalog;
mod paper;
mod plan;
