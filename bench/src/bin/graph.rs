//! What a task with dependences costs, and what it brings: graphs against phases that wait for each other, on Evenkeel and on Rayon, in turn in one
//! process, and against OpenMP's tasks in another.
//!
//!     graph [--rounds N] [--format json] [--openmp PROGRAM]

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::env;
use std::process::{Command, ExitCode};
use std::time::Instant;

use evenkeel_bench::{Spread, spread};
use evenkeel_runtime::Pool;
use serde_json::json;

/// Cells of a side: each is a task of a few instructions that waits for two others.
const SIDE: usize = 200;
/// Rows of tiles, and rows of a tile. A task is some ten microseconds.
const TILES: usize = 16;
const B: usize = 32;

/// Each cell is one more than the larger of those above it and left of it, so the last one is the length of the longest path.
struct Grid(Vec<Vec<u32>>);

impl Grid {
    fn new() -> Grid {
        Grid(vec![vec![0; SIDE + 1]; SIDE + 1])
    }

    fn check(&self) {
        assert_eq!(self.0[SIDE][SIDE] as usize, 2 * SIDE - 1);
    }

    fn plain(&mut self) {
        for i in 1..=SIDE {
            for j in 1..=SIDE {
                self.0[i][j] = self.0[i - 1][j].max(self.0[i][j - 1]) + 1;
            }
        }
    }

    fn graph(&mut self) {
        evenkeel_runtime::graph(|g| {
            let cells: Vec<Vec<_>> =
                self.0.iter_mut().map(|row| row.iter_mut().map(|cell| g.region(cell)).collect()).collect();
            for i in 1..=SIDE {
                for j in 1..=SIDE {
                    g.task((cells[i - 1][j].read(), cells[i][j - 1].read(), cells[i][j].write()))
                        .spawn(|(above, left, cell)| *cell = *above.max(left) + 1);
                }
            }
        });
    }
}

type Tiles = Vec<Vec<Vec<f64>>>;

fn matrix() -> Tiles {
    let side = (TILES * B) as f64;
    let entry = |i: usize, j: usize| if i == j { side } else { 1.0 / (1.0 + i.abs_diff(j) as f64) };
    let tile = |i, j| (0..B * B).map(|at| entry(i * B + at / B, j * B + at % B)).collect();
    (0..TILES).map(|i| (0..=i).map(|j| tile(i, j)).collect()).collect()
}

fn factor(a: &mut [f64]) {
    for j in 0..B {
        for k in 0..j {
            for i in j..B {
                a[i * B + j] -= a[i * B + k] * a[j * B + k];
            }
        }
        let root = a[j * B + j].sqrt();
        (j..B).for_each(|i| a[i * B + j] /= root);
        (0..j).for_each(|i| a[i * B + j] = 0.0);
    }
}

fn solve(l: &[f64], a: &mut [f64]) {
    for i in 0..B {
        for j in 0..B {
            let dot: f64 = (0..j).map(|k| a[i * B + k] * l[j * B + k]).sum();
            a[i * B + j] = (a[i * B + j] - dot) / l[j * B + j];
        }
    }
}

fn subtract(l: &[f64], r: &[f64], a: &mut [f64]) {
    for i in 0..B {
        for j in 0..B {
            a[i * B + j] -= (0..B).map(|k| l[i * B + k] * r[j * B + k]).sum::<f64>();
        }
    }
}

fn cholesky_plain(a: &mut Tiles) {
    for k in 0..TILES {
        let (done, rest) = a.split_at_mut(k + 1);
        let diagonal = &mut done[k][k];
        factor(diagonal);
        rest.iter_mut().for_each(|row| solve(diagonal, &mut row[k]));
        for i in 0..rest.len() {
            let (above, row) = rest.split_at_mut(i);
            update(above, &mut row[0], k);
        }
    }
}

/// Subtracts from the tiles of a row, right of column `k`, what column `k` contributes.
fn update(above: &[Vec<Vec<f64>>], row: &mut [Vec<f64>], k: usize) {
    let (left, rest) = row.split_at_mut(k + 1);
    for (j, tile) in rest.iter_mut().enumerate() {
        subtract(&left[k], above.get(j).map_or(&left[k], |row| &row[k]), tile);
    }
}

