//! The library as its users see it: without the command.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod catalog;
mod paper;
mod plan;
