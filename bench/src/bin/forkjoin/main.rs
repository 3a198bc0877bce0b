//! What a join costs: Evenkeel, Rayon and chili, in turn in one process, against plain calls, and against the C++ libraries of bench/peers,
//! each in a process of its own. Then how soon another worker of Evenkeel's and of Rayon's takes what a join leaves to it.
//!
//!     forkjoin [--rounds N] [--format json] [--peer NAME=PROGRAM]...

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

mod programs;
mod steal;

use std::env;
use std::error::Error;
use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::time::Instant;

use evenkeel_bench::{Spread, spread};
use serde_json::json;

use crate::programs::{Evenkeel, PROGRAMS, Plain, Program, Rayon, chili_fib, chili_skynet, fib, skynet};
use crate::steal::Before;

/// What a program returned, and the seconds that it took.
type Outcome = Result<(u64, f64), Box<dyn Error>>;

struct Contender<'a> {
    name: &'a str,
    threads: usize,
    /// Runs a program once.
    run: Box<dyn Fn(Program) -> Outcome + 'a>,
}

struct Pools {
    threads: usize,
    evenkeel: evenkeel_runtime::Pool,
    rayon: rayon::ThreadPool,
    chili: chili::ThreadPool,
}

impl Pools {
    fn new(threads: usize) -> Result<Pools, Box<dyn Error>> {
        Ok(Pools {
            threads,
            evenkeel: evenkeel_runtime::Pool::new(threads)?,
            rayon: rayon::ThreadPoolBuilder::new().num_threads(threads).build()?,
            chili: chili::ThreadPool::with_config(chili::Config {
                thread_count: std::num::NonZero::new(threads),
                ..Default::default()
            }),
        })
    }

    /// How soon another worker takes the second half of a join, in ns: of Evenkeel's and of Rayon's.
    fn first_steals(&self, before: Before) -> [(&'static str, f64); 2] {
        [
            ("evenkeel", steal::measure(Evenkeel, |does| self.evenkeel.install(does), before)),
            ("rayon", steal::measure(Rayon, |does| self.rayon.install(does), before)),
        ]
    }

    fn contenders(&self) -> [Contender<'_>; 3] {
        let threads = self.threads;
        [
            here(
                "evenkeel",
                threads,
                |n| self.evenkeel.install(|| fib(Evenkeel, n)),
                |n| self.evenkeel.install(|| skynet(Evenkeel, 0, n)),
            ),
            here(
                "rayon",
                threads,
                |n| self.rayon.install(|| fib(Rayon, n)),
                |n| self.rayon.install(|| skynet(Rayon, 0, n)),
            ),
            here(
                "chili",
                threads,
                |n| chili_fib(&mut self.chili.scope(), n),
                |n| chili_skynet(&mut self.chili.scope(), 0, n),
            ),
        ]
    }
}

/// One in this process.
fn here<'a>(
    name: &'a str,
    threads: usize,
    fib: impl Fn(u64) -> u64 + 'a,
    skynet: impl Fn(u64) -> u64 + 'a,
) -> Contender<'a> {
    let run = move |program: Program| {
        let size = black_box(program.size());
        let start = Instant::now();
        let value = match program {
            Program::Fib => fib(size),
            Program::Skynet => skynet(size),
        };
        Ok((value, start.elapsed().as_secs_f64()))
    };
    Contender { name, threads, run: Box::new(run) }
}

