//! Large machines: CPUs in packages, caches and cores with threads, some of them offline, numbered with gaps.

use std::collections::BTreeMap;

use evenkeel_topology::{Topology, list};
use proptest::prelude::*;

use crate::sysfs::{read, round_trip};

/// A machine, and how its CPUs are numbered.
#[derive(Clone, Debug)]
struct Server {
    packages: u16,
    /// Last-level caches of a package.
    caches: u16,
    /// Cores of a cache.
    cores: u16,
    /// Threads of a core.
    threads: u16,
    /// CPU numbers are so far apart.
    stride: u16,
    /// Threads of a core follow each other, instead of all first threads before all second ones.
    adjacent: bool,
    /// Every so many cores, one is little; 0 for none.
    little: u16,
    /// Chooses the CPUs that are offline; 0 for none.
    offline: u16,
}

/// A CPU, and the numbers of what it is part of.
#[derive(Clone, Debug)]
struct CpuPosition {
    id: u16,
    core: u16,
    cache: u16,
    package: u16,
    capacity: u32,
}

impl Server {
    /// The CPUs that are online, ascending, and the numbers of the others.
    fn positions(&self) -> (Vec<CpuPosition>, Vec<u16>) {
        let cores = self.packages * self.caches * self.cores;
        let mut positions = Vec::new();
        for core in 0..cores {
            for thread in 0..self.threads {
                let position = if self.adjacent { core * self.threads + thread } else { thread * cores + core };
                let little = self.little > 0 && core % self.little == self.little - 1;
                positions.push(CpuPosition {
                    id: position * self.stride,
                    core,
                    cache: core / self.cores,
                    package: core / self.cores / self.caches,
                    capacity: if little { 446 } else { 1024 },
                });
            }
        }
        positions.sort_unstable_by_key(|position| position.id);
        let online = |position: &CpuPosition| {
            self.offline == 0 || position.id == 0 || !(position.id * 31).is_multiple_of(self.offline + 2)
        };
        let (online, offline): (Vec<CpuPosition>, Vec<CpuPosition>) = positions.into_iter().partition(online);
        (online, offline.into_iter().map(|position| position.id).collect())
    }

    /// The tree as Linux has it: what a CPU shares is listed without those that are offline, which have no topology.
    fn tree(&self) -> String {
        let (positions, offline) = self.positions();
        let ids = |of: &dyn Fn(&CpuPosition) -> bool| {
            list::text(
                &positions.iter().filter(|position| of(position)).map(|position| position.id).collect::<Vec<_>>(),
            )
        };
        let mut text = format!("sys/devices/system/cpu/online = {}\n", ids(&|_| true));
        let mut file = |cpu: u16, name: &str, value: String| {
            text += &format!("sys/devices/system/cpu/cpu{cpu}/{name} = {value}\n");
        };
        for position in &positions {
            file(position.id, "cpu_capacity", position.capacity.to_string());
            file(position.id, "topology/thread_siblings_list", ids(&|other| other.core == position.core));
            file(position.id, "topology/package_cpus_list", ids(&|other| other.package == position.package));
            file(position.id, "cache/index3/level", "3".into());
            file(position.id, "cache/index3/shared_cpu_list", ids(&|other| other.cache == position.cache));
        }
        for cpu in offline {
            file(cpu, "cpu_capacity", "77".into());
        }
        for package in 0..self.packages {
            let cpus = ids(&|position| position.package == package);
            text += &format!("sys/devices/system/node/node{package}/cpulist = {cpus}\n");
        }
        text
    }

