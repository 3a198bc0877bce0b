//! The multi-programmed workloads of COLAB's Table 4.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::NameError;
use crate::program::Workload;
use crate::suite;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MixFile {
    mix: Vec<Mix>,
}

/// A row of Table 4.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// Class and index, such as `Sync-2`.
    pub id: String,
    /// What the class stands for.
    pub class: String,
    /// The programs with their thread parameters, as `program:n`. The split is assumed, the total published.
    pub programs: Vec<String>,
    /// Threads of all programs together, as Table 4 prints it.
    pub threads: u32,
}

static MIXES: LazyLock<Vec<Mix>> = LazyLock::new(|| {
    let text = include_str!("../../../workloads/colab-mixes.toml");
    // Compiled in and read by the tests: a mistake in it is a mistake in this crate.
    let file: MixFile = toml::from_str(text).unwrap_or_else(|error| panic!("workloads/colab-mixes.toml: {error}"));
    file.mix
});

/// The mixes, in the order of Table 4.
pub fn mixes() -> &'static [Mix] {
    &MIXES
}

/// The workload of a mix.
///
/// # Errors
/// An unknown mix, with the nearest one.
pub fn workload(id: &str) -> Result<Workload, NameError> {
    let known = || mixes().iter().map(|mix| mix.id.as_str());
    let mix = mixes().iter().find(|mix| mix.id == id).ok_or_else(|| NameError::unknown("mix", id, known()))?;
    let programs = mix.programs.iter().map(|entry| {
        let (name, threads) = crate::name::split(entry)?;
        suite::program(name, threads)
    });
    Ok(Workload { name: mix.id.clone(), programs: programs.collect::<Result<_, _>>()?, duration: None })
}
