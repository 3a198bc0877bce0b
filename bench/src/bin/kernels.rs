//! Kernels of `make bench`: each of them serially, on Rayon and on Evenkeel, in turn, on the same input.
//!
//! Machines are noisy, so what counts is a ratio within a round: every contestant runs once a round, the order rotates, and the
//! table has the median of the rounds' ratios, and in brackets the quarter and three quarters.
//!
//!     kernels [--scale X] [KERNEL...]
//!     evenkeel emulate 1B1L:3 -- kernels --uneven 3 --scale 20 --sample 400
//!
//! Speedup is against the serial program, which may do less: it sorts by one call where a parallel one sorts parts and merges them. Efficiency is
//! against the same program on one core, the big one of uneven cores, over the sum of the speeds (Equation 4 of Chronaki et al., "Exploiting asymmetric
//! multi-core processors with flexible system software": what cores that are all busy to the end could do).

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::hint::black_box;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use evenkeel_kernels::{Evenkeel, Info, Pool, Problem, ROWS, Row, Serial};
use evenkeel_runtime::{PoolBuilder, Techniques};
use evenkeel_topology::Topology;
use rayon::prelude::*;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::Serialize;

/// Kernels make and drop arrays; giving their memory back to the system each time would be most of what is measured.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs every kernel serially, on Rayon and on Evenkeel, and prints ratios within rounds.
#[derive(Parser)]
#[command(args_override_self = true)]
struct Options {
    /// Only these kernels, by their names in Table III
    kernels: Vec<String>,
    /// Multiplies the work of every kernel; 1 is the paper's input
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// How often each contestant runs each kernel
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// Milliseconds that a contestant runs in a round, at least
    #[arg(long, default_value_t = 15)]
    sample: u64,
    /// Workers of each pool; 0 is one a core
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Two cores of which the first is so many times as fast as the second
    #[arg(long, value_name = "RATIO")]
    uneven: Option<f64>,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Rayon as its users write it: its own loops, which decide themselves how far to split.
struct Rayon;

impl Pool for Rayon {
    fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        rayon::join(a, b)
    }

    fn par_for<F>(&self, range: Range<usize>, grain: usize, f: F)
    where
        F: Fn(usize) + Sync,
    {
        range.into_par_iter().with_min_len(grain).for_each(&f);
    }

    fn par_chunks<T, F>(&self, data: &mut [T], size: usize, f: F)
    where
        T: Send,
        F: Fn(usize, &mut [T]) + Sync,
    {
        data.par_chunks_mut(size).enumerate().for_each(|(index, chunk)| f(index, chunk));
    }
}

/// No pool, but the tasks that one would have: counts the forks.
struct Forks(AtomicU64);

impl Pool for Forks {
    fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.0.fetch_add(1, Relaxed);
        (a(), b())
    }
}

const SERIAL: usize = 0;
const RAYON: usize = 1;
const EVENKEEL: usize = 2;
const RAYON_ALONE: usize = 3;
const EVENKEEL_ALONE: usize = 4;
const CONTESTANTS: usize = 5;

/// Both pools, on all cores and on one.
struct Contest {
    rayon: [rayon::ThreadPool; 2],
    evenkeel: [evenkeel_runtime::Pool; 2],
    /// Where what has one core runs.
    one: CpuSet,
    /// What all cores can do together, of which the serial program's is 1.
    ideal: f64,
}

impl Contest {
    /// On as many cores as there are threads, which are alike.
    fn even(threads: usize) -> Result<Self, Box<dyn std::error::Error>> {
        Self::of(evenkeel_runtime::Pool::new(threads)?, threads, sched_getaffinity(None)?, threads as f64)
    }

