//! The measuring programs: small, real, and compiled here, or installed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::Error;
use crate::quote;

/// A measuring program.
#[derive(Debug)]
pub struct Program {
    /// Its name, which it prints with its time.
    pub name: &'static str,
    /// What it is like.
    pub about: &'static str,
    /// What its time measures.
    pub program_type: ProgramType,
    made: Made,
}

/// What a program's time measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramType {
    /// How fast it computes.
    Computes,
    /// How fast the kernel passes messages, which no recording has.
    Passes,
    /// Nothing, as it sleeps for a part of it. It prints how long its threads waited to run.
    Sleeps,
}

/// Where a program comes from.
#[derive(Debug)]
enum Made {
    /// C, with options for the compiler.
    Compiled(&'static str, &'static [&'static str]),
    /// A command that is installed, for a shell, with `{threads}` and `{steps}` (millions) in it, and how many bytes it reads for
    /// each million steps: about what takes as long in an emulator, and a third of it where one thread does all.
    Installed(&'static str, u64),
}

const THREADS: &[&str] = &["-pthread"];
const OPENMP: &str = include_str!("../../../programs/omp.c");

const fn compiled(name: &'static str, about: &'static str, text: &'static str) -> Program {
    Program { name, about, program_type: ProgramType::Computes, made: Made::Compiled(text, THREADS) }
}

const fn openmp(
    name: &'static str,
    about: &'static str,
    text: &'static str,
    options: &'static [&'static str],
) -> Program {
    Program { name, about, program_type: ProgramType::Computes, made: Made::Compiled(text, options) }
}

const fn installed(name: &'static str, about: &'static str, command: &'static str, bytes: u64) -> Program {
    Program { name, about, program_type: ProgramType::Computes, made: Made::Installed(command, bytes) }
}

/// Every program.
pub const PROGRAMS: &[Program] = &[
    compiled("equal", "equal threads that meet at the end", include_str!("../../../programs/equal.c")),
    compiled("barrier", "equal threads that meet at a barrier, ten times", include_str!("../../../programs/barrier.c")),
    openmp(
        "static",
        "OpenMP loops, schedule(static)",
        OPENMP,
        &["-fopenmp", "-Wno-unused-function", "-DSCHEDULE=static", "-DNAME=\"static\""],
    ),
    openmp(
        "dynamic",
        "OpenMP loops, schedule(dynamic)",
        OPENMP,
        &["-fopenmp", "-Wno-unused-function", "-DSCHEDULE=dynamic", "-DNAME=\"dynamic\""],
    ),
    compiled(
        "pipeline",
        "stages with bounded queues, one of them twice as long",
        include_str!("../../../programs/pipeline.c"),
    ),
    compiled("locks", "a fifth of the work under one lock", include_str!("../../../programs/locks.c")),
    compiled(
        "cells",
        "many locks, short sections, frames (as fluidanimate)",
        include_str!("../../../programs/cells.c"),
    ),
    compiled("farm", "a reader, workers and a writer (as dedup)", include_str!("../../../programs/farm.c")),
    compiled(
        "wavefront",
        "rows whose blocks wait for those above (as x264)",
        include_str!("../../../programs/wavefront.c"),
    ),
    compiled("phases", "serial and parallel phases in turn (as bodytrack)", include_str!("../../../programs/phases.c")),
    compiled("uneven", "unequal shares and barriers (as water)", include_str!("../../../programs/uneven.c")),
    compiled("lu", "a shrinking matrix and barriers (as lu)", include_str!("../../../programs/lu.c")),
    compiled("tiles", "unequal tasks from one list (as raytrace)", include_str!("../../../programs/tiles.c")),
    openmp(
        "tree",
        "OpenMP tasks that fork and join (as cilksort)",
        include_str!("../../../programs/tree.c"),
        &["-fopenmp"],
    ),
    installed("xz", "xz, blocks in parallel", "xz -1 -c -T{threads} --block-size=65536", 3_000),
    installed("zstd", "zstd, blocks in parallel", "zstd -q -c -3 -T{threads} -B524288", 20_000),
    installed("pigz", "pigz, blocks in parallel", "pigz -c -p {threads}", 10_000),
    installed("openssl", "a hash, by one thread", "openssl dgst -sha256", 12_000),
    installed(
        "sqlite3",
        "a query, by one thread",
        "sqlite3 :memory: 'WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < {steps} * 160) \
         SELECT sum(i * 7 % 13) FROM c'",
        0,
    ),
    Program {
        name: "messages",
        about: "groups of processes that send to each other (as hackbench)",
        program_type: ProgramType::Passes,
        made: Made::Compiled(include_str!("../../../programs/messages.c"), &["-Wno-unused-function"]),
    },
    Program {
        name: "wakeup",
        about: "message threads wake workers (as schbench): how long until they run",
        program_type: ProgramType::Sleeps,
        made: Made::Compiled(include_str!("../../../programs/wakeup.c"), THREADS),
    },
];

/// What compiled programs share, what runs installed ones, and what has several begin together.
const WORK: &str = include_str!("../../../programs/work.h");
const QUEUE: &str = include_str!("../../../programs/queue.h");
const TIMED: &str = include_str!("../../../programs/timed.c");
const TOGETHER: &str = include_str!("../../../programs/together.c");

/// The program by which a core's speed is measured.
pub(super) const CALIBRATED: &str = "equal";

/// The program of this name.
pub fn find(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.name == name)
}

impl Program {
    /// Whether it can run here: it is compiled, or installed.
    pub fn is_here(&self) -> bool {
        match self.made {
            Made::Compiled(..) => true,
            Made::Installed(..) => which::which(self.name).is_ok(),
        }
    }

