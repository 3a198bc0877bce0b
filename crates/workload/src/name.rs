//! Workloads by name: `ferret`, `ferret:2`, `ferret:2+fft`, `Sync-2`.

use evenkeel_model::names::nearest;

use crate::format::FormatError;
use crate::program::Workload;
use crate::{mix, suite};

/// Why a name does not lead to a workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// No such thing.
    #[error("unknown {kind} \"{name}\"{hint}")]
    Unknown {
        /// What was looked for.
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

/// The workload of this name: a program of the suite with its default thread parameter (`ferret`) or another one
/// (`ferret:2`), several programs that start together (`ferret:2+fft`), or a mix (`Sync-2`).
///
/// # Errors
/// An unknown name, with the nearest one; a thread count that the program does not take.
pub fn by_name(name: &str) -> Result<Workload, NameError> {
    if name.contains('+') {
        let programs = name.split('+').map(|entry| split(entry).and_then(|(base, n)| suite::program(base, n)));
        let programs = programs.collect::<Result<_, _>>()?;
        return Ok(Workload { name: name.to_owned(), programs, ..Workload::default() });
    }
    let (base, threads) = split(name)?;
    if mix::mixes().any(|mix| mix.id == base) {
        return if threads.is_none() { mix::workload(base) } else { Err(NameError::FixedCount(name.to_owned())) };
    }
    let programs = || suite::programs().chain(suite::task_programs()).map(|program| program.name);
    if programs().any(|program| program == base) {
        let program = suite::program(base, threads)?;
        return Ok(Workload { name: name.to_owned(), programs: vec![program], ..Workload::default() });
    }
    let known = programs().chain(mix::mixes().map(|mix| mix.id.as_str()));
    Err(NameError::unknown("workload", base, known))
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
