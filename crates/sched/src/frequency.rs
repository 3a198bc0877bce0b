//! Which frequency a cluster should have, and when it may change.

use evenkeel_model::{Class, ClusterId, CoreId, FULL_LOAD, Hz, Ns};

use crate::governor::Governor;
use crate::state::State;

/// The frequency of a cluster: that for its most used core.
pub(crate) fn wanted(s: &State, cluster: ClusterId) -> Hz {
    let cluster = &s.machine.clusters[cluster.index()];
    let usage = cluster.cores.iter().map(|core| clamped_usage(s, core)).max().unwrap_or_default();
    let capacity = cluster.cores.iter().map(|core| s.capacity(core)).max().unwrap_or_default();
    s.governor.frequency(&s.machine.core_types[cluster.core_type.index()], usage, capacity)
}

/// Whether a cluster's frequency, which changed last at that time, should follow its use again. Changes are as far apart as
/// a thousand transitions, at most 10 ms (cpufreq_policy_transition_delay_us, Linux 4.17 to 6.8).
pub(crate) fn due(s: &State, last: Option<Ns>) -> bool {
    let limit = Ns(s.machine.costs.dvfs_transition.0.saturating_mul(1000)).min(Ns::from_ms(10));
    s.governor == Governor::Schedutil && last.is_none_or(|last| s.now.since(last) >= limit)
}

/// How much a core is used, within the clamps of its runnable threads, the largest of each (uclamp_rq_util_with). A
/// real-time thread counts as all of it.
fn clamped_usage(s: &State, core: CoreId) -> u32 {
    let runnable = s.core(core).current.into_iter().chain(s.core(core).queue.iter()).map(|thread| s.thread(thread));
    let clamps = runnable.map(|t| match t.class {
        Class::Fair { .. } => (t.clamp.min, t.clamp.max),
        Class::RealTime { .. } => (FULL_LOAD, FULL_LOAD),
    });
    let usage = s.usage(core, None);
    let clamp = clamps.reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)));
    clamp.map_or(usage, |(min, max)| usage.min(max).max(min))
}
