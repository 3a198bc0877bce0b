//! How the numbers `work` of `workloads/aaws/kernels.toml` were found: the cycles that each parallel kernel needs over its serial
//! program, so that the baseline on one big and seven little cores is as fast as Table III of Torng et al. (ISCA 2016) says.
//!
//! cargo run --release --package evenkeel-sim --example calibrate-kernels < published
//!
//! Each line of the input is a kernel and its speedup over one in-order core ("1B7L vs IO").

use std::io::{Error, stdin};

use evenkeel_model::machines;
use evenkeel_sim::workers::{Options, run, serial};
use evenkeel_workload::kernels::{Kernel, Table};

/// Those of `experiments/aaws.toml`.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=16;

fn main() -> Result<(), Error> {
    let machine = machines::by_name("aaws-1B7L").map_err(Error::other)?;
    let table = Table::iii();
    for line in stdin().lines() {
        let line = line?;
        let kernel = line.split_once(' ').and_then(|(name, speedup)| Some((table.kernel(name)?, speedup.trim())));
        let (kernel, published) = kernel.ok_or_else(|| Error::other(format!("no kernel: {line}")))?;
        let published: f64 = published.parse().map_err(Error::other)?;
        let mut kernel = Kernel { work: 1.0, ..kernel.clone() };
        for _ in 0..6 {
            let speedup = |seed| {
                let options = Options { seed, ..Options::default() };
                let (little, _) = serial(&machine, &kernel, &options);
                let outcome = run(&machine, table, &kernel, &options, &mut ()).map_err(Error::other)?;
                Ok(little.as_secs_f64() / outcome.time.as_secs_f64())
            };
            let mean = SEEDS.map(speedup).sum::<Result<f64, Error>>()? / SEEDS.count() as f64;
            kernel.work *= mean / published;
        }
        println!("{} {:.3}", kernel.name, kernel.work);
    }
    Ok(())
}
