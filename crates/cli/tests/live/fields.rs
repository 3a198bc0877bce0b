//! The fields of JSON documents, against those that `docs/json.md` describes.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::collections::BTreeSet;

use serde_json::Value;

/// The page that describes the fields.
const PAGE: &str = include_str!("../../../../docs/json.md");

/// The fields that the page gives a command's document, without those of its parts.
pub fn documented(command: &str) -> BTreeSet<&'static str> {
    let section = PAGE.split("\n## ").find(|section| section.starts_with(&format!("`{command}`\n"))).unwrap();
    let own = section.split("\n### ").next().unwrap();
    own.lines().filter_map(|row| row.strip_prefix("| `")?.split('`').next()).collect()
}

/// The fields of a document.
pub fn of(document: &Value) -> BTreeSet<&str> {
    document.as_object().unwrap().keys().map(String::as_str).collect()
}
