//! What is measured: programs alone and together.

use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU8;

use super::programs::{self, CALIBRATED, Program, ProgramType};
use crate::spec::Spec;

/// Programs that run at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bench {
    /// Its name.
    pub name: String,
    /// Its programs.
    pub members: Vec<Member>,
}

/// A program, and how many threads it has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    /// The program.
    pub program: Program,
    /// If it has not as many as the machine has cores.
    pub threads: Option<NonZeroU8>,
}

/// Measured where nothing else is said: enough to see what a policy does, and no more.
const USUAL: &[&str] = &["equal", "barrier", "static", "dynamic", "pipeline", "locks", "two", "four"];

/// Mixes. Those with numbers have as many programs and threads as those of COLAB's evaluation (CGO 2020, table 4), and programs
/// like the ones there: some that synchronise much, that do not, that pass work on to each other, that compute, and any.
const MIXES: &[(&str, &str)] = &[
    ("two", "barrier+pipeline"),
    ("four", "equal+static+pipeline+locks"),
    ("sync-1", "uneven:2+barrier:2"),
    ("sync-2", "farm:9+cells:9"),
    ("sync-3", "uneven:2+barrier:2+cells:2+phases:3"),
    ("sync-4", "farm:5+pipeline:5+barrier:5+uneven:5"),
    ("nsync-1", "uneven:2+lu:2"),
    ("nsync-2", "equal:8+tiles:8"),
    ("nsync-3", "static:2+dynamic:2+uneven:2+lu:2"),
    ("nsync-4", "equal:5+static:5+lu:5+tiles:5"),
    ("comm-1", "uneven:2+equal:2"),
    ("comm-2", "pipeline:8+farm:8"),
    ("comm-3", "uneven:2+static:2+dynamic:2+phases:3"),
    ("comm-4", "equal:5+farm:5+pipeline:5+uneven:5"),
    ("comp-1", "static:2+barrier:2"),
    ("comp-2", "cells:9+tiles:8"),
    ("comp-3", "lu:2+barrier:2+static:2+dynamic:2"),
    ("comp-4", "cells:5+static:5+lu:5+tiles:5"),
    ("rand-1", "tree:10+farm:9"),
    ("rand-2", "locks:5+xz:5"),
    ("rand-3", "wavefront:5+zstd:4"),
    ("rand-4", "barrier:4+pigz:4"),
    ("rand-5", "locks:5+sqlite3"),
];

/// Why a bench cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum Unknown {
    /// There is none of this name.
    #[error("no such program: {0}")]
    Name(String),
    /// A program that is to run twice at the same time: its two times would have the same name.
    #[error("{0:?}: a program can be in a mix only once")]
    Twice(String),
    /// No number of threads.
    #[error("{0:?}: expected the number of its threads after the colon, 1 to 255, such as lu:4")]
    Threads(String),
    /// A number of threads for a program that has one.
    #[error("{0} always has one thread")]
    Serial(String),
    /// A number of threads for a program of the user's own that cannot be told it.
    #[error("{0:?}: the command of {1} has no {{threads}}, where the number of its threads would stand")]
    Untold(String, String),
    /// A program that is not on this machine.
    #[error("{0} is not installed, and the guest has what this machine has; on Debian: apt install {0}")]
    NotInstalled(String),
}

impl Bench {
    /// The bench of this name: that of a program, of a mix, or names of programs joined by `+`, each with its number of threads
    /// after a `:` if that is not the number of cores. The user's `own` programs have their names, too.
    ///
    /// # Errors
    /// There is none, or one of its programs is not installed.
    pub fn named(name: &str, own: &[Program]) -> Result<Self, Unknown> {
        let programs = MIXES.iter().find(|(mix, _)| *mix == name).map_or(name, |(_, programs)| *programs);
        let members: Result<Vec<Member>, Unknown> = programs.split('+').map(|name| Member::named(name, own)).collect();
        let bench = Self { name: name.to_owned(), members: members? };
        if bench.all().collect::<BTreeSet<_>>().len() < bench.members.len() {
            return Err(Unknown::Twice(name.to_owned()));
        }
        if let Some(program) = bench.all().find(|program| !program.is_here()) {
            return Err(Unknown::NotInstalled(program.name.to_string()));
        }
        Ok(bench)
    }

