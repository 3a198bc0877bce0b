//! How well cores that differ are used: Evenkeel with and without mugging, and Rayon, in turn in one process on a big and a little core.
//!
//!     evenkeel emulate 1B1L:3 -- asymmetric [--ratio 3] [--rounds N] [--format json]
//!
//! Efficiency is the time that the work needs if all cores are busy to the end at the speeds they have (the sum of the speeds, Equation 3 of Torng
//! et al., ISCA 2016), over the time that it took. Speeds are measured in each round, with a loop bound to each core.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::env;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use evenkeel_runtime::{Pool, PoolBuilder, Techniques};
use evenkeel_topology::Topology;
use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};
use serde_json::json;

type Error = Box<dyn std::error::Error>;

/// A coarse task takes about this long on the big core: many cycles of an emulated core.
const TASK: Duration = Duration::from_millis(150);
/// Pieces of the loop.
const PIECES: u64 = 20_000;
/// A join for each call, less the leaves.
const FIB: u64 = 32;

/// Work that only takes time: so many steps of a generator.
fn spin(steps: u64) -> u64 {
    let mut state = black_box(1_u64);
    for _ in 0..steps {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    }
    black_box(state)
}

fn only(cpu: u16) -> CpuSet {
    let mut mask = CpuSet::new();
    mask.set(usize::from(cpu));
    mask
}

fn bind(cpu: u16) -> Result<CpuSet, Error> {
    let before = sched_getaffinity(None)?;
    sched_setaffinity(None, &only(cpu))?;
    Ok(before)
}

/// Steps a second of a loop on each CPU, both at once, over this time.
fn speeds(cpus: [u16; 2], time: Duration) -> Result<[f64; 2], Error> {
    let of = |cpu: u16| {
        move || -> Option<f64> {
            bind(cpu).ok()?;
            let (begin, mut steps) = (Instant::now(), 0_u64);
            while begin.elapsed() < time {
                spin(20_000);
                steps += 20_000;
            }
            Some(steps as f64 / begin.elapsed().as_secs_f64())
        }
    };
    let threads = cpus.map(|cpu| thread::spawn(of(cpu)));
    let [big, little] = threads.map(|thread| thread.join().ok().flatten());
    Ok([big.ok_or("the big core cannot be used")?, little.ok_or("the little core cannot be used")?])
}

/// Microseconds until a busy thread that another one moves runs on that one's CPU: the first half of an exchange of cores, which is what a mug waits for. The
/// second half, in which the mugger goes, costs the task nothing. Told by the thread that is moved: it may well run before the call of the other returns.
fn takeovers(cpus: [u16; 2], count: usize) -> Result<Vec<f64>, Error> {
    let clock = Instant::now();
    let (over, seen) = (AtomicBool::new(false), [AtomicU64::new(0), AtomicU64::new(0)]);
    let before = bind(cpus[0])?;
    let times = thread::scope(|scope| -> Result<Vec<f64>, Error> {
        let (send, receive) = std::sync::mpsc::channel();
        let (over, seen) = (&over, &seen);
        scope.spawn(move || {
            let bound = bind(cpus[1]).is_ok();
            let mut last = usize::MAX;
            let _ = send.send(bound.then(gettid));
            while bound && !over.load(Ordering::Relaxed) {
                let here = cpus.iter().position(|cpu| usize::from(*cpu) == sched_getcpu()).unwrap_or(last);
                if here != last {
                    seen[here].store(clock.elapsed().as_nanos() as u64, Ordering::Release);
                    last = here;
                }
            }
        });
        let other = receive.recv()?;
        let takeover = |round: usize| -> Result<f64, Error> {
            let [to, from] = if round.is_multiple_of(2) { [0, 1] } else { [1, 0] };
            let begin = clock.elapsed().as_nanos() as u64;
            sched_setaffinity(other, &only(cpus[to]))?;
            sched_setaffinity(None, &only(cpus[from]))?;
            while seen[to].load(Ordering::Acquire) < begin {
                spin(100);
            }
            Ok((seen[to].load(Ordering::Acquire) - begin) as f64 / 1e3)
        };
        let times = match other {
            Some(_) => (0..count).map(takeover).collect(),
            None => Err("a CPU cannot be used".into()),
        };
        over.store(true, Ordering::Relaxed);
        times
    });
    sched_setaffinity(None, &before)?;
    times
}

