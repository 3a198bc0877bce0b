//! The cores that a thread's mask allows.

use evenkeel_model::{CoreId, CoreSet, Machine};
use evenkeel_workload::program::SchedParams;

/// The cores of a mask that exist here, as `sched_setaffinity` takes it.
pub(crate) fn cores_of(machine: &Machine, params: &SchedParams) -> CoreSet {
    let Some(cpus) = &params.cpus else { return machine.all() };
    let there = cpus.iter().filter(|cpu| usize::from(**cpu) < machine.cores.len());
    there.map(|cpu| CoreId(*cpu)).collect()
}
