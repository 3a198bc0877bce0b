//! The JSON documents, printed.

use anyhow::Context;
use serde::Serialize;

pub use evenkeel_report::json::*;

/// A value as JSON in one line.
pub fn line<T: Serialize>(value: &T) -> anyhow::Result<String> {
    evenkeel_report::json::line(value).context("cannot encode the result as JSON")
}

/// A value as indented JSON with a newline at its end.
pub fn print<T: Serialize>(value: &T) -> anyhow::Result<String> {
    evenkeel_report::json::print(value).context("cannot encode the result as JSON")
}