    /// On the first two CPUs that this process may use, the first of which is the big one.
    fn uneven(ratio: f64) -> Result<Self, Box<dyn std::error::Error>> {
        let mask = sched_getaffinity(None)?;
        let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| mask.is_set(*cpu)).collect();
        let [big, little, ..] = allowed[..] else { return Err("two CPUs are needed".into()) };
        let topology = Topology::read("/".as_ref())?;
        let machine = topology.with(Some(&big.to_string()), Some(&little.to_string()), Some(ratio))?;
        let mut one = CpuSet::new();
        one.set(big);
        let evenkeel = PoolBuilder::new().cores(machine).techniques(Techniques::BASE_M).build()?;
        Self::of(evenkeel, 2, one, 1.0 + 1.0 / ratio)
    }

    fn of(
        evenkeel: evenkeel_runtime::Pool,
        threads: usize,
        one: CpuSet,
        ideal: f64,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let rayon = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads);
        // Where that is refused, it shows in the times.
        let bound = rayon(1).start_handler(move |_| _ = sched_setaffinity(None, &one));
        Ok(Self {
            rayon: [rayon(threads).build()?, bound.build()?],
            evenkeel: [evenkeel, evenkeel_runtime::Pool::new(1)?],
            one,
            ideal,
        })
    }

    fn once(&self, contestant: usize, problem: &Problem) -> evenkeel_kernels::Answer {
        match contestant {
            SERIAL => problem.run(&Serial),
            RAYON | RAYON_ALONE => self.rayon[usize::from(contestant == RAYON_ALONE)].install(|| problem.run(&Rayon)),
            _ => self.evenkeel[usize::from(contestant == EVENKEEL_ALONE)].install(|| problem.run(&Evenkeel)),
        }
    }

    /// Nanoseconds a run.
    fn sample(&self, contestant: usize, problem: &Problem, runs: u32) -> f64 {
        let own = sched_getaffinity(None).unwrap_or(self.one);
        if contestant == SERIAL || contestant == EVENKEEL_ALONE {
            let _ = sched_setaffinity(None, &self.one);
        }
        let begin = Instant::now();
        for _ in 0..runs {
            black_box(self.once(contestant, problem));
        }
        let elapsed = begin.elapsed();
        let _ = sched_setaffinity(None, &own);
        elapsed.as_nanos() as f64 / f64::from(runs)
    }
}

/// The median and the quarters.
#[derive(Clone, Copy, Serialize)]
struct Spread {
    quarter: f64,
    median: f64,
    three_quarters: f64,
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
        Self { quarter: at(0.25), median: at(0.5), three_quarters: at(0.75) }
    }
}

/// What was measured of a kernel.
#[derive(Serialize)]
struct Measured {
    kernel: &'static str,
    suite: String,
    method: String,
    input: &'static str,
    serial_ns: Spread,
    /// Serial time by Rayon's.
    rayon_speedup: Spread,
    /// Serial time by Evenkeel's.
    evenkeel_speedup: Spread,
    /// Rayon's time on one core by that on all, over what all can do.
    rayon_efficiency: Spread,
    /// The same of Evenkeel.
    evenkeel_efficiency: Spread,
    /// Rayon's time by Evenkeel's: above 1 Evenkeel is faster.
    evenkeel_over_rayon: Spread,
    /// Forks of one run, if every loop is split down to its grain.
    forks: u64,
    paper_tasks: u32,
    paper_task_kiloinstructions: f64,
    /// Of one run on Evenkeel, on average.
    steals: f64,
}

fn measure(contest: &Contest, row: Row, options: &Options) -> Result<Measured, String> {
    let info: Info = row.info();
    let problem = row.problem(options.scale);
    let forks = Forks(AtomicU64::new(0));
    let expected = problem.run(&forks).digest();
    for contestant in 0..CONTESTANTS {
        let answer = contest.once(contestant, &problem);
        problem.check(&answer).map_err(|wrong| format!("{}: {wrong}", info.name))?;
        if answer.digest() != expected {
            return Err(format!("{}: pools disagree", info.name));
        }
    }
    let least = Duration::from_millis(options.sample).as_nanos() as f64;
    let once = (0..3).map(|_| contest.sample(SERIAL, &problem, 1)).fold(f64::INFINITY, f64::min);
    let runs = (least / once).ceil().clamp(1.0, 10_000.0) as u32;

    let steals = || contest.evenkeel[0].stats().iter().map(|worker| worker.steals).sum::<u64>();
    let before = steals();
    let mut times = [const { Vec::new() }; CONTESTANTS];
    for round in 0..options.rounds.max(1) {
        for turn in 0..CONTESTANTS {
            let contestant = (round + turn) % CONTESTANTS;
            times[contestant].push(contest.sample(contestant, &problem, runs));
        }
    }
    let over = |a: usize, b: usize, ideal: f64| {
        Spread::of(times[a].iter().zip(&times[b]).map(|(a, b)| a / b / ideal).collect())
    };
    let ratio = |a, b| over(a, b, 1.0);
    Ok(Measured {
        kernel: info.name,
        suite: info.suite.to_string(),
        method: info.method.to_string(),
        input: info.input,
        serial_ns: Spread::of(times[SERIAL].clone()),
        rayon_speedup: ratio(SERIAL, RAYON),
        evenkeel_speedup: ratio(SERIAL, EVENKEEL),
        rayon_efficiency: over(RAYON_ALONE, RAYON, contest.ideal),
        evenkeel_efficiency: over(EVENKEEL_ALONE, EVENKEEL, contest.ideal),
        evenkeel_over_rayon: ratio(RAYON, EVENKEEL),
        forks: forks.0.into_inner(),
        paper_tasks: info.tasks,
        paper_task_kiloinstructions: info.task_kiloinstructions,
        steals: (steals() - before) as f64 / f64::from(runs) / options.rounds.max(1) as f64,
    })
}

