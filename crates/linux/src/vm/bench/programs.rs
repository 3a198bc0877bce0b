//! The measuring programs: small, real, and compiled here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::Error;

const HEADER: &str = include_str!("../../../programs/work.h");

/// A measuring program.
pub struct Program {
    /// Its name, which it prints with its time.
    pub name: &'static str,
    /// What it is like.
    pub about: &'static str,
    source: &'static str,
    flags: &'static [&'static str],
}

const OPENMP: &str = include_str!("../../../programs/omp.c");

/// Every program.
pub const PROGRAMS: &[Program] = &[
    Program {
        name: "equal",
        about: "equal threads that meet at the end",
        source: include_str!("../../../programs/equal.c"),
        flags: &["-pthread"],
    },
    Program {
        name: "barrier",
        about: "equal threads that meet at a barrier, ten times",
        source: include_str!("../../../programs/barrier.c"),
        flags: &["-pthread"],
    },
    Program {
        name: "static",
        about: "OpenMP loops, schedule(static)",
        source: OPENMP,
        flags: &["-fopenmp", "-Wno-unused-function", "-DSCHEDULE=static", "-DNAME=\"static\""],
    },
    Program {
        name: "dynamic",
        about: "OpenMP loops, schedule(dynamic)",
        source: OPENMP,
        flags: &["-fopenmp", "-Wno-unused-function", "-DSCHEDULE=dynamic", "-DNAME=\"dynamic\""],
    },
    Program {
        name: "pipeline",
        about: "stages with bounded queues, one of them twice as long",
        source: include_str!("../../../programs/pipeline.c"),
        flags: &["-pthread"],
    },
    Program {
        name: "locks",
        about: "a fifth of the work under one lock",
        source: include_str!("../../../programs/locks.c"),
        flags: &["-pthread"],
    },
];

/// What is measured: programs that run at the same time.
#[derive(Debug)]
pub struct Bench {
    /// Its name.
    pub name: &'static str,
    /// Its programs, by name.
    pub programs: &'static [&'static str],
}

/// Each program alone, and two and four of them together.
pub const BENCHES: &[Bench] = &[
    Bench { name: "equal", programs: &["equal"] },
    Bench { name: "barrier", programs: &["barrier"] },
    Bench { name: "static", programs: &["static"] },
    Bench { name: "dynamic", programs: &["dynamic"] },
    Bench { name: "pipeline", programs: &["pipeline"] },
    Bench { name: "locks", programs: &["locks"] },
    Bench { name: "two", programs: &["barrier", "pipeline"] },
    Bench { name: "four", programs: &["equal", "static", "pipeline", "locks"] },
];

/// Compiles all programs into a folder.
pub(super) fn compile(folder: &Path) -> Result<(), Error> {
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).map_err(Error::Folder);
    write("work.h", HEADER)?;
    for program in PROGRAMS {
        let source = format!("{}.c", program.name);
        write(&source, program.source)?;
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-o"]).arg(path(folder, program.name)).arg(folder.join(source)).args(program.flags);
        let output = compiler.output().map_err(Error::NoCompiler)?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
            return Err(Error::Refused { program: program.name, why });
        }
    }
    Ok(())
}

/// Where a compiled program is.
pub(super) fn path(folder: &Path, program: &str) -> PathBuf {
    folder.join(program)
}
