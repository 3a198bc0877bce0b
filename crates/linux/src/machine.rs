//! A machine of which only the capacities are known.

use evenkeel_model::{Cluster, ClusterId, Core, CoreSet, CoreType, CoreTypeId, Costs, Hz, Machine, Ns, Opp, Volts};

/// Cores of one capacity.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its name, such as `big`.
    pub name: String,
    /// How many times slower than the fastest group its cores are, 1 or more.
    pub slowdown: f64,
    /// Its cores, as positions in the machine.
    pub cores: CoreSet,
}

/// A machine of groups, the fastest first, that differ by nothing but speed. What is not known of it is taken from no
/// real machine: 1 GHz, unit power, and moves that cost 10 us in a group and 60 us to another.
pub fn of_groups(name: &str, groups: &[Group]) -> Machine {
    let count = groups.iter().map(|group| group.cores.len()).sum();
    let mut cores = vec![Core { core_type: CoreTypeId(0), cluster: ClusterId(0) }; count];
    for (id, group) in groups.iter().enumerate() {
        for core in group.cores.iter() {
            cores[core.index()] = Core { core_type: CoreTypeId(id as u8), cluster: ClusterId(id as u8) };
        }
    }
    let core_type = |group: &Group| CoreType {
        name: group.name.clone(),
        width: 8.0,
        extract: 1.0 / group.slowdown,
        overlap: 0.5,
        opps: vec![Opp { frequency: Hz(1_000_000_000), voltage: Volts(1.0) }],
        activity: 0.5,
        leakage: 0.1,
        idle_share: 0.1,
    };
    let cluster = |(id, group): (usize, &Group)| Cluster {
        name: group.name.clone(),
        core_type: CoreTypeId(id as u8),
        cores: group.cores,
        node: 0,
    };
    Machine {
        name: name.to_owned(),
        description: "known by its capacities only".to_owned(),
        core_types: groups.iter().map(core_type).collect(),
        clusters: groups.iter().enumerate().map(cluster).collect(),
        cores,
        costs: Costs {
            context_switch: Ns::from_us(2),
            wake: Ns::ZERO,
            migrate_in_cluster: Ns::from_us(10),
            migrate_across_clusters: Ns::from_us(60),
            dvfs_transition: Ns::from_us(100),
            tick: Ns::from_ms(4),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_model::CoreId;

    #[test]
    fn capacities_are_what_was_asked_for() {
        let group = |name: &str, slowdown, cores: &[u16]| Group {
            name: name.into(),
            slowdown,
            cores: cores.iter().copied().map(CoreId).collect(),
        };
        let machine = of_groups("x", &[group("big", 1.0, &[0, 2]), group("little", 3.0, &[1, 3])]);
        assert_eq!((machine.capacity(CoreTypeId(0)), machine.capacity(CoreTypeId(1))), (1024, 341));
        assert_eq!(machine.big().iter().map(|core| core.0).collect::<Vec<_>>(), [0, 2]);
    }
}
