//! Where in the file something is wrong or different, said in one line.

use std::fmt;

/// Something in the file that is not supported or plays out differently here. The file still loads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Warning {
    /// The file, as the caller named it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The key that the warning is about.
    pub key: String,
    /// What is different.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: `{}`: {}", self.file, self.line, self.key, self.message)
    }
}

/// Why a file cannot be loaded: where, what was found and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct RtAppError {
    /// The file, as the caller named it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// What is wrong and what was expected.
    pub message: String,
}

/// Collects warnings and turns positions into lines.
pub(super) struct Notes {
    file: String,
    line_starts: Vec<usize>,
    warnings: Vec<Warning>,
}

impl Notes {
    pub(super) fn new(file: &str, text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        let line_starts = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        Self { file: file.to_owned(), line_starts, warnings: Vec::new() }
    }

    /// The file without folder and extension.
    pub(super) fn stem(&self) -> String {
        let stem = std::path::Path::new(&self.file).file_stem();
        stem.map_or_else(|| self.file.clone(), |stem| stem.to_string_lossy().into_owned())
    }

    /// The line of a byte position.
    pub(super) fn line(&self, at: usize) -> u32 {
        self.line_starts.partition_point(|&start| start <= at) as u32
    }

    pub(super) fn warn(&mut self, line: u32, key: &str, message: impl Into<String>) {
        let (file, key, message) = (self.file.clone(), key.to_owned(), message.into());
        self.warnings.push(Warning { file, line, key, message });
    }

    pub(super) fn error(&self, line: u32, message: impl Into<String>) -> RtAppError {
        RtAppError { file: self.file.clone(), line, message: message.into() }
    }

    /// In the order of the lines. A key that is met once an instance is named once.
    pub(super) fn into_warnings(mut self) -> Vec<Warning> {
        self.warnings.sort();
        self.warnings.dedup();
        self.warnings
    }
}

/// `: did you mean "..."?` if one of the candidates is close to `name`, else nothing.
pub(super) fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let close = |candidate: &&str| strsim::damerau_levenshtein(name, candidate) <= 1 + candidate.len() / 4;
    // A name of a megabyte is no typing mistake, and the distance takes quadratic time.
    let candidates = candidates.into_iter().filter(|candidate| name.len().max(candidate.len()) <= 64);
    let nearest = candidates.filter(close).min_by_key(|candidate| strsim::damerau_levenshtein(name, candidate));
    nearest.map_or_else(String::new, |nearest| format!(": did you mean \"{nearest}\"?"))
}
