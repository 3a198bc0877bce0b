//! Pools on cores that are said to differ. This machine's may be equal: what is tested is what the pool does, not how fast it gets. With one CPU
//! there is nothing to exchange.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use evenkeel_runtime::dedicated::{DedicatedOptions, DedicatedPool, WorkerStart, here};
use evenkeel_runtime::{Pool, PoolBuilder, Record, Techniques, What, join, par_for, scope};
use evenkeel_topology::Topology;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu};

/// The CPUs that this thread may use.
fn allowed() -> Vec<u16> {
    let mask = sched_getaffinity(None).unwrap();
    (0..CpuSet::MAX_CPU).filter(|cpu| mask.is_set(*cpu)).map(|cpu| cpu as u16).collect()
}

/// The first CPU is big, the second little.
fn one_and_one() -> Topology {
    let cpus = allowed();
    let machine = Topology::read("/".as_ref()).unwrap();
    machine.with(Some(&cpus[0].to_string()), Some(&cpus[1].to_string()), Some(3.0)).unwrap()
}

fn pool(techniques: Techniques, record: Record) -> Pool {
    PoolBuilder::new().cores(one_and_one()).techniques(techniques).record(record).build().unwrap()
}

/// Two tasks that end on the big CPU only, and not before both have begun: the second one to end has to be taken there.
fn mugs_once(pool: &Pool, big: u16) {
    let begun = AtomicUsize::new(0);
    let task = || {
        begun.fetch_add(1, Ordering::SeqCst);
        while begun.load(Ordering::SeqCst) < 2 || sched_getcpu() != usize::from(big) {
            std::thread::sleep(Duration::from_micros(50));
        }
    };
    pool.install(|| join(task, task));
}

#[test(two_cpus)]
fn workers_are_bound_while_they_work_and_not_afterwards() {
    let pool = pool(Techniques::BASE_M, Record::Nothing);
    let before = allowed();
    assert_eq!(pool.threads(), 2);
    let bound = pool.install(allowed);
    assert_eq!(bound, before[..1], "the caller works on a big core");
    assert_eq!(allowed(), before);
    let panicked = catch_unwind(AssertUnwindSafe(|| pool.install(|| join(|| panic!("on purpose"), || ()))));
    assert!(panicked.is_err());
    assert_eq!(allowed(), before, "a panic unbinds, too");
}

#[test(two_cpus)]
fn a_big_worker_that_waits_takes_over_the_little_core_s_task() {
    let pool = pool(Techniques::BASE_M, Record::Events);
    let before = allowed();
    for _ in 0..50 {
        mugs_once(&pool, before[0]);
        assert_eq!(allowed(), before);
    }
    assert!(pool.accounts().iter().map(|account| account.mugs).sum::<u64>() >= 50);
    let trace = pool.trace();
    let cpus = |worker| -> Vec<u16> {
        let mut cpus: Vec<u16> = trace.iter().filter(|event| event.worker == worker).map(|event| event.cpu).collect();
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    };
    assert_eq!(cpus(1).len(), 2, "the pool's own worker was on both cores");
    assert!(trace.iter().any(|event| event.what == What::Runs) && trace.is_sorted_by_key(|event| event.at));
    assert_eq!(pool.install(allowed), before[..1], "and the caller begins on a big core again");
}

/// The pools of `crates/rayon-core`. Two tasks that end where their thread is bound to the big CPU, and not before both have begun.
#[test(two_cpus)]
fn a_dedicated_pool_binds_its_threads_and_takes_over_the_little_core_s_task() {
    let options = DedicatedOptions { threads: 2, cores: Some(one_and_one()), ..DedicatedOptions::default() };
    let start = |worker: WorkerStart| std::thread::Builder::new().spawn(|| worker.run()).map(drop);
    let pool = DedicatedPool::start(options, start).unwrap();
    let (big, begun) = (allowed()[0], AtomicUsize::new(0));
    let task = |_: bool| {
        begun.fetch_add(1, Ordering::SeqCst);
        loop {
            let bound = allowed();
            assert_eq!(bound.len(), 1, "{bound:?}");
            if begun.load(Ordering::SeqCst) == 2 && bound == [big] {
                return;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    };
    pool.install(|| here(|worker| worker.unwrap().join(task, task)));
    pool.release();
    pool.wait_until_stopped();
}

#[test(two_cpus)]
fn no_task_is_mugged_without_mugging_and_no_thread_bound_without_techniques() {
    let pool = pool(Techniques::BASE, Record::Times);
    let sum = AtomicUsize::new(0);
    pool.install(|| par_for(0..10_000, |i| _ = sum.fetch_add(i, Ordering::Relaxed)));
    assert_eq!(sum.into_inner(), 49_995_000);
    assert!(pool.accounts().iter().all(|account| account.mugs == 0));
    let free = self::pool(Techniques::NONE, Record::Nothing);
    assert_eq!(free.install(allowed), allowed());
    assert!(free.accounts().is_empty() && free.trace().is_empty());
}

/// Whether a thread of this process is called so.
fn exists(name: &str) -> bool {
    let names = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    names.filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok()).any(|comm| comm.trim() == name)
}

#[test(two_cpus)]
fn tasks_take_turns_only_where_they_are_mugged_and_turns_are_on() {
    let machine = one_and_one();
    let pool = |name, techniques| PoolBuilder::new().cores(machine.clone()).techniques(techniques).name(name);
    let with = pool("with", Techniques::BASE_M).build().unwrap();
    while !exists("with-turns") {
        std::thread::sleep(Duration::from_micros(50));
    }
    let without = pool("without", Techniques::BASE_M).turns(false).record(Record::Times).build().unwrap();
    let base = pool("base", Techniques::BASE).build().unwrap();
    mugs_once(&without, allowed()[0]);
    assert!(!exists("without-turns") && !exists("base-turns"));
    assert!(without.accounts().iter().all(|account| account.turns == 0));
    drop((with, base));
}

#[test(two_cpus)]
fn panics_are_carried_however_often_cores_are_exchanged() {
    let pool = pool(Techniques::BASE_M, Record::Times);
    for round in 0..200 {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| {
                scope(|scope| {
                    for task in 0..4 {
                        scope.spawn(move |_| {
                            std::thread::sleep(Duration::from_micros(100));
                            assert!(task != round % 4, "on purpose");
                        });
                    }
                });
            });
        }));
        assert!(caught.is_err());
    }
}

