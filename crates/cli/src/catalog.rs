//! Names on the command line become machines, workloads and policies. What is worth knowing about them goes to standard error.

use anyhow::{Result, bail};
use evenkeel_experiment::catalog::{self, FoundMachine, FoundWorkload};
use evenkeel_model::Machine;
use evenkeel_sched::{POLICIES, Setup};
use evenkeel_workload::Workload;

use crate::messages;

pub use evenkeel_experiment::catalog::unknown;

/// A machine by its name, or from a file.
pub fn machine(name: &str) -> Result<Machine> {
    let FoundMachine { machine, notes } = catalog::machine(name)?;
    notes.iter().for_each(messages::note);
    Ok(machine)
}

/// A workload by its name, or from a file.
pub fn workload(name: &str) -> Result<FoundWorkload> {
    let found = catalog::workload(name)?;
    found.warnings.iter().for_each(messages::warning);
    Ok(found)
}

/// Workloads by their names.
pub fn workloads(names: &[String]) -> Result<Vec<Workload>> {
    each_once("the workloads have", names)?;
    names.iter().map(|name| Ok(workload(name)?.workload)).collect()
}

/// Machines by their names.
pub fn machines(names: &[String]) -> Result<Vec<Machine>> {
    each_once("--machine has", names)?;
    names.iter().map(|name| machine(name)).collect()
}

/// Policies by their names.
pub fn policies(names: &[String]) -> Result<Vec<Setup>> {
    each_once("--policy has", names)?;
    names.iter().map(|name| policy(name)).collect()
}

/// Makes sure that a list has no empty name, and none twice. It would be run once, which is hardly what was meant: grids refuse it, too.
pub fn each_once<S: AsRef<str>>(list: &str, names: &[S]) -> Result<()> {
    for (position, name) in names.iter().map(AsRef::as_ref).enumerate() {
        if name.is_empty() {
            bail!("{list} an empty name as item {}: expected a name, and one comma between two", position + 1);
        }
        if let Some(first) = names[..position].iter().position(|other| other.as_ref() == name) {
            bail!("{list} {name:?} twice, as item {} and as item {}: expected it once", first + 1, position + 1);
        }
    }
    Ok(())
}

/// A policy by its name, with its knobs.
pub fn policy(name: &str) -> Result<Setup> {
    Ok(catalog::policy(name)?)
}

/// A policy that can schedule real programs.
pub fn live_policy(name: &str) -> Result<Setup> {
    let setup = policy(name)?;
    if setup.description().foresight {
        bail!(evenkeel_linux::host::foresees(&setup));
    }
    Ok(setup)
}

/// Makes sure that a policy can decide inside a kernel.
pub fn decides_in_kernel(policy: &Setup) -> Result<()> {
    if policy.description().in_kernel.is_some() {
        return Ok(());
    }
    let in_kernel = POLICIES.iter().filter(|known| known.in_kernel.is_some()).map(|known| known.name);
    bail!(
        "policy {} cannot decide in the kernel: expected one of {}; or leave out --path kernel",
        policy.name(),
        in_kernel.collect::<Vec<_>>().join(", ")
    )
}

/// Makes sure that a policy can schedule a machine.
pub fn accepted(policy: &Setup, machine: &Machine) -> Result<()> {
    Ok(catalog::accepted(policy, machine)?)
}
