//! Pacing, sprinting and mugging on a big and a little core whose frequencies can be set, each technique alone and together, beside the first-order model,
//! simulated workers and the paper (Torng et al., ISCA 2016).
//!
//!     dvfs --evenkeel PROGRAM [--rounds N] [--period TIME] [--format json] [CASE...]
//!
//! Each run is a program of its own under `evenkeel emulate 1B1L --dvfs`, whose account has the power. Techniques take turns within a round.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

mod case;
mod predict;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use evenkeel_bench::{Spread, spread};
use evenkeel_model::stealing::Techniques;
use evenkeel_runtime::{PoolBuilder, this_machine};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::{Value, json};

use case::{CASES, Case, spin};
use predict::Figure;

type Error = Box<dyn std::error::Error>;

/// Frequencies that are set: pacing, sprinting and mugging on two emulated cores.
#[derive(Parser)]
struct Options {
    /// Only these cases, by their names
    #[arg(value_parser = CASES.map(Case::name))]
    cases: Vec<String>,
    /// The program `evenkeel`
    #[arg(long, value_name = "PROGRAM", required_unless_present_any = ["run", "latency"])]
    evenkeel: Option<PathBuf>,
    /// How often each technique runs each case
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// The cycle of the emulation
    #[arg(long, default_value = "1ms")]
    period: String,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Run a case by these techniques, on the machine that there is, and print the seconds
    #[arg(long, hide = true)]
    run: Option<String>,
    /// The work of a coarse task
    #[arg(long, hide = true, default_value_t = 0)]
    steps: u64,
    /// Print how long it takes until a frequency is set, in microseconds
    #[arg(long, hide = true)]
    latency: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// What is compared, with the first of them.
const TECHNIQUES: [&str; 7] = ["base", "none", "base+p", "base+s", "base+m", "base+ps", "base+psm"];
/// A coarse task takes this long on a big core at its nominal frequency.
const TASK: Duration = Duration::from_millis(150);
/// The nominal frequency over the highest one: 333 of 554.4 MHz.
const NOMINAL_SHARE: f64 = 333.0 / 554.4;

/// What the paper says of eight cores (4B4L) where it says a number: speedup over `base`.
fn paper(case: &str, techniques: &str) -> Option<&'static str> {
    match (case, techniques) {
        ("loop", "base+p" | "base+ps" | "base+psm") => Some("1.10 (all active, II.C)"),
        ("radix-2", "base+psm") => Some("1.32 (24 % less time, V.B)"),
        ("cilksort", "base+psm") => Some("1.02 to 1.32 (any kernel, V)"),
        _ => None,
    }
}

fn only(cpu: u16) -> CpuSet {
    let mut mask = CpuSet::new();
    mask.set(usize::from(cpu));
    mask
}

/// Runs a case on the machine that there is.
fn child(techniques: &str, options: &Options) -> Result<(), Error> {
    let techniques: Techniques = techniques.parse().map_err(|_| "no such techniques")?;
    let name = options.cases.first().ok_or("expected a case")?;
    let case = CASES.into_iter().find(|case| case.name() == name).ok_or("no such case")?;
    let machine = this_machine()?;
    let big = *machine.cpus_of(0).first().ok_or("no big core")?;
    // Turns are not the paper's.
    let pool = PoolBuilder::new().cores(machine).techniques(techniques).turns(false).build()?;
    if let Some(missing) = pool.missing().first() {
        return Err(missing.to_string().into());
    }
    // Outside of parallel regions the paper's thread 0 is on a big core (III.B).
    sched_setaffinity(None, &only(big))?;
    let run = case.ready(options.steps)?;
    let begin = Instant::now();
    run(&pool);
    println!("{}", begin.elapsed().as_secs_f64());
    Ok(())
}

/// How long it takes from a write of `scaling_setspeed` until the files say that the core has the frequency, which they do when it has.
fn latency() -> Result<(), Error> {
    let machine = this_machine()?;
    let (big, little) = (machine.cpus_of(0)[0], machine.cpus_of(machine.kinds.len() - 1)[0]);
    sched_setaffinity(None, &only(big))?;
    let files = |cpu: u16| evenkeel_topology::root().join(format!("sys/devices/system/cpu/cpu{cpu}/cpufreq"));
    let set = |cpu: u16, khz: &str| -> Result<f64, Error> {
        let begin = Instant::now();
        fs::write(files(cpu).join("scaling_setspeed"), khz)?;
        while fs::read_to_string(files(cpu).join("scaling_cur_freq"))?.trim() != khz {}
        Ok(begin.elapsed().as_secs_f64() * 1e6)
    };
    // At its highest frequency the big core is not occupied.
    set(big, "554400")?;
    let times = (0..200).map(|round| set(little, ["111600", "554400"][round % 2])).collect::<Result<Vec<_>, _>>()?;
    println!("{}", serde_json::to_string(&times)?);
    Ok(())
}

/// Runs this program under the emulation, and returns what it printed and the account.
fn emulated(options: &Options, arguments: &[&str]) -> Result<(Value, Value), Error> {
    let account = std::env::temp_dir().join(format!("evenkeel-bench-dvfs-{}.json", std::process::id()));
    let evenkeel = options.evenkeel.as_deref().unwrap_or(Path::new("evenkeel"));
    let mut command = Command::new(evenkeel);
    command.args(["emulate", "1B1L", "--dvfs=aaws-4B4L", "--period", &options.period, "--format", "json", "-o"]);
    let output = command.arg(&account).arg("--").arg(std::env::current_exe()?).args(arguments).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(said.into_owned().into());
    }
    // Such as that a core was not as fast as it should have been.
    said.lines().filter(|line| line.starts_with("warning")).for_each(|line| eprintln!("{line}"));
    let text = fs::read_to_string(&account)?;
    fs::remove_file(&account)?;
    Ok((serde_json::from_slice(&output.stdout)?, serde_json::from_str(&text)?))
}

