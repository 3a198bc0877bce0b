//! A name with an optional thread count, `ferret:2`, and why one does not lead to a workload.

use evenkeel_model::names::nearest;

use crate::format::FormatError;

/// Why a name does not lead to a workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// No such thing.
    #[error("unknown {kind} \"{name}\"{hint}")]
    Unknown {
        /// What it should be the name of.
        kind: &'static str,
        /// The name.
        name: String,
        /// `: did you mean "x"?` or where to find the names.
        hint: String,
    },
    /// What stands behind the colon is not a thread count.
    #[error("\"{0}\": expected a thread count after the colon, as in \"ferret:4\"")]
    Count(String),
    /// A mix fixes the thread counts of its programs.
    #[error("\"{0}\": a mix has its own thread counts, leave out the colon and the number")]
    FixedCount(String),
    /// The program does not take this thread count.
    #[error(transparent)]
    Format(#[from] FormatError),
}

impl NameError {
    pub(crate) fn unknown<'a>(kind: &'static str, name: &str, known: impl Iterator<Item = &'a str>) -> Self {
        let hint = nearest(name, known).map_or_else(
            || ": `evenkeel workloads` lists what there is".to_owned(),
            |other| format!(": did you mean \"{other}\"?"),
        );
        Self::Unknown { kind, name: name.to_owned(), hint }
    }
}

/// `program:n` in its parts.
pub(crate) fn split(name: &str) -> Result<(&str, Option<u32>), NameError> {
    match name.split_once(':') {
        None => Ok((name, None)),
        Some((base, count)) => match count.parse() {
            Ok(count) => Ok((base, Some(count))),
            Err(_) => Err(NameError::Count(name.to_owned())),
        },
    }
}
