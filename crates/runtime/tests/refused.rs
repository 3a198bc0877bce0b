//! The system refuses threads. One test, because the limit is one for the whole process.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;

use evenkeel_runtime::{PoolBuilder, join};
use evenkeel_topology::Topology;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How much address space this process has, in bytes.
fn space() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    1024 * line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
}

#[test]
fn cores_that_differ_need_no_thread() {
    let mut machine = Topology::read("/".as_ref()).unwrap();
    if machine.cpus.len() > 1 {
        let [big, little] = [0, 1].map(|cpu: usize| machine.cpus[cpu].id.to_string());
        machine = machine.with(Some(&big), Some(&little), Some(3.0)).unwrap();
    }
    let before = getrlimit(Resource::As);
    // Less than a thread's stack is left.
    let tight = Rlimit { current: Some(space() + (1 << 20)), maximum: before.maximum };
    setrlimit(Resource::As, tight).unwrap();
    let pool = PoolBuilder::new().cores(machine.clone()).threads(2).build();
    setrlimit(Resource::As, before).unwrap();
    let pool = pool.unwrap();
    assert_eq!(pool.threads(), 1);
    assert!(pool.shortage().is_some());
    assert_eq!(pool.missing().iter().any(|missing| missing.what == "affinity"), machine.kinds.len() > 1);
    assert_eq!(pool.install(|| join(|| 1, || 2)), (1, 2));
}