    /// The topology of the tree has what the machine has.
    fn check(&self) {
        let (positions, _) = self.positions();
        let topology = read(&self.tree());
        let ids = |of: &dyn Fn(&CpuPosition) -> bool| -> Vec<u16> {
            positions.iter().filter(|position| of(position)).map(|position| position.id).collect()
        };
        assert_eq!(topology.ids(), ids(&|_| true));
        let mut capacities: Vec<u32> = positions.iter().map(|position| position.capacity).collect();
        capacities.sort_unstable();
        capacities.dedup();
        assert_eq!(topology.kinds.len(), capacities.len());
        for (cpu, position) in topology.cpus.iter().zip(&positions) {
            assert_eq!(cpu.siblings, ids(&|other| other.core == position.core), "{}", position.id);
            assert_eq!(
                (cpu.node, cpu.kind),
                (position.package, usize::from(position.capacity < capacities[capacities.len() - 1]))
            );
        }
        let first_threads = positions.iter().filter(|position| {
            positions.iter().find(|other| other.core == position.core).map(|first| first.id) == Some(position.id)
        });
        assert_eq!(topology.cores(), first_threads.count());
        clusters(&topology, &positions);
        round_trip(&topology);
        let some = list::text(&topology.ids()[..topology.cpus.len().div_ceil(2)]);
        round_trip(&topology.with(Some(&some), Some(""), None).expect("two cores to choose from"));
    }
}

/// Every CPU is in one cluster. These are the caches, where each that is left has several cores.
fn clusters(topology: &Topology, positions: &[CpuPosition]) {
    let mut all: Vec<u16> = topology.clusters.iter().flat_map(|shared| shared.cpus.clone()).collect();
    all.sort_unstable();
    assert_eq!(all, topology.ids());
    for cpu in &topology.cpus {
        assert!(topology.clusters[cpu.cluster].cpus.contains(&cpu.id));
    }
    let mut caches: BTreeMap<u16, (Vec<u16>, Vec<u16>)> = BTreeMap::new();
    for position in positions {
        let (cpus, cores) = caches.entry(position.cache).or_default();
        cpus.push(position.id);
        cores.push(position.core);
        cores.dedup();
    }
    if caches.values().all(|(_, cores)| cores.iter().any(|core| *core != cores[0])) {
        let mut expected: Vec<Vec<u16>> = caches.into_values().map(|(cpus, _)| cpus).collect();
        expected.sort_unstable();
        assert_eq!(topology.clusters.iter().map(|shared| shared.cpus.clone()).collect::<Vec<_>>(), expected);
    }
}

/// Two packages of 96 cores with two threads each, as in servers of 2024.
#[test]
fn a_server_of_384_cpus_is_read() {
    let server =
        Server { packages: 2, caches: 12, cores: 8, threads: 2, stride: 1, adjacent: false, little: 0, offline: 0 };
    server.check();
    let topology = read(&server.tree());
    assert_eq!(
        (topology.cpus.len(), topology.cores(), topology.clusters.len(), topology.nodes().len()),
        (384, 192, 24, 2)
    );
    assert_eq!(topology.cpus[0].siblings, [0, 192]);
    assert_eq!(topology.clusters[1].cpus, [list::parse("8-15").unwrap(), list::parse("200-207").unwrap()].concat());
}

/// More clusters than a byte counts.
#[test]
fn a_machine_has_more_than_256_clusters() {
    let server =
        Server { packages: 1, caches: 300, cores: 2, threads: 1, stride: 1, adjacent: true, little: 4, offline: 0 };
    let topology = read(&server.tree());
    assert_eq!((topology.cpus.len(), topology.clusters.len(), topology.kinds.len()), (600, 300, 2));
    round_trip(&topology);
}

prop_compose! {
    fn servers()(
        packages in 1u16..=3, caches in 1u16..=3, cores in 1u16..=8, threads in 1u16..=2,
        stride in 1u16..=2, adjacent: bool, little in 0u16..=3, offline in 0u16..=4,
    ) -> Server {
        Server { packages, caches, cores, threads, stride, adjacent, little, offline }
    }
}

proptest! {
    // Each is some hundred files.
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 16, ..ProptestConfig::default() })]

    #[test]
    fn servers_with_gaps_and_cpus_offline_are_read(server in servers()) {
        server.check();
    }
}