/// How a program forks.
trait Fork: Copy + Send + Sync {
    fn join(self, a: impl FnOnce() + Send, b: impl FnOnce() + Send);
    fn tasks(self, count: u64, task: impl Fn() + Send + Sync);
    fn pieces(self, count: u64, piece: impl Fn() + Send + Sync);
}

#[derive(Clone, Copy)]
struct Evenkeel;

impl Fork for Evenkeel {
    fn join(self, a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
        evenkeel_runtime::join(a, b);
    }

    fn tasks(self, count: u64, task: impl Fn() + Send + Sync) {
        let task = &task;
        evenkeel_runtime::scope(|scope| (0..count).for_each(|_| scope.spawn(move |_| task())));
    }

    fn pieces(self, count: u64, piece: impl Fn() + Send + Sync) {
        evenkeel_runtime::par_for(0..count as usize, |_| piece());
    }
}

#[derive(Clone, Copy)]
struct Rayon;

impl Fork for Rayon {
    fn join(self, a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
        rayon::join(a, b);
    }

    fn tasks(self, count: u64, task: impl Fn() + Send + Sync) {
        let task = &task;
        rayon::scope(|scope| (0..count).for_each(|_| scope.spawn(move |_| task())));
    }

    fn pieces(self, count: u64, piece: impl Fn() + Send + Sync) {
        use rayon::prelude::*;
        (0..count).into_par_iter().for_each(|_| piece());
    }
}

fn fib<F: Fork>(fork: F, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (mut a, mut b) = (0, 0);
    fork.join(|| a = fib(fork, n - 1), || b = fib(fork, n - 2));
    a + b
}

/// What is run.
#[derive(Clone, Copy)]
enum Case {
    Tasks(u64),
    Loop,
    Fib,
}

impl Case {
    const ALL: [Self; 5] = [Self::Tasks(2), Self::Tasks(3), Self::Tasks(4), Self::Loop, Self::Fib];

    fn name(self) -> String {
        match self {
            Self::Tasks(count) => format!("{count} tasks"),
            Self::Loop => format!("loop of {PIECES}"),
            Self::Fib => format!("fib({FIB})"),
        }
    }

    /// `steps` is the size of a coarse task.
    fn run<F: Fork>(self, fork: F, steps: u64) {
        match self {
            Self::Tasks(count) => fork.tasks(count, || _ = spin(steps)),
            Self::Loop => fork.pieces(PIECES, || _ = spin(3 * steps / PIECES)),
            Self::Fib => _ = black_box(fib(fork, black_box(FIB))),
        }
    }
}

/// The runtime that runs it.
enum Runner {
    Evenkeel(Box<Pool>),
    Rayon(rayon::ThreadPool),
}

impl Runner {
    fn seconds(&self, case: Case, steps: u64) -> f64 {
        let begin = Instant::now();
        match self {
            Self::Evenkeel(pool) => pool.install(|| case.run(Evenkeel, steps)),
            Self::Rayon(pool) => pool.install(|| case.run(Rayon, steps)),
        }
        begin.elapsed().as_secs_f64()
    }

    /// The same work by one thread on the big core.
    fn alone(&self, case: Case, steps: u64, big: u16) -> Result<f64, Error> {
        let one = match self {
            Self::Evenkeel(_) => Self::Evenkeel(Box::new(PoolBuilder::new().threads(1).build()?)),
            Self::Rayon(_) => Self::Rayon(
                rayon::ThreadPoolBuilder::new().num_threads(1).start_handler(move |_| _ = bind(big)).build()?,
            ),
        };
        let before = bind(big)?;
        let seconds = one.seconds(case, steps);
        sched_setaffinity(None, &before)?;
        Ok(seconds)
    }
}

