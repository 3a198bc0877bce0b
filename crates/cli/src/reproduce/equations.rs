//! Sets that the first-order model computes (`evenkeel_model::marginal`): big and little cores, some of them active.

use anyhow::{Context, Result, bail};
use evenkeel_model::marginal::{Parameters, Range};

use super::experiment::{Metric, Set};
use crate::json::{Metrics, Run, order_name};
use crate::lab::Results;

/// The system is one of four big and four little cores (Torng et al., ISCA 2016, II.B).
pub const CORES: u32 = BIG as u32 + LITTLE as u32;
const BIG: usize = 4;
const LITTLE: usize = 4;

/// The parameters of a name.
pub fn parameters(name: &str) -> Result<Parameters> {
    match name {
        "stated" => Ok(Parameters::STATED),
        "matched" => Ok(Parameters::MATCHED),
        _ => bail!("no parameters {name:?}: there is stated, matched"),
    }
}

/// Computes a set.
pub fn run(policies: &[String], set: &Set) -> Result<Results> {
    let mut runs = Vec::new();
    for member in &set.workloads {
        let active =
            counts(&member.name).with_context(|| format!("{}: expected active cores as in 2B2L", member.name))?;
        for machine in &set.machines {
            let system = parameters(machine)?.system(BIG, LITTLE);
            let little = system.groups[1].throughput(system.groups[1].nominal);
            for policy in policies {
                let range = match policy.as_str() {
                    "optimum" => Range::Unbounded,
                    "feasible" => Range::Feasible,
                    _ => bail!("no range {policy:?}: there is optimum, feasible"),
                };
                let found = system.optimum(&active, range);
                runs.push(Run {
                    workload: member.name.clone(),
                    machine: machine.clone(),
                    policy: policy.clone(),
                    order: order_name(evenkeel_model::CoreOrder::Declared),
                    seed: 0,
                    metrics: Metrics::zero(),
                    programs: Vec::new(),
                    clusters: Vec::new(),
                    measures: vec![
                        (Metric::Throughput, found.speedup),
                        (Metric::OverOneLittle, found.throughput / little),
                        (Metric::VoltsBig, found.volts[0].0),
                        (Metric::VoltsLittle, found.volts[1].0),
                    ],
                });
            }
        }
    }
    Ok(Results { runs, events: 0 })
}

/// `2B2L`, taken apart.
fn counts(name: &str) -> Option<[usize; 2]> {
    let (big, little) = name.strip_suffix('L')?.split_once('B')?;
    Some([big.parse().ok()?, little.parse().ok()?])
}