    /// What is measured where nothing else is said.
    pub fn usual() -> Vec<Self> {
        USUAL.iter().filter_map(|name| Self::named(name, &[]).ok()).collect()
    }

    /// All that can be measured here, and why the rest cannot.
    pub fn everything() -> (Vec<Self>, Vec<Unknown>) {
        let (mut benches, mut missing) = (Vec::new(), Vec::new());
        for name in Self::names() {
            match Self::named(name, &[]) {
                Ok(bench) => benches.push(bench),
                Err(why) => missing.push(why),
            }
        }
        (benches, missing)
    }

    /// Every name, but for those that join others.
    pub fn names() -> impl Iterator<Item = &'static str> {
        programs::PROGRAMS.iter().map(|program| &*program.name).chain(MIXES.iter().map(|(name, _)| *name))
    }

    /// Whether all that it does is compute, so that a recording says what it does elsewhere.
    pub(super) fn computes(&self) -> bool {
        self.all().all(|program| program.program_type == ProgramType::Computes)
    }

    /// Whether it is known how long it would take at best: its time measures how much its programs got done, and how many threads each
    /// of them has is known.
    pub(super) fn has_ideal(&self) -> bool {
        self.all().all(|program| program.program_type != ProgramType::Sleeps && !program.is_own())
    }

    /// Its program that measures how long threads waited to run.
    pub(super) fn waits(&self) -> Option<&str> {
        self.all().find(|program| program.program_type == ProgramType::Sleeps).map(|program| &*program.name)
    }

    /// What can do a part of its work, to warm up. For the user's own programs, which cannot, another one stands in.
    pub(super) fn warm_up(&self) -> Self {
        let stands_in = |member: &Member| match programs::find(CALIBRATED).filter(|_| member.program.is_own()) {
            Some(other) => Member { program: other.clone(), threads: member.threads },
            None => member.clone(),
        };
        Self { name: self.name.clone(), members: self.members.iter().map(stands_in).collect() }
    }

    /// How many of the machine's cores it can use.
    pub(super) fn uses(&self, spec: &Spec) -> u16 {
        let threads: usize = self.members.iter().map(|member| usize::from(member.threads(spec))).sum();
        threads.min(usize::from(spec.cores())) as u16
    }

    fn all(&self) -> impl Iterator<Item = &Program> {
        self.members.iter().map(|member| &member.program)
    }
}

impl Member {
    /// `name` is that of a program, or `lu:2`.
    fn named(name: &str, own: &[Program]) -> Result<Self, Unknown> {
        let (program, threads) =
            name.split_once(':').map_or((name, None), |(program, threads)| (program, Some(threads)));
        let found = programs::find(program).or_else(|| own.iter().find(|own| own.name == program));
        let program = found.ok_or_else(|| Unknown::Name(program.to_owned()))?.clone();
        let threads =
            threads.map(|threads| threads.parse().map_err(|_| Unknown::Threads(name.to_owned()))).transpose()?;
        match (program.is_serial(), threads) {
            (true, Some(_)) => Err(Unknown::Serial(program.name.into_owned())),
            (true, None) => Ok(Self { program, threads: Some(NonZeroU8::MIN) }),
            (false, Some(_)) if !program.takes_threads() => {
                Err(Unknown::Untold(name.to_owned(), program.name.into_owned()))
            }
            (false, threads) => Ok(Self { program, threads }),
        }
    }