fn measured(options: &Options, case: Case, techniques: &str, steps: u64) -> Result<Figure, Error> {
    let (seconds, account) = emulated(options, &["--run", techniques, "--steps", &steps.to_string(), case.name()])?;
    let powers = account["clocks"].as_array().ok_or("the account has no clocks")?;
    let watts = powers.iter().filter_map(|clock| clock["power_w"].as_f64()).sum();
    Ok(Figure { seconds: seconds.as_f64().ok_or("no time")?, watts })
}

/// Steps a second on a core that nothing slows down.
fn speed() -> f64 {
    let (begin, mut steps) = (Instant::now(), 0_u64);
    while begin.elapsed() < 4 * TASK {
        spin(20_000);
        steps += 20_000;
    }
    steps as f64 / begin.elapsed().as_secs_f64()
}

/// One technique on one case.
struct Row {
    techniques: &'static str,
    /// Against `base` of the same round.
    speedup: Spread,
    watts: Spread,
    model: Option<[f64; 2]>,
    simulated: [f64; 2],
}

fn rows(options: &Options, case: Case, steps: u64) -> Result<Vec<Row>, Error> {
    let machine = predict::machine()?;
    let mut found: BTreeMap<&str, Vec<Figure>> = BTreeMap::new();
    for _ in 0..options.rounds {
        for name in TECHNIQUES {
            found.entry(name).or_default().push(measured(options, case, name, steps)?);
        }
    }
    let parsed = |name: &str| name.parse::<Techniques>().map_err(|_| format!("no techniques {name}"));
    let against = |base: Figure, figure: Figure| [base.seconds / figure.seconds, figure.watts];
    let base = parsed("base")?;
    let (model_base, simulated_base) =
        (predict::model(&machine, case, base), predict::simulated(&machine, case, base)?);
    let row = |techniques: &'static str| -> Result<Row, Error> {
        let (name, figures) = (parsed(techniques)?, &found[techniques]);
        let pairs = found["base"].iter().zip(figures);
        Ok(Row {
            techniques,
            speedup: spread(pairs.map(|(base, figure)| base.seconds / figure.seconds).collect()),
            watts: spread(figures.iter().map(|figure| figure.watts).collect()),
            model: model_base.zip(predict::model(&machine, case, name)).map(|(base, figure)| against(base, figure)),
            simulated: against(simulated_base, predict::simulated(&machine, case, name)?),
        })
    };
    TECHNIQUES.into_iter().map(row).collect()
}

fn print(case: Case, rows: &[Row]) {
    println!("\n{:14}{:>24}{:>12}{:>12}   paper, 4B4L", case.name(), "real cores", "simulated", "model");
    for row in rows {
        let Spread { min, median, max } = row.speedup;
        let real = format!("{median:.2} ({min:.2} to {max:.2})");
        let milliwatts = |watts: f64| format!("{:.0} mW", watts * 1e3);
        let model = row.model.map_or("-".into(), |[speedup, _]| format!("{speedup:.2}"));
        let paper = paper(case.name(), row.techniques).unwrap_or("-");
        println!("  {:12}{real:>24}{:>12.2}{model:>12}   {paper}", row.techniques, row.simulated[0]);
        let model = row.model.map_or("-".into(), |[_, watts]| milliwatts(watts));
        println!("  {:12}{:>24}{:>12}{model:>12}", "", milliwatts(row.watts.median), milliwatts(row.simulated[1]));
    }
}

fn document(case: Case, rows: &[Row]) -> Value {
    let of = |of: &Spread| json!([of.min, of.median, of.max]);
    let figure = |[speedup, watts]: [f64; 2]| json!({"speedup": speedup, "power_w": watts});
    let row = |row: &Row| {
        json!({
            "techniques": row.techniques, "speedup": of(&row.speedup), "power_w": of(&row.watts),
            "model": row.model.map(figure), "simulated": figure(row.simulated), "paper": paper(case.name(), row.techniques),
        })
    };
    json!({"case": case.name(), "rows": rows.iter().map(row).collect::<Vec<_>>()})
}

fn run(options: &Options) -> Result<(), Error> {
    if let Some(techniques) = &options.run {
        return child(techniques, options);
    }
    if options.latency {
        return latency();
    }
    let steps = (speed() * NOMINAL_SHARE * TASK.as_secs_f64()) as u64;
    let (times, _) = emulated(options, &["--latency"])?;
    let times: Vec<f64> = times.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    if times.is_empty() {
        return Err("no frequency was set".into());
    }
    let latency = spread(times);
    let chosen = |case: &Case| options.cases.is_empty() || options.cases.iter().any(|name| name == case.name());
    let (rounds, text) = (options.rounds, matches!(options.format, Format::Text));
    if text {
        println!(
            "speedup over base, and power by the machine file, of one big and one little core of aaws-4B4L; median (least to most) of {rounds} rounds, \
             cycles of {}",
            options.period
        );
        println!("a frequency is set in {:.0} us ({:.0} to {:.0})", latency.median, latency.min, latency.max);
    }
    let mut documents = Vec::new();
    for case in CASES.into_iter().filter(chosen) {
        let rows = rows(options, case, steps)?;
        if text {
            print(case, &rows);
        } else {
            documents.push(document(case, &rows));
        }
    }
    if !text {
        let latency = [latency.min, latency.median, latency.max];
        println!("{}", json!({"rounds": rounds, "period": options.period, "set_us": latency, "cases": documents}));
    }
    Ok(())
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dvfs: {error}");
            ExitCode::FAILURE
        }
    }
}
