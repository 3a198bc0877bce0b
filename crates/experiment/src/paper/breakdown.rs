//! Where the time of kernels goes (Figure 8 of Torng et al., ISCA 2016).

use serde::Serialize;

use super::file::Carrier;
use super::metric::Metric;
use super::ran::Ran;

/// A kernel run by workers, the mean over seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Breakdown {
    /// The set of the experiment.
    pub set: String,
    /// The kernel.
    pub workload: String,
    /// The machine.
    pub machine: String,
    /// The techniques.
    pub policy: String,
    /// Time, in seconds.
    pub seconds: f64,
    /// Energy of all cores, in joules.
    pub energy_j: f64,
    /// The share of the time in serial parts.
    pub serial: f64,
    /// The share of the time with all cores active.
    pub high_parallel: f64,
    /// The share of the time with fewer big cores waiting than little ones active.
    pub scarce: f64,
    /// The share of the time with enough big cores waiting to mug all work.
    pub ample: f64,
    /// The share of the time with some cores waiting and nothing to mug.
    pub other_low: f64,
    /// Mugs for each million instructions.
    pub mugs_per_minst: f64,
    /// Changes of voltage of all cores for each 10 us.
    pub transitions_per_10_us: f64,
}

/// Every kernel, machine and techniques of a set; nothing of a set that no workers ran.
pub fn breakdown(ran: &Ran) -> Vec<Breakdown> {
    let mut found = Vec::new();
    if !matches!(ran.set.carrier, Carrier::Workers(_)) {
        return found;
    }
    for machine in &ran.set.machines {
        for member in &ran.set.workloads {
            for policy in &ran.policies {
                let of = |metric| ran.value(&member.name, machine, metric, policy).unwrap_or(f64::NAN);
                found.push(Breakdown {
                    set: ran.set.name.clone(),
                    workload: member.name.clone(),
                    machine: machine.clone(),
                    policy: policy.clone(),
                    seconds: of(Metric::Time),
                    energy_j: of(Metric::Energy),
                    serial: of(Metric::Serial),
                    high_parallel: of(Metric::HighParallel),
                    scarce: of(Metric::Scarce),
                    ample: of(Metric::Ample),
                    other_low: of(Metric::OtherLow),
                    mugs_per_minst: of(Metric::Mugs),
                    transitions_per_10_us: of(Metric::Transitions),
                });
            }
        }
    }
    found
}
