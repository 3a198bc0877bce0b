//! Workloads by name: `ferret`, `ferret:2`, `ferret:2+fft`, `Sync-2`.

use crate::entry::{NameError, split};
use crate::program::Workload;
use crate::{mix, suite};

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

/// The programs of a workload that is made of several, a mix (`Sync-2`) or one written with `+`, each with its thread parameter if it has one;
/// `None` of any other name.
pub fn parts(name: &str) -> Option<Vec<&str>> {
    let mix = mix::mixes().find(|mix| mix.id == name);
    let parts = mix.map(|mix| mix.programs.iter().map(String::as_str).collect());
    parts.or_else(|| name.contains('+').then(|| name.split('+').collect()))
}