    /// Whether it always has one thread.
    pub(super) fn is_serial(&self) -> bool {
        matches!(self.made, Made::Installed(command, _) if !command.contains("{threads}"))
    }

    /// Whether the core that it prints is the one on which it began: of an installed one it is that on which its first thread ended.
    pub(super) fn knows_where_it_began(&self) -> bool {
        matches!(self.made, Made::Compiled(..)) || self.is_serial()
    }

    /// The words of a shell that run it.
    pub(super) fn invocation(&self, folder: &Path, threads: u16, steps: u64) -> String {
        match self.made {
            Made::Compiled(..) => format!("{} {threads} {steps}", path(folder, self.name).display()),
            Made::Installed(command, bytes) => {
                let command = command.replace("{threads}", &threads.to_string());
                let command = command.replace("{steps}", &steps.to_string());
                let (timed, name) = (path(folder, "timed"), self.name);
                format!("{} {name} {} {} {command}", timed.display(), bytes * steps, path(folder, "input").display())
            }
        }
    }
}

/// Compiles programs into a folder, with what all of them need.
pub(super) fn compile(folder: &Path, programs: &BTreeSet<&'static str>) -> Result<(), Error> {
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).map_err(Error::Folder);
    write("work.h", WORK)?;
    write("queue.h", QUEUE)?;
    let mut sources = vec![("together", TOGETHER, &[][..])];
    let mut feeds = false;
    for program in programs.iter().copied().chain([CALIBRATED]).collect::<BTreeSet<_>>().into_iter().filter_map(find) {
        match program.made {
            Made::Compiled(text, options) => sources.push((program.name, text, options)),
            Made::Installed(..) => feeds = true,
        }
    }
    if feeds {
        sources.push(("timed", TIMED, &["-Wno-unused-function"]));
        // This program's own file stands for data that people compress.
        let program = std::env::current_exe().map_err(Error::Folder)?;
        std::os::unix::fs::symlink(program, folder.join("input")).map_err(Error::Folder)?;
    }
    for (name, text, options) in sources {
        let source = format!("{name}.c");
        write(&source, text)?;
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-o"]).arg(path(folder, name)).arg(folder.join(source)).args(options);
        let output = compiler.output().map_err(Error::NoCompiler)?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
            return Err(Error::Refused { program: name, why });
        }
    }
    Ok(())
}

/// A shell's line that has programs begin at the same moment, once all of them have been loaded, and waits for them. OpenMP's threads wait
/// passively: spinning ones would hold the emulator's lock, and the guest's timers with it.
pub(super) fn together(folder: &Path, invocations: impl Iterator<Item = String>) -> String {
    let words = quote::line(invocations);
    format!("OMP_WAIT_POLICY=passive {} {words}", path(folder, "together").display())
}

/// Where a compiled program is.
pub(super) fn path(folder: &Path, program: &str) -> PathBuf {
    folder.join(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installed_program_is_told_how_much_there_is_to_do() {
        let line = find("xz").unwrap().invocation(Path::new("/f"), 4, 3);
        assert_eq!(line, "/f/timed xz 9000 /f/input xz -1 -c -T4 --block-size=65536");
        assert!(find("sqlite3").unwrap().invocation(Path::new("/f"), 4, 3).contains("i < 3 * 160"));
        assert_eq!(find("equal").unwrap().invocation(Path::new("/f"), 2, 9), "/f/equal 2 9");
    }

    #[test]
    fn programs_begin_when_the_last_one_is_ready_or_has_ended() {
        let folder = crate::scratch::Scratch::new("together").unwrap();
        compile(folder.path(), &["xz"].into()).unwrap();
        let run = |members: &[&str]| {
            let line = together(folder.path(), members.iter().map(|&member| member.to_owned()));
            Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap()
        };
        let late = "sh -c 'sleep 0.2; touch loaded; exec ./equal 1 1'";
        let early = "./timed xz 1 input test -e loaded";
        assert!(!run(&[early, "./equal 1 1"]).status.success(), "nothing is loaded yet");
        let output = run(&[early, "false", late]);
        assert!(!output.status.success(), "one of them failed");
        let found = super::super::output::Output::of(&String::from_utf8_lossy(&output.stdout));
        assert!(found.time("xz").is_ok() && found.time("equal").is_ok(), "{output:?}");
        assert!(run(&[early, late]).status.success());
    }

    /// Every compiled program ends and prints what is read, whatever the number of its threads.
    #[test]
    fn programs_print_their_times() {
        let folder = crate::scratch::Scratch::new("programs").unwrap();
        let here: BTreeSet<&str> =
            PROGRAMS.iter().filter(|program| program.is_here()).map(|program| program.name).collect();
        compile(folder.path(), &here).unwrap();
        for (name, threads) in here.iter().flat_map(|name| [(*name, 1), (*name, 3)]) {
            let program = find(name).unwrap();
            let line = together(folder.path(), std::iter::once(program.invocation(folder.path(), threads, 1)));
            let output = Command::new("sh").args(["-c", &line]).output().unwrap();
            let found = super::super::output::Output::of(&String::from_utf8_lossy(&output.stdout));
            assert!(output.status.success() && found.time(name).is_ok(), "{line}: {output:?}");
            assert_eq!(found.figure(name, "p99").is_some(), program.program_type == ProgramType::Sleeps, "{name}");
        }
    }
}
