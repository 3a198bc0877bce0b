//! A machine with round numbers.

use evenkeel_model::{
    Cluster, ClusterId, Core, CoreId, CoreSet, CoreType, CoreTypeId, Costs, Hz, Machine, Ns, Opp, Volts,
};

/// How many times as long work takes on a little core.
pub const RATIO: u64 = 2;

/// `big` cores before `little` ones, no costs, a tick of 1 ms. With code of unlimited parallelism a big core retires 2
/// instructions a ns and a little one 1.
pub fn machine(big: u16, little: u16) -> Machine {
    let mut machine = Machine {
        name: format!("{big}B{little}S"),
        description: String::new(),
        core_types: Vec::new(),
        clusters: Vec::new(),
        cores: Vec::new(),
        siblings: Vec::new(),
        memory_gbps: None,
        costs: Costs {
            context_switch: Ns::ZERO,
            process_switch: Ns::ZERO,
            wake: Ns::ZERO,
            take: Ns::ZERO,
            futex: Ns::ZERO,
            line_in_cluster: Ns::ZERO,
            line_across_clusters: Ns::ZERO,
            migrate_in_cluster: Ns::ZERO,
            migrate_across_clusters: Ns::ZERO,
            remote_memory: 1.0,
            dvfs_transition: Ns::ZERO,
            tick: Ns::from_ms(1),
        },
    };
    let kinds = [(big, "big", 1000 * RATIO), (little, "little", 1000)];
    for (count, name, mhz) in kinds.into_iter().filter(|kind| kind.0 > 0) {
        let id = machine.clusters.len() as u8;
        let first = machine.cores.len() as u16;
        machine.core_types.push(CoreType {
            name: name.into(),
            width: 1.0,
            extract: 1.0,
            overlap: 0.0,
            opps: vec![Opp { frequency: Hz::from_mhz(mhz), voltage: Volts(1.0) }],
            activity: 1.0,
            leakage: 0.1,
            idle_share: 0.5,
            smt: 1.0,
        });
        let cores: CoreSet = (first..first + count).map(CoreId).collect();
        let name = name.into();
        let (core_type, cache) = (CoreTypeId(id), id.into());
        machine.clusters.push(Cluster { name, core_type, cores, node: 0, cache, cache_mb: None, memory_gbps: None });
        let core = Core { core_type: CoreTypeId(id), cluster: ClusterId(id.into()) };
        machine.cores.extend(std::iter::repeat_n(core, count.into()));
    }
    machine
}
