//! What the policy and the governor of frequencies are told: speedups, where instructions are counted, blame, and use.

use evenkeel_model::Instructions;

use super::*;
use crate::speedups::Pmu;

#[test]
fn where_instructions_are_counted_speedups_are_measured() {
    let (mut driver, pmu) = (driver("colab"), Pmu::default());
    driver.count_by(pmu.counters());
    driver.orders.begin(100, 1);
    driver.orders.ready(100, 0, true);
    let runs = |driver: &mut Driver<Kernel>, mask: u64, rate: u64| {
        driver.orders.mask(100, mask);
        for _ in 0..4 {
            listen(driver, false, false);
            (0..4).for_each(|cpu| driver.orders.dispatch(cpu, false));
        }
        listen(driver, false, true);
        for _ in 0..2 {
            driver.orders.now += Ns::from_ms(10);
            pmu.set(pmu.get() + rate * 10_000_000);
            listen(driver, true, true);
        }
        driver.sched.state().thread(driver.by_tid[&100]).speedup
    };
    assert_eq!(runs(&mut driver, 1, 4), None, "it has not run on a little core");
    runs(&mut driver, 1 << 3, 1);
    assert_eq!(runs(&mut driver, 1 << 3, 1), Some(4.0));
    assert_eq!(driver.missing(), None);
    let thread = driver.sched.state().thread(driver.by_tid[&100]);
    // Of 120 million: the first count has nothing to compare with, and what it retired on the type that it left is not told.
    assert_eq!(thread.instructions, Some(Instructions(60_000_000)));
}

#[test]
fn who_holds_others_up_in_a_futex_is_blamed() {
    let mut driver = driver("colab");
    for tid in 100..103 {
        driver.orders.begin(tid, u64::MAX);
        driver.orders.ready(tid, 0, true);
    }
    listen(&mut driver, false, false);
    (0..4).for_each(|cpu| driver.orders.dispatch(cpu, false));
    listen(&mut driver, false, false);
    let waits = driver.orders.cpu_of(101).unwrap();
    driver.orders.blocks(waits, false);
    driver.orders.now += Ns::from_ms(30);
    driver.orders.woken(101, 100, Ns::from_ms(30));
    listen(&mut driver, false, true);
    let blame = |tid: Tid| driver.sched.state().thread(driver.by_tid[&tid]).blame;
    assert_eq!([100, 101, 102].map(blame), [Ns::from_ms(30), Ns::ZERO, Ns::ZERO]);
}

/// A cluster's cores are as fast as the thread on one of them needs, if the kernel's governor asks.
#[test]
fn the_governor_is_told_how_much_cores_are_used() {
    let levels = |speeds: Speeds| {
        let machine = machines::by_name("odroid-xu3").unwrap();
        let cpus = machine.cores.len() as u16;
        let policy = Setup::parse("fcf").unwrap();
        let mut driver = Driver::new(Kernel::new(cpus.into()), machine, (0..cpus).collect(), &policy, speeds, Ns::ZERO);
        driver.orders.begin(100, u64::MAX);
        driver.orders.ready(100, 0, true);
        for _ in 0..100 {
            listen(&mut driver, true, false);
            (0..cpus.into()).for_each(|cpu| driver.orders.dispatch(cpu, false));
            driver.orders.now += Ns::from_ms(4);
        }
        let runs = driver.orders.cpu_of(100).unwrap();
        let busy = driver.orders.levels.get(&(runs as u16)).copied();
        driver.orders.blocks(runs, false);
        listen(&mut driver, true, false);
        driver.orders.now += Ns::from_ms(400);
        // An idle cluster stays as it is until a thread comes to it: one that is new counts as half as busy.
        driver.orders.begin(101, 1 << runs);
        driver.orders.ready(101, runs, true);
        for _ in 0..2 {
            listen(&mut driver, true, false);
            (0..cpus.into()).for_each(|cpu| driver.orders.dispatch(cpu, false));
        }
        (busy, driver.orders.levels.values().copied().max(), driver.figures().frequencies)
    };
    let (busy, idle, told) = levels(Speeds::asking(vec![1024; 8]));
    // schedutil adds a quarter: all of the core.
    assert_eq!(busy, Some(1024 * 4 / 5));
    assert!(idle < busy && told > Some(8), "{idle:?} {told:?}");
    assert_eq!(levels(Speeds::default()), (None, None, None));
}
