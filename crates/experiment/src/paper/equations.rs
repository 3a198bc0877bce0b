//! Sets that the first-order model computes (`evenkeel_model::marginal`): big and little cores, some of them active.

use evenkeel_model::marginal::{Parameters, Range};

use super::file::Set;
use super::metric::Metric;
use super::sample::{Measured, Sample};
use crate::error::{Error, Result};

/// The system is one of four big and four little cores (Torng et al., ISCA 2016, II.B).
pub const CORES: u32 = BIG as u32 + LITTLE as u32;
const BIG: usize = 4;
const LITTLE: usize = 4;

/// The parameters of a name.
fn parameters(name: &str) -> Result<Parameters> {
    match name {
        "stated" => Ok(Parameters::STATED),
        "matched" => Ok(Parameters::MATCHED),
        _ => Err(Error::ExperimentFile(format!("no parameters {name:?}: expected stated or matched"))),
    }
}

/// Computes a set.
pub fn run(policies: &[String], set: &Set) -> Result<Vec<Sample>> {
    let mut samples = Vec::new();
    for member in &set.workloads {
        let active = counts(&member.name)
            .ok_or_else(|| Error::ExperimentFile(format!("{}: expected active cores, such as 2B2L", member.name)))?;
        for machine in &set.machines {
            let system = parameters(machine)?.system(BIG, LITTLE);
            let little = system.groups[1].throughput(system.groups[1].nominal);
            for policy in policies {
                let range = match policy.as_str() {
                    "optimum" => Range::Unbounded,
                    "feasible" => Range::Feasible,
                    _ => {
                        let what = format!("no range {policy:?}: expected optimum or feasible");
                        return Err(Error::ExperimentFile(what));
                    }
                };
                let found = system.optimum(&active, range);
                samples.push(Sample {
                    workload: member.name.clone(),
                    machine: machine.clone(),
                    policy: policy.clone(),
                    seed: 0,
                    measured: Measured::Values(vec![
                        (Metric::Throughput, found.speedup),
                        (Metric::OverOneLittle, found.throughput / little),
                        (Metric::VoltsBig, found.volts[0].0),
                        (Metric::VoltsLittle, found.volts[1].0),
                    ]),
                });
            }
        }
    }
    Ok(samples)
}

/// `2B2L`, taken apart.
fn counts(name: &str) -> Option<[usize; 2]> {
    let (big, little) = name.strip_suffix('L')?.split_once('B')?;
    Some([big.parse().ok()?, little.parse().ok()?])
}
