//! The measuring programs: small, real, and compiled here, or installed, or the user's own.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::Error;
use crate::quote;

/// A measuring program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Program {
    /// Its name, which it prints with its time.
    pub name: Cow<'static, str>,
    /// What it is like; of the user's own, the command.
    pub about: Cow<'static, str>,
    /// What its time measures.
    pub program_type: ProgramType,
    made: Made,
}

/// What a program's time measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProgramType {
    /// How fast it computes.
    Computes,
    /// How fast the kernel passes messages, which no recording has.
    Passes,
    /// Nothing, as it sleeps for a part of it. It prints how long its threads waited to run.
    Sleeps,
}

/// Where a program comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Made {
    /// C, with options for the compiler.
    Compiled(&'static str, &'static [&'static str]),
    /// A command that is installed, for a shell, with `{threads}` and `{steps}` (millions) in it, and how many bytes it reads for
    /// each million steps: about what takes as long in an emulator, and a third of it where one thread does all.
    Installed(&'static str, u64),
    /// The user's own: a command for a shell, which may have `{threads}` in it, reads nothing and always does the same work.
    Own(String),
}

/// What stands for the number of threads in a command.
const THREADS_HERE: &str = "{threads}";
/// Letters of a name that the user gives: it is to fit into a table, and into the name of a file.
const LONGEST_NAME: usize = 32;

const THREADS: &[&str] = &["-pthread"];
const OPENMP: &str = include_str!("../../../programs/omp.c");

const fn compiled(name: &'static str, about: &'static str, text: &'static str) -> Program {
    computes(name, about, Made::Compiled(text, THREADS))
}

const fn openmp(
    name: &'static str,
    about: &'static str,
    text: &'static str,
    options: &'static [&'static str],
) -> Program {
    computes(name, about, Made::Compiled(text, options))
}

const fn installed(name: &'static str, about: &'static str, command: &'static str, bytes: u64) -> Program {
    computes(name, about, Made::Installed(command, bytes))
}

const fn computes(name: &'static str, about: &'static str, made: Made) -> Program {
    Program { name: Cow::Borrowed(name), about: Cow::Borrowed(about), program_type: ProgramType::Computes, made }
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
        name: Cow::Borrowed("messages"),
        about: Cow::Borrowed("groups of processes that send to each other (as hackbench)"),
        program_type: ProgramType::Passes,
        made: Made::Compiled(include_str!("../../../programs/messages.c"), &["-Wno-unused-function"]),
    },
    Program {
        name: Cow::Borrowed("wakeup"),
        about: Cow::Borrowed("message threads wake workers (as schbench): how long until they run"),
        program_type: ProgramType::Sleeps,
        made: Made::Compiled(include_str!("../../../programs/wakeup.c"), THREADS),
    },
];

