//! What a join costs: Evenkeel, Rayon and chili, in turn in one process, against plain calls.
//!
//!     forkjoin [--rounds N] [--format json]

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::env;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use evenkeel_bench::{Spread, spread};
use serde_json::json;

/// Calls of `fib(30)`, less the leaves: how often it joins.
const FIB: u64 = 30;
const FIB_JOINS: u64 = 1_346_268;
const FIB_VALUE: u64 = 832_040;
/// Skynet's million leaves, ten to a node; a node of ten makes nine joins.
const LEAVES: u64 = 1_000_000;
const LEAVES_VALUE: u64 = LEAVES * (LEAVES - 1) / 2;

/// How a program forks.
trait Fork: Copy + Send + Sync {
    fn join<A: Send, B: Send>(self, a: impl FnOnce(Self) -> A + Send, b: impl FnOnce(Self) -> B + Send) -> (A, B);
}

#[derive(Clone, Copy)]
struct Plain;

impl Fork for Plain {
    #[inline(always)]
    fn join<A: Send, B: Send>(self, a: impl FnOnce(Self) -> A + Send, b: impl FnOnce(Self) -> B + Send) -> (A, B) {
        (a(self), b(self))
    }
}

#[derive(Clone, Copy)]
struct Evenkeel;

impl Fork for Evenkeel {
    #[inline(always)]
    fn join<A: Send, B: Send>(self, a: impl FnOnce(Self) -> A + Send, b: impl FnOnce(Self) -> B + Send) -> (A, B) {
        evenkeel_runtime::join(|| a(self), || b(self))
    }
}

#[derive(Clone, Copy)]
struct Rayon;

impl Fork for Rayon {
    #[inline(always)]
    fn join<A: Send, B: Send>(self, a: impl FnOnce(Self) -> A + Send, b: impl FnOnce(Self) -> B + Send) -> (A, B) {
        rayon::join(|| a(self), || b(self))
    }
}

#[inline(never)]
fn fib<F: Fork>(fork: F, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = fork.join(|fork| fib(fork, n - 1), |fork| fib(fork, n - 2));
    a + b
}

/// The numbers from `first` on, `size` of them, added up by a tree of tasks.
#[inline(never)]
fn skynet<F: Fork>(fork: F, first: u64, size: u64) -> u64 {
    if size == 1 {
        return first;
    }
    children(fork, first, size / 10, 10)
}

#[inline(never)]
fn children<F: Fork>(fork: F, first: u64, size: u64, count: u64) -> u64 {
    if count == 1 {
        return skynet(fork, first, size);
    }
    let half = count / 2;
    let (a, b) = fork
        .join(|fork| children(fork, first, size, half), |fork| children(fork, first + half * size, size, count - half));
    a + b
}

/// chili hands the worker on as an argument, so its programs look different.
#[inline(never)]
fn chili_fib(scope: &mut chili::Scope<'_>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = scope.join(|scope| chili_fib(scope, n - 1), |scope| chili_fib(scope, n - 2));
    a + b
}

#[inline(never)]
fn chili_skynet(scope: &mut chili::Scope<'_>, first: u64, size: u64) -> u64 {
    if size == 1 {
        return first;
    }
    chili_children(scope, first, size / 10, 10)
}

#[inline(never)]
fn chili_children(scope: &mut chili::Scope<'_>, first: u64, size: u64, count: u64) -> u64 {
    if count == 1 {
        return chili_skynet(scope, first, size);
    }
    let half = count / 2;
    let (a, b) = scope.join(
        |scope| chili_children(scope, first, size, half),
        |scope| chili_children(scope, first + half * size, size, count - half),
    );
    a + b
}

struct Contender<'a> {
    name: &'static str,
    threads: usize,
    fib: Box<dyn FnMut(u64) -> u64 + 'a>,
    skynet: Box<dyn FnMut(u64) -> u64 + 'a>,
}

struct Pools {
    threads: usize,
    evenkeel: evenkeel_runtime::Pool,
    rayon: rayon::ThreadPool,
    chili: chili::ThreadPool,
}

