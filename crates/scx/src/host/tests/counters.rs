//! Speedups, where instructions are counted.

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
