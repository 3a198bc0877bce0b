//! Programs that run together: COLAB's Table 4, the workloads of bias scheduling.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::entry::{NameError, split};
use crate::program::{Memory, Program, Workload};
use crate::suite;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MixFile {
    mix: Vec<Mix>,
}

/// Several programs under one name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// Class and index, such as `Sync-2`.
    pub id: String,
    /// What the class stands for.
    pub class: String,
    /// The programs, with their thread parameters where they have one, as `program:n`. In Table 4 the split is assumed, the
    /// total published.
    pub programs: Vec<String>,
    /// Threads of all programs together, as the table prints it.
    pub threads: u32,
    /// Whether programs begin again until each has ended once.
    #[serde(default)]
    pub rerun: bool,
    /// Where the memory of its programs is, if it is not where they have it otherwise.
    pub memory: Option<Memory>,
}

static MIXES: LazyLock<[Vec<Mix>; 2]> = LazyLock::new(|| {
    [
        bundled(include_str!("../workloads/colab-mixes.toml"), "workloads/colab-mixes.toml"),
        bundled(include_str!("../workloads/bias-mixes.toml"), "workloads/bias-mixes.toml"),
    ]
});

/// A file that is compiled in and that the tests read: a mistake in it is a mistake in this crate.
fn bundled(text: &str, file: &str) -> Vec<Mix> {
    let parsed: MixFile = toml::from_str(text).unwrap_or_else(|error| panic!("{file}: {error}"));
    parsed.mix
}

/// The mixes of COLAB's Table 4, in its order.
pub fn table_4() -> impl Iterator<Item = &'static Mix> {
    MIXES[0].iter()
}

/// All mixes.
pub fn mixes() -> impl Iterator<Item = &'static Mix> {
    MIXES.iter().flatten()
}

/// The workload of a mix.
///
/// # Errors
/// An unknown mix, with the nearest one.
pub fn workload(id: &str) -> Result<Workload, NameError> {
    let known = || mixes().map(|mix| mix.id.as_str());
    let mix = mixes().find(|mix| mix.id == id).ok_or_else(|| NameError::unknown("mix", id, known()))?;
    let programs = mix.programs.iter().map(|entry| {
        let (name, threads) = split(entry)?;
        let program = suite::program(name, threads)?;
        Ok(Program { memory: mix.memory.unwrap_or(program.memory), ..program })
    });
    let programs = programs.collect::<Result<_, NameError>>()?;
    Ok(Workload { name: mix.id.clone(), programs, rerun: mix.rerun, ..Workload::default() })
}