/// What compiled programs share, what runs the others, and what has several begin together.
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
    /// The user's own, `NAME=COMMAND`: a command for a shell, in which `{threads}` stands for the number of its threads.
    ///
    /// # Errors
    /// The name cannot stand in a mix, or there is no command.
    pub fn own(text: &str) -> Result<Self, String> {
        let (name, command) = text.split_once('=').ok_or("expected NAME=COMMAND")?;
        let fits = |letter: u8| letter.is_ascii_alphanumeric() || b"-_".contains(&letter);
        if !(1..=LONGEST_NAME).contains(&name.len()) || !name.bytes().all(fits) {
            return Err(format!("{name:?}: expected a name of 1 to {LONGEST_NAME} letters, digits, `-` and `_`"));
        }
        if command.trim().is_empty() {
            return Err(format!("{name}: expected a command after the `=`"));
        }
        let command = command.to_owned();
        Ok(Self {
            name: Cow::Owned(name.to_owned()),
            about: Cow::Owned(command.clone()),
            program_type: ProgramType::Computes,
            made: Made::Own(command),
        })
    }

    /// Whether it is the user's own: its time is from its start to its end, it always does the same work, and how many threads it has
    /// is not known.
    pub fn is_own(&self) -> bool {
        matches!(self.made, Made::Own(_))
    }

    /// Whether it can run here: it is compiled, or installed. The shell in the guest says whether the user's own can.
    pub fn is_here(&self) -> bool {
        match self.made {
            Made::Compiled(..) | Made::Own(_) => true,
            Made::Installed(..) => which::which(&*self.name).is_ok(),
        }
    }

    /// Whether it always has one thread.
    pub(super) fn is_serial(&self) -> bool {
        !self.is_own() && !self.takes_threads()
    }

    /// Whether it can be told how many threads to have.
    pub(super) fn takes_threads(&self) -> bool {
        match &self.made {
            Made::Compiled(..) => true,
            Made::Installed(command, _) => command.contains(THREADS_HERE),
            Made::Own(command) => command.contains(THREADS_HERE),
        }
    }

    /// Whether the core that it prints is the one on which it began: of an installed one it is that on which its first thread ended.
    pub(super) fn knows_where_it_began(&self) -> bool {
        matches!(self.made, Made::Compiled(..)) || self.is_serial()
    }

    /// The words of a shell that run it.
    pub(super) fn invocation(&self, folder: &Path, threads: u16, steps: u64) -> String {
        let told = |command: &str| command.replace(THREADS_HERE, &threads.to_string());
        let (bytes, command) = match &self.made {
            Made::Compiled(..) => return format!("{} {threads} {steps}", path(folder, &self.name).display()),
            Made::Installed(command, bytes) => (bytes * steps, told(command).replace("{steps}", &steps.to_string())),
            Made::Own(command) => (0, quote::line(["/bin/sh", "-c", told(command).as_str()])),
        };
        let (timed, input, errors) = (path(folder, "timed"), path(folder, "input"), errors(folder, &self.name));
        format!("{} {} {bytes} {} {command} 2>{}", timed.display(), self.name, input.display(), errors.display())
    }
}

/// Compiles programs into a folder, with what all of them need.
pub(super) fn compile(folder: &Path, programs: &BTreeSet<&Program>) -> Result<(), Error> {
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).map_err(Error::Folder);
    write("work.h", WORK)?;
    write("queue.h", QUEUE)?;
    let mut sources = vec![("together", TOGETHER, &[][..])];
    let mut timed = false;
    for program in programs.iter().copied().chain(find(CALIBRATED)).collect::<BTreeSet<_>>() {
        match &program.made {
            Made::Compiled(text, options) => sources.push((&*program.name, *text, *options)),
            Made::Installed(..) | Made::Own(_) => timed = true,
        }
    }
    if timed {
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
            return Err(Error::Refused { program: name.to_owned(), why });
        }
    }
    Ok(())
}

/// A command that has programs begin at the same moment, once all of them have been loaded, and waits for them.
pub(super) fn together(folder: &Path, invocations: impl Iterator<Item = String>) -> Vec<String> {
    std::iter::once(path(folder, "together").display().to_string()).chain(invocations).collect()
}

/// Where a compiled program is.
pub(super) fn path(folder: &Path, program: &str) -> PathBuf {
    folder.join(program)
}

/// What an installed program, or the user's own, has written to standard error in its last run.
pub(super) fn errors(folder: &Path, program: &str) -> PathBuf {
    folder.join(format!("{program}.stderr"))
}

#[cfg(test)]
mod tests {
    use super::super::output::{Output, tail};
    use super::*;

    #[test]
    fn an_installed_program_is_told_how_much_there_is_to_do() {
        let line = find("xz").unwrap().invocation(Path::new("/f"), 4, 3);
        assert_eq!(line, "/f/timed xz 9000 /f/input xz -1 -c -T4 --block-size=65536 2>/f/xz.stderr");
        assert!(find("sqlite3").unwrap().invocation(Path::new("/f"), 4, 3).contains("i < 3 * 160"));
        assert_eq!(find("equal").unwrap().invocation(Path::new("/f"), 2, 9), "/f/equal 2 9");
        let own = Program::own("app=cd sub && ./app -j{threads} n=1").unwrap();
        let line = own.invocation(Path::new("/f"), 4, 3);
        assert_eq!(line, "/f/timed app 0 /f/input /bin/sh -c 'cd sub && ./app -j4 n=1' 2>/f/app.stderr");
    }