struct Arguments {
    ratio: f64,
    rounds: usize,
    json: bool,
}

fn arguments() -> Result<Arguments, Error> {
    let mut given = Arguments { ratio: 3.0, rounds: 5, json: false };
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.next().as_deref()) {
            ("--ratio", Some(ratio)) => given.ratio = ratio.parse()?,
            ("--rounds", Some(rounds)) => given.rounds = rounds.parse::<usize>()?.max(1),
            ("--format", Some("json")) => given.json = true,
            _ => return Err("usage: asymmetric [--ratio R] [--rounds N] [--format json]".into()),
        }
    }
    Ok(given)
}

fn run() -> Result<(), Error> {
    let Arguments { ratio, rounds, json } = arguments()?;
    let mask = sched_getaffinity(None)?;
    let allowed: Vec<u16> = (0..CpuSet::MAX_CPU).filter(|cpu| mask.is_set(*cpu)).map(|cpu| cpu as u16).collect();
    let [big, little, ..] = allowed[..] else { return Err("two CPUs are needed".into()) };
    let machine = Topology::read("/".as_ref())?.with(Some(&big.to_string()), Some(&little.to_string()), Some(ratio))?;
    let takeovers = takeovers([big, little], 101)?;
    let evenkeel = |techniques| PoolBuilder::new().cores(machine.clone()).techniques(techniques).build();
    let rayon = || rayon::ThreadPoolBuilder::new().num_threads(2);
    let bound = move |index: usize| _ = bind([big, little][index % 2]);
    let runners = [
        ("evenkeel base+m", Runner::Evenkeel(Box::new(evenkeel(Techniques::BASE_M)?))),
        ("evenkeel base", Runner::Evenkeel(Box::new(evenkeel(Techniques::BASE)?))),
        ("rayon", Runner::Rayon(rayon().build()?)),
        ("rayon, bound", Runner::Rayon(rayon().start_handler(bound).build()?)),
    ];
    let mut efficiencies = vec![vec![Vec::new(); runners.len()]; Case::ALL.len()];
    let mut found = Vec::new();
    for _ in 0..rounds {
        let [fast, slow] = speeds([big, little], 4 * TASK)?;
        found.push(fast / slow);
        let steps = (fast * TASK.as_secs_f64()) as u64;
        for (case, of) in Case::ALL.into_iter().zip(&mut efficiencies) {
            for ((_, runner), of) in runners.iter().zip(of) {
                let ideal = runner.alone(case, steps, big)? * fast / (fast + slow);
                of.push(ideal / runner.seconds(case, steps));
            }
        }
    }
    let spread = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        [values[0], values[values.len() / 2], values[values.len() - 1]]
    };
    if json {
        let row = |(case, of): (Case, &Vec<Vec<f64>>)| {
            let runner = |((name, _), values): (&(&str, Runner), &Vec<f64>)| json!({"runner": name, "efficiency": spread(values)});
            json!({"case": case.name(), "runners": runners.iter().zip(of).map(runner).collect::<Vec<_>>()})
        };
        let rows: Vec<_> = Case::ALL.into_iter().zip(&efficiencies).map(row).collect();
        println!(
            "{}",
            json!({"ratio": spread(&found), "takeover_us": spread(&takeovers), "rounds": rounds, "cases": rows})
        );
        return Ok(());
    }
    let [least, ratio, most] = spread(&found);
    println!(
        "efficiency on a big and a little core, {ratio:.2} ({least:.2} to {most:.2}) times as fast; {rounds} rounds: median (least to most)"
    );
    let [least, median, most] = spread(&takeovers);
    println!("a task is taken over in {median:.1} us ({least:.1} to {most:.1})");
    print!("{:14}", "");
    runners.iter().for_each(|(name, _)| print!("{name:>24}"));
    println!();
    for (case, of) in Case::ALL.into_iter().zip(&efficiencies) {
        print!("{:14}", case.name());
        for values in of {
            let [least, median, most] = spread(values);
            print!("{:>24}", format!("{median:.3} ({least:.3} to {most:.3})"));
        }
        println!();
    }
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