fn cholesky_graph(a: &mut Tiles) {
    evenkeel_runtime::graph(|g| {
        let a: Vec<Vec<_>> = a.iter_mut().map(|row| row.iter_mut().map(|tile| g.region(tile)).collect()).collect();
        for k in 0..TILES {
            g.task(a[k][k].write()).priority(2).spawn(|tile| factor(tile));
            for row in &a[k + 1..] {
                g.task((a[k][k].read(), row[k].write())).priority(1).spawn(|(l, tile)| solve(l, tile));
            }
            for i in k + 1..TILES {
                for j in k + 1..i {
                    g.task((a[i][k].read(), a[j][k].read(), a[i][j].write()))
                        .spawn(|(l, r, tile)| subtract(l, r, tile));
                }
                g.task((a[i][k].read(), a[i][i].write())).spawn(|(l, tile)| subtract(l, l, tile));
            }
        }
    });
}

/// All that one column allows at once, then the next phase: what a program does that has no dependences. `scope` is that of a pool.
macro_rules! phases {
    ($name:ident, $scope:path) => {
        fn $name(a: &mut Tiles) {
            for k in 0..TILES {
                let (done, rest) = a.split_at_mut(k + 1);
                let diagonal = &mut done[k][k];
                factor(diagonal);
                $scope(|scope| {
                    for row in &mut *rest {
                        scope.spawn(|_| solve(diagonal, &mut row[k]));
                    }
                });
                let (column, mut right): (Vec<_>, Vec<_>) = rest
                    .iter_mut()
                    .map(|row| {
                        let (left, right) = row.split_at_mut(k + 1);
                        (&left[k], right)
                    })
                    .unzip();
                let column = &column;
                $scope(|scope| {
                    for (i, row) in right.iter_mut().enumerate() {
                        for (j, tile) in row.iter_mut().enumerate() {
                            scope.spawn(move |_| subtract(column[i], column[j], tile));
                        }
                    }
                });
            }
        }
    };
}

phases!(cholesky_evenkeel_phases, evenkeel_runtime::scope);
phases!(cholesky_rayon_phases, rayon::scope);

/// The product of the diagonal's elements, by its logarithm: the same for every right factorisation.
fn checksum(a: &Tiles) -> f64 {
    (0..TILES).flat_map(|k| (0..B).map(move |i| (k, i))).map(|(k, i)| a[k][k][i * B + i].ln()).sum()
}

fn seconds(f: impl FnOnce()) -> f64 {
    let start = Instant::now();
    f();
    start.elapsed().as_secs_f64()
}

fn grid(f: impl FnOnce(&mut Grid) + Send) -> f64 {
    let mut grid = Grid::new();
    let time = seconds(|| f(&mut grid));
    grid.check();
    time
}

fn cholesky(expected: f64, f: impl FnOnce(&mut Tiles) + Send) -> f64 {
    let mut tiles = matrix();
    let time = seconds(|| f(&mut tiles));
    assert!((checksum(&tiles) - expected).abs() < 1e-6);
    time
}

/// The seconds that OpenMP takes, as its program prints them.
fn openmp(program: &str, threads: usize, what: &str) -> f64 {
    let sizes = [SIDE, TILES, B].map(|size| size.to_string());
    let output = Command::new(program).arg(what).args(sizes).env("OMP_NUM_THREADS", threads.to_string()).output();
    let output = output.expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("seconds")
}