    #[test]
    fn what_cannot_be_named_in_a_mix_or_does_nothing_is_no_program() {
        for (text, expected) in [
            ("app", "expected NAME=COMMAND"),
            ("=true", "\"\": expected a name"),
            ("a b=true", "\"a b\": expected a name"),
            ("a.core=true", "expected a name"),
            ("app:2=true", "expected a name"),
            ("a+b=true", "expected a name"),
            ("a,b=true", "expected a name"),
            ("app=", "app: expected a command"),
            ("app= ", "app: expected a command"),
        ] {
            let found = Program::own(text).unwrap_err();
            assert!(found.contains(expected), "{text}: {found}");
        }
        assert!(Program::own(&format!("{}=true", "a".repeat(33))).is_err());
    }

    #[test]
    fn a_program_that_fails_says_how_and_what_it_wrote() {
        let folder = crate::scratch::Scratch::new("own").unwrap();
        compile(folder.path(), &[&Program::own("app=true").unwrap()].into()).unwrap();
        let run = |text: &str| {
            let program = Program::own(text).unwrap();
            let words = together(folder.path(), std::iter::once(program.invocation(folder.path(), 2, 1)));
            let output = Command::new(&words[0]).args(&words[1..]).output().unwrap();
            let found = Output::of(&String::from_utf8_lossy(&output.stdout));
            (output.status.success(), found, tail(&errors(folder.path(), "app")))
        };
        // What it writes is no figure, and nothing is for it to read.
        let (success, found, wrote) = run("app=cat; echo app 7; sleep 0.0{threads}");
        assert!(success && (0.02..7.0).contains(&found.time("app").unwrap()) && found.failed().is_none(), "{found:?}");
        assert_eq!(wrote, "");
        let (success, found, wrote) = run("app=echo why >&2; exit 3");
        assert!(!success && found.time("app").is_err());
        assert_eq!((found.failed(), wrote.as_str()), (Some(("app", 3)), "why"));
        assert_eq!(run("app=kill -9 $$").1.failed(), Some(("app", 137)));
        let (_, found, wrote) = run("app=./no-such-program");
        assert!(found.failed() == Some(("app", 127)) && wrote.contains("no-such-program"), "{wrote}");
    }

    #[test]
    fn programs_begin_when_the_last_one_is_ready_or_has_ended() {
        let folder = crate::scratch::Scratch::new("together").unwrap();
        compile(folder.path(), &find("xz").into_iter().collect()).unwrap();
        let run = |members: &[&str]| {
            let words = together(folder.path(), members.iter().map(|&member| member.to_owned()));
            Command::new(&words[0]).args(&words[1..]).current_dir(folder.path()).output().unwrap()
        };
        let late = "sh -c 'sleep 0.2; touch loaded; exec ./equal 1 1'";
        let early = "./timed xz 1 input test -e loaded";
        assert!(!run(&[early, "./equal 1 1"]).status.success(), "nothing is loaded yet");
        let output = run(&[early, "false", late]);
        assert!(!output.status.success(), "one of them failed");
        let found = Output::of(&String::from_utf8_lossy(&output.stdout));
        assert!(found.time("xz").is_ok() && found.time("equal").is_ok(), "{output:?}");
        assert!(run(&[early, late]).status.success());
    }

    /// Every compiled program ends and prints what is read, whatever the number of its threads.
    #[test]
    fn programs_print_their_times() {
        let folder = crate::scratch::Scratch::new("programs").unwrap();
        let here: BTreeSet<&Program> = PROGRAMS.iter().filter(|program| program.is_here()).collect();
        compile(folder.path(), &here).unwrap();
        for (program, threads) in here.iter().flat_map(|program| [(*program, 1), (*program, 3)]) {
            let name = &program.name;
            let words = together(folder.path(), std::iter::once(program.invocation(folder.path(), threads, 1)));
            let output = Command::new(&words[0]).args(&words[1..]).output().unwrap();
            let found = Output::of(&String::from_utf8_lossy(&output.stdout));
            assert!(output.status.success() && found.time(name).is_ok(), "{words:?}: {output:?}");
            assert_eq!(found.figure(name, "p99").is_some(), program.program_type == ProgramType::Sleeps, "{name}");
        }
    }
}
