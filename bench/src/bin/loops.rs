//! OpenMP programs on a big and a little core, an emulated one at a third of the speed: how long they take if slow cores are given less of their loops, and
//! if the kernel, the program or another policy sees to that. Some are compiled here, others are real ones that are installed.
//!
//!     loops --evenkeel FILE --library FILE [--programs NAMES] [--rounds N] [--format json]
//!
//! In each round all take turns, and each time is divided by that of the program as it is, in the same round. On the cores of this machine, taken as equally fast, the
//! library has nothing to gain: there it is seen what it costs.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use clap::builder::PossibleValuesParser;
use clap::{Parser, ValueEnum};
use evenkeel_bench::spread;
use serde_json::{Value, json};

type Error = Box<dyn std::error::Error>;

#[derive(Parser)]
struct Args {
    /// The command.
    #[arg(long)]
    evenkeel: PathBuf,
    /// The library that is preloaded.
    #[arg(long)]
    library: PathBuf,
    /// Only these programs.
    #[arg(long, value_delimiter = ',', value_parser = PossibleValuesParser::new(COMPILED.iter().chain(&INSTALLED)))]
    programs: Vec<String>,
    /// Rounds, of which the median is shown with the least and the most.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Their sources are in `bench/loops`.
const COMPILED: [&str; 4] = ["stencil", "spmv", "cg", "lu"];
/// What runs them is in `bench/installed`.
const INSTALLED: [&str; 4] = ["gromacs", "imagemagick", "lightgbm", "scikit-learn"];
const COMPILERS: [&str; 2] = ["clang", "gcc"];
/// How a loop is scheduled.
const STATIC: &str = "static";
const DYNAMIC: &str = "dynamic, CHUNK";
/// The cores, which `emulate` and `run` are told.
const MACHINE: &str = "1B1L:3";
const CORES: [&str; 6] = ["--big", "0", "--little", "1", "--ratio", "3"];
/// Equal parts end when the little core, at a speed of 1, has done its half; all cores, at speeds of 3 and 1, do all of it in half of that time.
const IDEAL: f64 = 0.5;

/// How a program is run.
#[derive(Clone, Copy, PartialEq)]
enum How {
    Stock,
    Dynamic,
    Big,
    Pfs,
    Openmp,
    DynamicOpenmp,
    /// On cores that are not slowed down: as it is, and with the library.
    Equal,
    EqualOpenmp,
}

impl How {
    /// What its time is divided by.
    fn against(self) -> Self {
        match self {
            Self::Equal | Self::EqualOpenmp => Self::Equal,
            _ => Self::Stock,
        }
    }
}

const ALL: [(How, &str); 8] = [
    (How::Stock, "stock"),
    (How::Dynamic, "dynamic"),
    (How::Big, "big core"),
    (How::Pfs, "pfs"),
    (How::Openmp, "--openmp"),
    (How::DynamicOpenmp, "dynamic --openmp"),
    (How::Equal, "stock, equal cores"),
    (How::EqualOpenmp, "equal cores"),
];

/// What is shown of a program.
fn shown() -> impl Iterator<Item = &'static str> {
    ALL.into_iter().filter(|(how, _)| how.against() != *how).map(|(_, name)| name)
}

/// A program that can be run.
struct Program {
    name: &'static str,
    /// What it was compiled by, or that it is installed.
    from: &'static str,
    plain: PathBuf,
    /// The same with its loops dynamic, if that can be had.
    dynamic: Option<PathBuf>,
    /// Where it is run.
    folder: PathBuf,
}

impl Program {
    fn compiled(folder: &Path, compiler: &'static str, name: &'static str) -> Result<Self, Error> {
        let plain = compiled(folder, compiler, name, STATIC)?;
        let dynamic = Some(compiled(folder, compiler, name, DYNAMIC)?);
        Ok(Self { name, from: compiler, plain, dynamic, folder: folder.to_owned() })
    }

    /// One that is installed, with its input in a folder of its own.
    fn installed(folder: &Path, name: &'static str) -> Result<Self, Error> {
        let folder = folder.join(name);
        std::fs::create_dir_all(&folder)?;
        let plain = Path::new(env!("CARGO_MANIFEST_DIR")).join("installed").join(name);
        let prepared = Command::new(&plain).arg("prepare").current_dir(&folder).stdout(Stdio::null()).output()?;
        if !prepared.status.success() {
            let said = String::from_utf8_lossy(&prepared.stderr);
            return Err(format!("{name}: {}", said.lines().last().unwrap_or("it cannot be prepared")).into());
        }
        Ok(Self { name, from: "installed", plain, dynamic: None, folder })
    }

    fn command(&self, how: How) -> Option<&Path> {
        match how {
            How::Dynamic | How::DynamicOpenmp => self.dynamic.as_deref(),
            How::Stock | How::Big | How::Pfs | How::Openmp | How::Equal | How::EqualOpenmp => Some(&self.plain),
        }
    }
}

/// Compiles a program, in a folder that is thrown away.
fn compiled(folder: &Path, compiler: &str, program: &str, schedule: &str) -> Result<PathBuf, Error> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("loops").join(program).with_extension("c");
    let file = folder.join(format!("{program}-{compiler}-{}", if schedule == STATIC { "static" } else { "dynamic" }));
    let mut command = Command::new(compiler);
    command.args(["-O2", "-fopenmp", &format!("-DSCHEDULE={schedule}"), "-o"]).args([&file, &source]).arg("-lm");
    let built = command.stderr(Stdio::null()).status()?;
    if built.success() { Ok(file) } else { Err(format!("{compiler} cannot compile {}", source.display()).into()) }
}