impl Pools {
    fn new(threads: usize) -> Result<Pools, Box<dyn std::error::Error>> {
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

    fn contenders(&self) -> [Contender<'_>; 3] {
        let threads = self.threads;
        [
            Contender {
                name: "evenkeel",
                threads,
                fib: Box::new(|n| self.evenkeel.install(|| fib(Evenkeel, n))),
                skynet: Box::new(|n| self.evenkeel.install(|| skynet(Evenkeel, 0, n))),
            },
            Contender {
                name: "rayon",
                threads,
                fib: Box::new(|n| self.rayon.install(|| fib(Rayon, n))),
                skynet: Box::new(|n| self.rayon.install(|| skynet(Rayon, 0, n))),
            },
            Contender {
                name: "chili",
                threads,
                fib: Box::new(|n| chili_fib(&mut self.chili.scope(), n)),
                skynet: Box::new(|n| chili_skynet(&mut self.chili.scope(), 0, n)),
            },
        ]
    }
}

/// Nanoseconds a join.
fn measure(program: &mut dyn FnMut(u64) -> u64, size: u64, expected: u64, joins: u64) -> f64 {
    let start = Instant::now();
    let value = program(black_box(size));
    let time = start.elapsed();
    assert_eq!(value, expected);
    time.as_nanos() as f64 / joins as f64
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut rounds = 21;
    let mut json = false;
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.next().as_deref()) {
            ("--rounds", Some(value)) => rounds = value.parse::<usize>()?.max(1),
            ("--format", Some("json")) => json = true,
            _ => return Err("usage: forkjoin [--rounds N] [--format json]".into()),
        }
    }
    let cores = std::thread::available_parallelism()?.get();
    let mut sizes = vec![1, 2, cores];
    sizes.retain(|&size| size <= cores);
    sizes.dedup();
    let pools = sizes.into_iter().map(Pools::new).collect::<Result<Vec<_>, _>>()?;
    let mut contenders = vec![Contender {
        name: "plain",
        threads: 1,
        fib: Box::new(|n| fib(Plain, n)),
        skynet: Box::new(|n| skynet(Plain, 0, n)),
    }];
    contenders.extend(pools.iter().flat_map(Pools::contenders));

    let mut times = vec![(Vec::new(), Vec::new()); contenders.len()];
    // In turn, so that a slow moment hits all of them; the first round warms up.
    for round in 0..=rounds {
        for (contender, (fibs, skynets)) in contenders.iter_mut().zip(&mut times) {
            let fib = measure(&mut contender.fib, FIB, FIB_VALUE, FIB_JOINS);
            let skynet = measure(&mut contender.skynet, LEAVES, LEAVES_VALUE, LEAVES - 1);
            if round > 0 {
                fibs.push(fib);
                skynets.push(skynet);
            }
        }
    }

    let mut rows = Vec::new();
    for (program, pick) in [("fib", 0), ("skynet", 1)] {
        let of = |index: usize| if pick == 0 { &times[index].0 } else { &times[index].1 };
        for (index, contender) in contenders.iter().enumerate() {
            let rayon = contenders.iter().position(|other| other.name == "rayon" && other.threads == contender.threads);
            // Within each round, so that the ratio does not mix a slow moment with a fast one.
            let against =
                |other: usize| spread(of(other).iter().zip(of(index)).map(|(theirs, own)| theirs / own).collect());
            rows.push((program, contender.name, contender.threads, spread(of(index).clone()), rayon.map(against)));
        }
    }
    if json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(program, name, threads, time, ratio)| {
                let values = |spread: &Spread| json!({ "min": spread.min, "median": spread.median, "max": spread.max });
                json!({
                    "program": program, "pool": name, "threads": threads,
                    "ns_per_join": values(time), "times_faster_than_rayon": ratio.as_ref().map(values),
                })
            })
            .collect();
        println!("{}", serde_json::to_string_pretty(&json!({ "cores": cores, "rounds": rounds, "rows": rows }))?);
        return Ok(());
    }
    println!(
        "What a join costs: fib({FIB}), and skynet with {LEAVES} leaves; {rounds} rounds in turn, {cores} cores here"
    );
    println!("                                        ns a join   times as fast as Rayon");
    println!("                  threads     min  median     max      min  median    max");
    for (program, name, threads, time, ratio) in rows {
        let ratio = ratio.map_or(String::new(), |r| format!("{:6.2} {:7.2} {:6.2}", r.min, r.median, r.max));
        println!("{program:7} {name:9} {threads:>7}  {:6.2} {:7.2} {:7.2}   {ratio}", time.min, time.median, time.max);
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