fn geomean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    (values.clone().map(f64::ln).sum::<f64>() / values.count() as f64).exp()
}

fn print(all: &[Measured], ideal: f64, options: &Options) {
    let (rounds, scale) = (options.rounds, options.scale);
    println!(
        "Kernels at scale {scale}, cores as fast as {ideal:.2} of the first; {rounds} rounds in turn; medians, and quarters in brackets"
    );
    println!(
        "{:9} {:>6} {:>9}  {:>7} {:>8}  {:>7} {:>8}  {:>25} {:>8} {:>9} {:>7} | {:>6} {:>9}",
        "",
        "",
        "serial",
        "Rayon",
        "Evenkeel",
        "Rayon",
        "Evenkeel",
        "Evenkeel against Rayon",
        "forks",
        "us a fork",
        "steals",
        "paper:",
        "thousand"
    );
    println!(
        "{:9} {:>6} {:>9}  {:>7} {:>8}  {:>7} {:>8}  {:>25} {:>8} {:>9} {:>7} | {:>6} {:>9}",
        "kernel",
        "method",
        "ms",
        "speedup",
        "speedup",
        "effic.",
        "effic.",
        "(over 1: faster)",
        "",
        "(serial)",
        "",
        "tasks",
        "instr."
    );
    for row in all {
        let Spread { quarter, median, three_quarters } = row.evenkeel_over_rayon;
        println!(
            "{:9} {:>6} {:9.3}  {:7.2} {:8.2}  {:7.2} {:8.2}  {:>25} {:8} {:9.2} {:7.1} | {:6} {:9}",
            row.kernel,
            row.method,
            row.serial_ns.median / 1e6,
            row.rayon_speedup.median,
            row.evenkeel_speedup.median,
            row.rayon_efficiency.median,
            row.evenkeel_efficiency.median,
            format!("{median:.3} ({quarter:.3} to {three_quarters:.3})"),
            row.forks,
            row.serial_ns.median / 1e3 / (row.forks + 1) as f64,
            row.steals,
            row.paper_tasks,
            row.paper_task_kiloinstructions,
        );
    }
    let rayon = || all.iter().map(|row| row.rayon_efficiency.median);
    let evenkeel = || all.iter().map(|row| row.evenkeel_efficiency.median);
    println!(
        "{:9} {:6} {:9}  {:7.2} {:8.2}  {:7.2} {:8.2}  {:.3}",
        "geomean",
        "",
        "",
        geomean(all.iter().map(|row| row.rayon_speedup.median)),
        geomean(all.iter().map(|row| row.evenkeel_speedup.median)),
        geomean(rayon()),
        geomean(evenkeel()),
        geomean(all.iter().map(|row| row.evenkeel_over_rayon.median)),
    );
    let [rayon, evenkeel] = [Spread::of(rayon().collect()), Spread::of(evenkeel().collect())];
    println!("{:9} {:6} {:9}  {:7} {:8}  {:7.2} {:8.2}", "median", "", "", "", "", rayon.median, evenkeel.median);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::parse();
    let threads = match options.threads {
        0 => std::thread::available_parallelism()?.get(),
        threads => threads,
    };
    let unknown = options.kernels.iter().find(|name| Row::by_name(name).is_none());
    if let Some(name) = unknown {
        let names: Vec<_> = ROWS.iter().map(|row| row.info().name).collect();
        return Err(format!("no kernel {name:?}: expected some of {}", names.join(", ")).into());
    }
    let contest = options.uneven.map_or_else(|| Contest::even(threads), Contest::uneven)?;
    let mut all = Vec::new();
    for &row in ROWS {
        if options.kernels.is_empty() || options.kernels.iter().any(|name| name == row.info().name) {
            all.push(measure(&contest, row, &options)?);
        }
    }
    match options.format {
        Format::Text => print(&all, contest.ideal, &options),
        Format::Json => println!("{}", serde_json::to_string_pretty(&all)?),
    }
    Ok(())
}