struct Row<'a> {
    program: &'static str,
    name: &'static str,
    threads: usize,
    run: Box<dyn Fn() -> f64 + 'a>,
    times: Vec<f64>,
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let (mut rounds, mut json, mut openmp_program) = (11, false, None);
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.next()) {
            ("--rounds", Some(value)) => rounds = value.parse::<usize>()?.max(1),
            ("--format", Some(value)) if value == "json" => json = true,
            ("--openmp", Some(value)) => openmp_program = Some(value),
            _ => return Err("usage: graph [--rounds N] [--format json] [--openmp PROGRAM]".into()),
        }
    }
    let peer = openmp_program.as_deref();
    let cores = std::thread::available_parallelism()?.get();
    let mut sizes = vec![1, 2, cores];
    sizes.retain(|&size| size <= cores);
    sizes.dedup();
    let pools = sizes.iter().map(|&size| Pool::new(size)).collect::<Result<Vec<_>, _>>()?;
    let rayons = sizes.iter().map(|&size| rayon::ThreadPoolBuilder::new().num_threads(size).build());
    let rayons = rayons.collect::<Result<Vec<_>, _>>()?;

    let mut plain = matrix();
    cholesky_plain(&mut plain);
    let expected = checksum(&plain);

    let mut rows = Vec::new();
    let mut add = |program, name, threads, run| rows.push(Row { program, name, threads, run, times: Vec::new() });
    add("wavefront", "plain", 1, Box::new(|| grid(Grid::plain)));
    for (pool, &threads) in pools.iter().zip(&sizes) {
        add("wavefront", "graph", threads, Box::new(|| grid(|g| pool.install(|| g.graph()))));
        if let Some(peer) = peer {
            add("wavefront", "openmp", threads, Box::new(move || openmp(peer, threads, "wavefront")));
        }
    }
    add("cholesky", "plain", 1, Box::new(move || cholesky(expected, cholesky_plain)));
    for ((pool, rayon), &threads) in pools.iter().zip(&rayons).zip(&sizes) {
        let run = move || cholesky(expected, |a| pool.install(|| cholesky_graph(a)));
        add("cholesky", "graph", threads, Box::new(run));
        let run = move || cholesky(expected, |a| pool.install(|| cholesky_evenkeel_phases(a)));
        add("cholesky", "phases", threads, Box::new(run));
        let run = move || cholesky(expected, |a| rayon.install(|| cholesky_rayon_phases(a)));
        add("cholesky", "rayon phases", threads, Box::new(run));
        if let Some(peer) = peer {
            add("cholesky", "openmp", threads, Box::new(move || openmp(peer, threads, "cholesky")));
        }
    }

    // In turn, so that a slow moment hits all of them; the first round warms up.
    for round in 0..=rounds {
        for row in &mut rows {
            let time = (row.run)();
            if round > 0 {
                row.times.push(time);
            }
        }
    }

    let tasks = |program| if program == "wavefront" { SIDE * SIDE } else { TILES * (TILES + 1) * (TILES + 2) / 6 };
    let summary = rows.iter().map(|row| {
        let graph =
            rows.iter().find(|other| (other.program, other.name, other.threads) == (row.program, "graph", row.threads));
        // Within each round, so that the ratio does not mix a slow moment with a fast one.
        let ratio =
            graph.map(|graph| spread(row.times.iter().zip(&graph.times).map(|(own, graph)| own / graph).collect()));
        let per_task = row.times.iter().map(|time| time * 1e9 / tasks(row.program) as f64).collect();
        (row, spread(per_task), ratio)
    });
    if json {
        let values = |spread: &Spread| json!({ "min": spread.min, "median": spread.median, "max": spread.max });
        let rows: Vec<_> = summary
            .map(|(row, time, ratio)| {
                json!({
                    "program": row.program, "pool": row.name, "threads": row.threads,
                    "ns_per_task": values(&time), "times_as_long_as_graph": ratio.as_ref().map(values),
                })
            })
            .collect();
        println!("{}", serde_json::to_string_pretty(&json!({ "cores": cores, "rounds": rounds, "rows": rows }))?);
        return Ok(());
    }
    println!(
        "Tasks with dependences: {SIDE} by {SIDE} cells, and Cholesky with {TILES} rows of tiles; {rounds} rounds in turn, {cores} cores here"
    );
    println!("{:10} {:13} {:>7}  {:>29}   times as long as the graph", "", "", "", "ns a task");
    println!(
        "{:10} {:13} {:>7}  {:>9} {:>9} {:>9}   {:>6} {:>7} {:>6}",
        "", "", "threads", "min", "median", "max", "min", "median", "max"
    );
    for (row, time, ratio) in summary {
        let ratio = ratio.map_or(String::new(), |r| format!("{:6.2} {:7.2} {:6.2}", r.min, r.median, r.max));
        let Row { program, name, threads, .. } = row;
        println!(
            "{program:10} {name:13} {threads:>7}  {:9.1} {:9.1} {:9.1}   {ratio}",
            time.min, time.median, time.max
        );
    }
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("graph: {error}");
            ExitCode::FAILURE
        }
    }
}