    /// How many threads it has on a machine.
    pub(super) fn threads(&self, spec: &Spec) -> u16 {
        self.threads.map_or(spec.cores(), |threads| u16::from(threads.get()))
    }
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.program.name)?;
        match self.threads {
            Some(threads) if !self.program.is_serial() => write!(f, ":{threads}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn benches_are_programs_mixes_and_what_is_joined() {
        let own = [Program::own("app=./app -j{threads}").unwrap(), Program::own("other=make").unwrap()];
        let named =
            |name: &str| Bench::named(name, &own).unwrap().members.iter().map(Member::to_string).collect::<Vec<_>>();
        assert_eq!(named("two"), ["barrier", "pipeline"]);
        assert_eq!(named("lu+equal"), ["lu", "equal"]);
        assert_eq!(named("lu:2+equal"), ["lu:2", "equal"]);
        assert_eq!(named("app:3+lu+other"), ["app:3", "lu", "other"]);
        for bad in ["", "fast", "lu+", "two+lu", "lu,equal", "two:2"] {
            assert!(matches!(Bench::named(bad, &own), Err(Unknown::Name(_))), "{bad}");
        }
        for bad in ["lu:", "lu:0", "lu:256", "lu:2:2", "lu:-1"] {
            assert!(matches!(Bench::named(bad, &own), Err(Unknown::Threads(_))), "{bad}");
        }
        for bad in ["lu+lu", "lu:2+lu", "app:2+app"] {
            assert!(matches!(Bench::named(bad, &own), Err(Unknown::Twice(_))), "{bad}");
        }
        let refused = |name: &str| Bench::named(name, &own).unwrap_err().to_string();
        assert_eq!(refused("sqlite3:2"), "sqlite3 always has one thread");
        assert_eq!(
            refused("lu+other:2"),
            "\"other:2\": the command of other has no {threads}, where the number of its threads would stand"
        );
        assert_eq!(Bench::usual().len(), USUAL.len());
        let (here, missing) = Bench::everything();
        assert_eq!(here.len() + missing.len(), Bench::names().count());
    }

    #[test]
    fn names_are_unique_and_mixes_are_of_programs() {
        let mut names: Vec<&str> = Bench::names().collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        let members: Vec<Member> =
            MIXES.iter().flat_map(|(_, mix)| mix.split('+').map(|name| Member::named(name, &[]).unwrap())).collect();
        // Every program but those that measure the kernel is in a mix or is installed.
        let mixed = |program: &&Program| members.iter().any(|member| member.program == **program);
        assert!(programs::PROGRAMS.iter().filter(mixed).count() >= 10);
    }

    #[test]
    fn what_always_does_all_of_its_work_is_stood_in_for_and_has_no_ideal() {
        let bench = Bench::named("app:2+lu", &[Program::own("app=./app {threads}").unwrap()]).unwrap();
        let warm_up = bench.warm_up();
        assert_eq!(warm_up.members.iter().map(Member::to_string).collect::<Vec<_>>(), ["equal:2", "lu"]);
        assert!(!bench.has_ideal() && warm_up.has_ideal() && bench.computes());
    }

    /// As many threads as COLAB's table 4 has, but for what it draws at random.
    #[test]
    fn mixes_have_as_many_threads_as_those_of_the_paper() {
        let spec: Spec = "2B2S:3".parse().unwrap();
        let threads = |name: &str| -> Vec<u16> {
            (1..=4)
                .map(|number| Bench::named(&format!("{name}-{number}"), &[]).unwrap())
                .map(|bench| bench.members.iter().map(|member| member.threads(&spec)).sum())
                .collect()
        };
        assert_eq!(threads("sync"), [4, 18, 9, 20]);
        assert_eq!(threads("nsync"), [4, 16, 8, 20]);
        assert_eq!(threads("comm"), [4, 16, 9, 20]);
        assert_eq!(threads("comp"), [4, 17, 8, 20]);
        let uses = |name: &str, spec: &str| Bench::named(name, &[]).unwrap().uses(&spec.parse().unwrap());
        assert_eq!((uses("sync-1", "4B4S:3"), uses("sync-1", "1B1S:3"), uses("lu", "4B4S:3")), (4, 2, 8));
    }
}
