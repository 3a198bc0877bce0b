//! What is wrong with a workload file, and where.

use std::ops::Range;

/// A mistake in a workload file. Prints as `file:line: what is wrong and what was expected`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct FormatError {
    /// The file, as it was given.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, what was expected, and what to do.
    pub message: String,
}

/// A mistake at a place in the text, before the place is turned into a line.
#[derive(Debug)]
pub(crate) struct Fault {
    pub at: Range<usize>,
    pub message: String,
}

impl Fault {
    pub fn new(at: Range<usize>, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }

    /// Names the file and counts the line.
    pub fn locate(self, file: &str, text: &str) -> FormatError {
        let before = &text.as_bytes()[..self.at.start.min(text.len())];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        FormatError { file: file.to_owned(), line, message: self.message }
    }
}

/// The name among `known` that is most like `name`, if one is like it.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let alike = known.map(|other| (strsim::jaro_winkler(&name, &other.to_lowercase()), other));
    alike.filter(|(likeness, _)| *likeness > 0.75).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, other)| other)
}

/// `: did you mean "x"?` for the nearest of `known`, or the list of them if none is near.
pub(crate) fn suggestion<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    match nearest(name, known.iter().copied()) {
        Some(other) => format!(": did you mean \"{other}\"?"),
        None if known.is_empty() => ": none is declared".into(),
        None => format!(": expected one of {}", known.join(", ")),
    }
}
