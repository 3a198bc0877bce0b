//! What is measured: programs alone and together.

use std::collections::BTreeSet;

use super::programs::{self, Kind, Program};

/// Programs that run at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bench {
    /// Its name.
    pub name: String,
    /// Its programs, by name.
    pub programs: Vec<&'static str>,
}

/// Measured where nothing else is said: enough to see what a policy does, and no more.
const USUAL: &[&str] = &["equal", "barrier", "static", "dynamic", "pipeline", "locks", "two", "four"];

/// Mixes by the classes of COLAB's evaluation: programs that synchronise much, that do not, that pass work on to each other,
/// that compute, and any.
const MIXES: &[(&str, &[&str])] = &[
    ("two", &["barrier", "pipeline"]),
    ("four", &["equal", "static", "pipeline", "locks"]),
    ("sync-2", &["barrier", "cells"]),
    ("sync-4", &["locks", "cells", "lu", "uneven"]),
    ("nsync-2", &["equal", "tree"]),
    ("nsync-4", &["equal", "tree", "tiles", "static"]),
    ("comm-2", &["pipeline", "farm"]),
    ("comm-4", &["pipeline", "farm", "wavefront", "phases"]),
    ("comp-2", &["static", "lu"]),
    ("comp-4", &["static", "dynamic", "uneven", "phases"]),
    ("rand-2", &["locks", "xz"]),
    ("rand-4", &["farm", "barrier", "zstd", "sqlite3"]),
];

/// Why a bench cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum Unknown {
    /// There is none of this name.
    #[error("no such program: {0}")]
    Name(String),
    /// A program that is to run twice at the same time: its times could not be told apart.
    #[error("{0:?}: a program can be in a mix only once")]
    Twice(String),
    /// A program that is not on this machine.
    #[error("{0} is not installed, and the guest has what this machine has; on Debian: apt install {0}")]
    NotInstalled(&'static str),
}

impl Bench {
    /// The bench of this name: that of a program, of a mix, or names of programs joined by `+`.
    ///
    /// # Errors
    /// There is none, or one of its programs is not installed.
    pub fn named(name: &str) -> Result<Self, Unknown> {
        let mix = MIXES.iter().find(|(mix, _)| *mix == name).map(|(_, programs)| programs.to_vec());
        let find =
            |name: &str| programs::find(name).map(|program| program.name).ok_or_else(|| Unknown::Name(name.to_owned()));
        let programs = mix.map_or_else(|| name.split('+').map(find).collect(), Ok)?;
        let bench = Self { name: name.to_owned(), programs };
        if bench.programs.iter().collect::<BTreeSet<_>>().len() < bench.programs.len() {
            return Err(Unknown::Twice(name.to_owned()));
        }
        if let Some(program) = bench.all().find(|program| !program.is_here()) {
            return Err(Unknown::NotInstalled(program.name));
        }
        Ok(bench)
    }

    /// What is measured where nothing else is said.
    pub fn usual() -> Vec<Self> {
        USUAL.iter().filter_map(|name| Self::named(name).ok()).collect()
    }

    /// All that can be measured here, and why the rest cannot.
    pub fn everything() -> (Vec<Self>, Vec<Unknown>) {
        let (mut benches, mut missing) = (Vec::new(), Vec::new());
        for name in Self::names() {
            match Self::named(name) {
                Ok(bench) => benches.push(bench),
                Err(why) => missing.push(why),
            }
        }
        (benches, missing)
    }

    /// Every name, but for those that join others.
    pub fn names() -> impl Iterator<Item = &'static str> {
        programs::PROGRAMS.iter().map(|program| program.name).chain(MIXES.iter().map(|(name, _)| *name))
    }

    /// The mixes, and of which programs they are.
    pub fn mixes() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
        MIXES.iter().copied()
    }

    /// Whether all that it does is compute, so that a recording says what it does elsewhere.
    pub(super) fn computes(&self) -> bool {
        self.all().all(|program| program.kind == Kind::Computes)
    }

    /// Whether its time tells how much its programs got done.
    pub(super) fn is_work(&self) -> bool {
        self.all().all(|program| program.kind != Kind::Sleeps)
    }

    /// Its program that tells how long threads waited to run.
    pub(super) fn waits(&self) -> Option<&'static str> {
        self.all().find(|program| program.kind == Kind::Sleeps).map(|program| program.name)
    }

    fn all(&self) -> impl Iterator<Item = &'static Program> {
        self.programs.iter().filter_map(|name| programs::find(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn benches_are_programs_mixes_and_what_is_joined() {
        assert_eq!(Bench::named("two").unwrap().programs, ["barrier", "pipeline"]);
        assert_eq!(Bench::named("lu+equal").unwrap().programs, ["lu", "equal"]);
        for bad in ["", "fast", "lu+", "two+lu", "lu,equal"] {
            assert!(matches!(Bench::named(bad), Err(Unknown::Name(_))), "{bad}");
        }
        assert!(matches!(Bench::named("lu+lu"), Err(Unknown::Twice(_))));
        assert_eq!(Bench::usual().len(), USUAL.len());
        let (here, missing) = Bench::everything();
        assert_eq!(here.len() + missing.len(), Bench::names().count());
    }

    #[test]
    fn names_are_unique_and_mixes_are_of_programs() {
        let mut names: Vec<&str> = Bench::names().collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        assert!(MIXES.iter().flat_map(|(_, programs)| *programs).all(|name| programs::find(name).is_some()));
        // Every program but those that measure the kernel is in a mix or is installed.
        let mixed = |name: &str| MIXES.iter().any(|(_, programs)| programs.contains(&name));
        assert!(programs::PROGRAMS.iter().filter(|program| mixed(program.name)).count() >= 10);
    }
}