#[test(two_cpus)]
fn a_stress_of_small_and_large_tasks_gives_the_same_sum() {
    fn sum(from: u64, to: u64) -> u64 {
        if to - from < 200 {
            if from.is_multiple_of(40_000) {
                std::thread::sleep(Duration::from_micros(200));
            }
            return (from..to).sum();
        }
        let middle = u64::midpoint(from, to);
        let (left, right) = join(|| sum(from, middle), || sum(middle, to));
        left + right
    }
    let machine = one_and_one();
    // More workers than cores: some share one, and exchanges still happen.
    for workers in [2, 8] {
        let builder = PoolBuilder::new().cores(machine.clone()).techniques(Techniques::BASE_M).threads(workers);
        let pool = builder.record(Record::Times).build().unwrap();
        for _ in 0..20 {
            assert_eq!(pool.install(|| sum(0, 400_000)), 79_999_800_000);
        }
    }
}

#[test(two_cpus)]
fn pools_come_and_go_while_they_are_bound() {
    let machine = one_and_one();
    let before = allowed();
    for _ in 0..50 {
        let pool = PoolBuilder::new().cores(machine.clone()).techniques(Techniques::BASE_M).build().unwrap();
        pool.spawn(|| std::thread::sleep(Duration::from_micros(50)));
        pool.install(|| join(|| (), || ()));
    }
    assert_eq!(allowed(), before);
}

#[test(two_cpus)]
fn a_pool_in_a_pool_leaves_the_outer_one_s_workers_where_they_are() {
    let [outer, inner] = [(); 2].map(|()| pool(Techniques::BASE_M, Record::Nothing));
    let before = allowed();
    let bound = outer.install(|| [allowed(), inner.install(allowed), allowed()]);
    assert!(bound.iter().all(|cpus| cpus.len() == 1), "{bound:?}");
    let inside = || inner.install(|| join(allowed, allowed));
    let (one, other) = outer.install(|| join(inside, inside));
    assert!([one.0, one.1, other.0, other.1].iter().all(|cpus| cpus.len() == 1));
    assert_eq!(allowed(), before);
}

#[test(two_cpus)]
fn a_pool_in_one_that_only_records_binds_its_caller() {
    let (outer, inner) = (pool(Techniques::NONE, Record::Times), pool(Techniques::BASE_M, Record::Nothing));
    let before = allowed();
    assert_eq!(outer.install(|| inner.install(allowed)), before[..1]);
    assert_eq!(allowed(), before);
}

#[test]
fn a_core_that_may_not_be_used_is_named_and_the_pool_works() {
    let cpus = allowed();
    let machine = Topology::read("/".as_ref()).unwrap();
    // A CPU that this machine does not have.
    let tree = tempfile::tempdir().unwrap();
    let folder = tree.path().join("sys/devices/system/cpu");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("online"), format!("{},{}", cpus[0], 1000)).unwrap();
    assert!(machine.cpu(1000).is_none());
    let elsewhere = Topology::read(tree.path()).unwrap().with(None, Some("1000"), None).unwrap();
    let pool = PoolBuilder::new().cores(elsewhere).techniques(Techniques::BASE_M).build().unwrap();
    let missing = pool.missing();
    assert_eq!(missing.iter().map(|missing| missing.what).collect::<Vec<_>>(), ["affinity"]);
    assert_eq!(pool.install(allowed), cpus);
    assert_eq!(pool.install(|| join(|| 1, || 2)), (1, 2));
}