/// A program of bench/peers, which is started for each round and prints the result and the seconds.
fn peer<'a>(name: &'a str, path: &'a str, threads: usize) -> Contender<'a> {
    let run = move |program: Program| {
        let output = Command::new(path)
            .args([program.name(), &program.size().to_string(), &threads.to_string()])
            .output()
            .map_err(|error| format!("{path}: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        match text.split_whitespace().collect::<Vec<_>>()[..] {
            [value, seconds] if output.status.success() => Ok((value.parse()?, seconds.parse()?)),
            _ => Err(format!("{path}: {}; {text}{}", output.status, String::from_utf8_lossy(&output.stderr)).into()),
        }
    };
    Contender { name, threads, run: Box::new(run) }
}

impl Contender<'_> {
    /// Nanoseconds a join.
    fn measure(&self, program: Program) -> Result<f64, Box<dyn Error>> {
        let (value, seconds) = (self.run)(program)?;
        if value != program.value() {
            return Err(format!("{} of {} is {value}", program.name(), self.name).into());
        }
        Ok(seconds * 1e9 / program.joins() as f64)
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let (mut rounds, mut json, mut peers) = (21, false, Vec::new());
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next();
        match (argument.as_str(), value.as_deref()) {
            ("--rounds", Some(value)) => rounds = value.parse::<usize>()?.max(1),
            ("--format", Some("json")) => json = true,
            ("--peer", Some(value)) if value.contains('=') => peers.push(value.to_owned()),
            _ => return Err("usage: forkjoin [--rounds N] [--format json] [--peer NAME=PROGRAM]...".into()),
        }
    }
    let cores = std::thread::available_parallelism()?.get();
    let mut sizes = vec![1, 2, cores];
    sizes.retain(|&size| size <= cores);
    sizes.dedup();
    let pools = sizes.into_iter().map(Pools::new).collect::<Result<Vec<_>, _>>()?;
    let mut contenders = vec![here("plain", 1, |n| fib(Plain, n), |n| skynet(Plain, 0, n))];
    for pools in &pools {
        contenders.extend(pools.contenders());
        let peers = peers.iter().filter_map(|peer| peer.split_once('='));
        contenders.extend(peers.map(|(name, path)| peer(name, path, pools.threads)));
    }

    let mut times = vec![[Vec::new(), Vec::new()]; contenders.len()];
    // In turn, so that a slow moment hits all of them; the first round warms up.
    for round in 0..=rounds {
        for (contender, times) in contenders.iter().zip(&mut times) {
            for (program, times) in PROGRAMS.into_iter().zip(times) {
                let time = contender.measure(program)?;
                if round > 0 {
                    times.push(time);
                }
            }
        }
    }

    let mut steals: Vec<(Before, &str, Vec<f64>)> = Vec::new();
    // One thread alone has no other that takes anything.
    for pools in pools.iter().filter(|pools| pools.threads == cores && cores > 1) {
        for round in 0..=rounds {
            for before in Before::ALL {
                for (name, time) in pools.first_steals(before) {
                    match steals.iter_mut().find(|row| (row.0, row.1) == (before, name)) {
                        None => steals.push((before, name, Vec::new())),
                        Some((.., times)) if round > 0 => times.push(time),
                        Some(_) => {}
                    }
                }
            }
        }
    }
    let steals: Vec<_> = steals.into_iter().map(|(before, name, times)| (before.name(), name, spread(times))).collect();

    let mut rows = Vec::new();
    for (pick, program) in PROGRAMS.into_iter().enumerate() {
        let of = |index: usize| &times[index][pick];
        for (index, contender) in contenders.iter().enumerate() {
            let rayon = contenders.iter().position(|other| other.name == "rayon" && other.threads == contender.threads);
            // Within each round, so that the ratio does not mix a slow moment with a fast one.
            let against =
                |other: usize| spread(of(other).iter().zip(of(index)).map(|(theirs, own)| theirs / own).collect());
            rows.push((
                program.name(),
                contender.name,
                contender.threads,
                spread(of(index).clone()),
                rayon.map(against),
            ));
        }
    }
    if json {
        let values = |spread: &Spread| json!({ "min": spread.min, "median": spread.median, "max": spread.max });
        let steals: Vec<_> = steals
            .iter()
            .map(|(before, name, time)| json!({ "others": before, "pool": name, "ns": values(time) }))
            .collect();
        let rows: Vec<_> = rows
            .iter()
            .map(|(program, name, threads, time, ratio)| {
                json!({
                    "program": program, "pool": name, "threads": threads,
                    "ns_per_join": values(time), "times_faster_than_rayon": ratio.as_ref().map(values),
                })
            })
            .collect();
        let all = json!({ "cores": cores, "rounds": rounds, "rows": rows, "first_steals": steals });
        println!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(());
    }
    println!(
        "What a join costs: fib({}), and skynet with {} leaves; {rounds} rounds in turn, {cores} cores here",
        Program::Fib.size(),
        Program::Skynet.size()
    );
    println!("                                        ns a join   times as fast as Rayon");
    println!("                  threads     min  median     max      min  median    max");
    for (program, name, threads, time, ratio) in rows {
        let ratio = ratio.map_or(String::new(), |r| format!("{:6.2} {:7.2} {:6.2}", r.min, r.median, r.max));
        println!("{program:7} {name:9} {threads:>7}  {:6.2} {:7.2} {:7.2}   {ratio}", time.min, time.median, time.max);
    }
    println!("From a join until another of {cores} workers has begun its second half: us");
    println!("others       pool          min  median     max");
    for (before, name, time) in steals {
        let [min, median, max] = [time.min, time.median, time.max].map(|ns| ns / 1e3);
        println!("{before:12} {name:9} {min:>7.2} {median:>7.2} {max:>7.2}");
    }
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("forkjoin: {error}");
            ExitCode::FAILURE
        }
    }
}
