//! The machine and the policy, as the kernel's part reads them.

use evenkeel_model::{CoreId, CoreSet, CoreTypeId};
use evenkeel_sched::policy::parts::{energy, fair};
use evenkeel_sched::{Setup, State};

use crate::skeleton::inside::types::{machine, place};

/// Units of `struct step`'s power in a watt.
const POWER: f64 = (1_u64 << 40) as f64;

/// `struct machine` of `bpf/policy/state.h`, for a scheduler's machine whose core `i` is the CPU `cpus[i]`.
pub(super) fn described(s: &State, cpus: &[u16], policy: &Setup) -> machine {
    let in_kernel = policy.description().in_kernel.unwrap_or_default();
    let types = s.machine.core_types.len() as u8;
    let least = s.machine.capacity(CoreTypeId(types.saturating_sub(1)));
    let mut nodes: Vec<CoreSet> = Vec::new();
    let mut described = machine {
        policy: in_kernel.number,
        cores: s.cores.len() as u32,
        caches: s.caches.len() as u32,
        clusters: s.machine.clusters.len() as u32,
        types: types.into(),
        least,
        speedup: 1024 * 1024 / least.max(1),
        scale: fair::latency(s).0 as u32 / 6_000_000,
        span: in_kernel.span.map_or(0, |knob| policy.time(knob).0 as i64),
        ..machine::default()
    };
    for (place, knob) in described.choices.iter_mut().zip(in_kernel.choices) {
        *place = policy.choice(knob);
    }
    for (place, knob) in described.numbers.iter_mut().zip(in_kernel.numbers) {
        *place = policy.whole(knob);
    }
    for (id, steps) in described.steps.iter_mut().enumerate().take(s.machine.core_types.len()) {
        for (step, (from, power)) in steps.iter_mut().zip(energy::steps(s, CoreTypeId(id as u8))) {
            (step.from, step.power) = (from, (power * POWER) as u64);
        }
    }
    for core in s.machine.all().iter() {
        let node = s.machine.node_of(core);
        if !nodes.contains(&node) {
            nodes.push(node);
        }
        described.places[core.index()] = place_of(s, core, cpus[core.index()], &nodes);
    }
    described
}

fn place_of(s: &State, core: CoreId, cpu: u16, nodes: &[CoreSet]) -> place {
    let number =
        |sets: &[CoreSet], set: &dyn Fn(&CoreSet) -> bool| sets.iter().position(set).unwrap_or_default() as u32;
    let own = &s.machine.cores[core.index()];
    let (cache, node) = (s.machine.sharing_cache(core), s.machine.node_of(core));
    let mut place = place {
        cpu: cpu.into(),
        r#type: own.core_type.0.into(),
        capacity: s.capacity(core),
        cache: number(&s.caches, &|cores| cores.contains(core)),
        node: number(nodes, &|cores| *cores == node),
        cluster: own.cluster.0.into(),
        levels: s.domains[core.index()].len() as u32,
        ..place::default()
    };
    for (level, domain) in s.domains[core.index()].iter().enumerate() {
        // `enum domain`.
        place.domains[level] = match *domain {
            same if same == cache => 0,
            same if same == node => 1,
            _ => 2,
        };
        place.sizes[level] = domain.len() as u32;
    }
    place
}

#[cfg(test)]
mod tests {
    use evenkeel_sched::POLICIES;

    use super::*;

    /// What a policy says of its part in the kernel is what that part has.
    #[test]
    fn policies_know_how_the_kernel_has_them() {
        let state = include_str!("../bpf/policy/state.h");
        let (_, rest) = state.split_once("enum policy {").unwrap();
        let (numbered, _) = rest.split_once('}').unwrap();
        let numbered: Vec<String> =
            numbered.split(',').map(|name| name.trim().to_lowercase().replace('_', "-")).collect();
        let known = POLICIES.iter().filter_map(|policy| Some((policy, policy.in_kernel?)));
        for (policy, in_kernel) in known.clone() {
            assert_eq!(numbered.get(in_kernel.number as usize).map(String::as_str), Some(policy.name));
            assert!(in_kernel.choices.len() <= machine::default().choices.len(), "{}", policy.name);
            in_kernel.choices.iter().for_each(|knob| assert_eq!(Setup::from(*policy).choice(knob), 0));
            assert!(in_kernel.numbers.len() <= machine::default().numbers.len(), "{}", policy.name);
            // Of another kind it would panic.
            in_kernel.numbers.iter().for_each(|knob| _ = Setup::from(*policy).whole(knob));
        }
        assert_eq!(known.count(), numbered.len());
    }
}