/// Runs a program; returns how long that took, in s, and what it printed.
fn run(args: &Args, how: How, program: &Path, folder: &Path) -> Result<(f64, String), Error> {
    let mut command = match how {
        How::Equal | How::EqualOpenmp => Command::new("taskset"),
        _ => Command::new(&args.evenkeel),
    };
    // Fine slices, of which a region has many.
    let emulate = ["emulate", "--quiet", "--period", "300us", MACHINE, "--"];
    let both = ["-c", "0,1"];
    command.args(if how.against() == How::Equal { &both[..] } else { &emulate });
    match how {
        How::Stock | How::Dynamic | How::Equal => {}
        How::EqualOpenmp => _ = command.env("LD_PRELOAD", &args.library).env("EVENKEEL_OMP_CORES", "0=1,1=1"),
        How::Big => _ = command.args(["taskset", "-c", "0"]),
        How::Pfs => _ = command.arg(&args.evenkeel).args(["run", "--quiet", "--policy", "pfs"]).args(CORES).arg("--"),
        How::Openmp | How::DynamicOpenmp => {
            _ = command.arg(&args.evenkeel).args(["run", "--quiet", "--openmp"]).args(CORES).arg("--")
        }
    }
    // A thread that spins while it waits holds up the timers of an emulated core.
    command
        .arg(program)
        .current_dir(folder)
        .env("OMP_WAIT_POLICY", "passive")
        .env("EVENKEEL_OMP_LIBRARY", &args.library);
    let begin = Instant::now();
    let output = command.stderr(Stdio::inherit()).output()?;
    let took = begin.elapsed().as_secs_f64();
    if !output.status.success() {
        return Err(format!("{command:?}: {}", output.status).into());
    }
    Ok((took, String::from_utf8(output.stdout)?))
}

/// What came of a program.
fn measured(args: &Args, program: &Program) -> Result<Value, Error> {
    let mut seconds = Vec::new();
    let mut ratios = vec![Vec::new(); ALL.len()];
    for round in 0..=args.rounds.max(1) {
        let (mut stock, mut expected) = (0.0, None);
        for (nth, (how, name)) in ALL.into_iter().enumerate() {
            let Some(command) = program.command(how) else { continue };
            let (took, said) = run(args, how, command, &program.folder)?;
            let expected = expected.get_or_insert_with(|| said.clone());
            if said != *expected {
                let Program { name: what, from, .. } = program;
                return Err(format!("{what} ({from}), {name}: {said:?} instead of {expected:?}").into());
            }
            // Each comes before what is divided by it.
            if how.against() == how {
                stock = took;
            }
            // The first round brings files into memory.
            match how {
                _ if round == 0 => {}
                How::Stock => seconds.push(took),
                How::Equal => {}
                _ => ratios[nth].push(took / stock),
            }
        }
    }
    let against = |values: Vec<f64>| {
        let spread = spread(values);
        json!({ "median": spread.median, "min": spread.min, "max": spread.max })
    };
    let measured = ALL.into_iter().zip(ratios).filter(|(_, values)| !values.is_empty());
    let ratios: serde_json::Map<String, Value> =
        measured.map(|((_, name), values)| (name.to_owned(), against(values))).collect();
    Ok(json!({ "program": program.name, "from": program.from, "stock_s": against(seconds), "against_stock": ratios }))
}

fn row(found: &Value) -> String {
    let number = |at: &Value| at.as_f64().unwrap_or(f64::NAN);
    let text = |at: &Value| at.as_str().unwrap_or_default().to_owned();
    let mut row = format!("{:<12} {:<9}", text(&found["program"]), text(&found["from"]));
    row += &format!("{:>7.2} s", number(&found["stock_s"]["median"]));
    for name in shown() {
        let of = &found["against_stock"][name];
        row += &match of.is_null() {
            true => format!("  {:>5} {:11}", "", ""),
            false => {
                format!("  {:>5.2} ({:.2}-{:.2})", number(&of["median"]), number(&of["min"]), number(&of["max"]))
            }
        };
    }
    row
}

fn main() -> ExitCode {
    let args = Args::parse();
    let text = args.format == Format::Text;
    let folder = std::env::temp_dir().join(format!("evenkeel-loops-{}", std::process::id()));
    let result = (|| -> Result<(), Error> {
        std::fs::create_dir_all(&folder)?;
        if text {
            println!(
                "OpenMP programs on {MACHINE}, time against that of the program as it is (all cores could do {IDEAL}); on equal cores with the \
                 library against without"
            );
            print!("{:<12} {:<9}{:>9}", "program", "from", "stock");
            for name in shown() {
                print!("  {name:<17}");
            }
            println!();
        }
        let wanted = |name: &&str| args.programs.is_empty() || args.programs.iter().any(|one| one == name);
        let compiled =
            COMPILERS.into_iter().flat_map(|by| COMPILED.into_iter().filter(wanted).map(move |name| (by, name)));
        let compiled = compiled.map(|(by, name)| Program::compiled(&folder, by, name));
        let installed = INSTALLED.into_iter().filter(wanted).map(|name| Program::installed(&folder, name));
        let mut all = Vec::new();
        for program in compiled.chain(installed) {
            let program = match program {
                Ok(program) => program,
                Err(why) => {
                    eprintln!("skipped: {why}");
                    continue;
                }
            };
            let found = measured(&args, &program)?;
            if text {
                println!("{}", row(&found));
            }
            all.push(found);
        }
        if !text {
            println!(
                "{}",
                serde_json::to_string_pretty(&json!({ "machine": MACHINE, "ideal": IDEAL, "programs": all }))?
            );
        }
        Ok(())
    })();
    let _ = std::fs::remove_dir_all(&folder);
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
