//! How fast cores should be.

use evenkeel_model::{ClusterId, CoreSet, FULL_LOAD, Hz, Machine};

/// A frequency as sched_ext has it: of which cores, and which part of their highest, of [`FULL_LOAD`].
pub(crate) fn level(machine: &Machine, cluster: ClusterId, frequency: Hz) -> (CoreSet, u32) {
    let cluster = &machine.clusters[cluster.index()];
    let most = machine.core_types[cluster.core_type.index()].max_frequency();
    let level = u128::from(frequency.0) * u128::from(FULL_LOAD) / u128::from(most.0.max(1));
    (cluster.cores, level.min(FULL_LOAD.into()) as u32)
}
