//! The machine and the policy, as the kernel's part reads them.

use evenkeel_model::{CoreId, CoreSet, CoreTypeId};
use evenkeel_sched::policy::parts::{energy, fair};
use evenkeel_sched::{Description, Setup, State};

use crate::skeleton::inside::types::{machine, place};

/// The policies whose decisions the kernel's part makes by itself, in the order of its `enum policy`.
pub const IN_KERNEL: [&str; 8] = ["cfs", "fcf", "bias", "pfs", "gts", "wash", "colab", "eas"];

/// Units of `struct step`'s power in a watt.
const POWER: f64 = (1_u64 << 40) as f64;

/// Whether the kernel's part decides by itself under a policy.
pub fn decides(policy: &Description) -> bool {
    IN_KERNEL.contains(&policy.name)
}

/// Whether the kernel's part is to follow how much cores are used.
pub(super) fn reads_usage(policy: &Setup) -> bool {
    ["gts", "eas"].contains(&policy.description().name)
}

/// `struct machine` of `bpf/policy/state.h`, for a scheduler's machine whose core `i` is the CPU `cpus[i]`.
pub(super) fn described(s: &State, cpus: &[u16], policy: &Setup) -> machine {
    let name = policy.description().name;
    let types = s.machine.core_types.len() as u8;
    let least = s.machine.capacity(CoreTypeId(types.saturating_sub(1)));
    let mut nodes: Vec<CoreSet> = Vec::new();
    let mut described = machine {
        policy: IN_KERNEL.iter().position(|known| *known == name).unwrap_or_default() as u32,
        cores: s.cores.len() as u32,
        caches: s.caches.len() as u32,
        clusters: s.machine.clusters.len() as u32,
        types: types.into(),
        least,
        speedup: 1024 * 1024 / least.max(1),
        scale: fair::latency(s).0 as u32 / 6_000_000,
        stays: u32::from(name == "bias" && policy.switch("stay-on-node")),
        takeover: match name {
            "colab" if policy.word("takeover") == "blamed" => 1,
            "colab" if policy.word("takeover") == "none" => 2,
            _ => 0,
        },
        deal: u32::from(name == "colab" && policy.word("deal") == "load"),
        ..machine::default()
    };
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
