//! The programs of `workloads/odroid-parsec.toml` are those of Table I of "Exploiting Asymmetric Multi-Core Processors with
//! Flexible System Software".

use evenkeel_model::machines;
use evenkeel_workload::{suite, validate};

/// How many times faster a big core is than a little one.
const TABLE_I: [(&str, f64); 9] = [
    ("blackscholes", 2.18),
    ("bodytrack", 4.16),
    ("canneal", 1.73),
    ("dedup", 2.67),
    ("facesim", 3.40),
    ("ferret", 3.59),
    ("fluidanimate", 2.64),
    ("streamcluster", 3.48),
    ("swaptions", 2.78),
];

fn programs() -> impl Iterator<Item = (String, f64)> {
    TABLE_I.into_iter().map(|(name, ratio)| (format!("{name}-pthread"), ratio))
}

#[test]
fn perf_ratios_are_those_of_table_i() {
    let odroid = machines::by_name("odroid-xu3").unwrap();
    let [big, little] = [odroid.with_cores(1, 0).unwrap(), odroid.with_cores(0, 1).unwrap()];
    for (name, published) in programs() {
        let program = suite::program(&name, Some(1)).unwrap();
        let alone = |machine: &evenkeel_model::Machine| -> f64 {
            let kind = &machine.core_types[0];
            let rate = |b: &_| machine.rate(evenkeel_model::CoreTypeId(0), kind.max_frequency(), b);
            suite::busy_ns(&program, rate).iter().sum()
        };
        let ratio = alone(&little) / alone(&big);
        assert!((ratio / published - 1.0).abs() < 0.01, "{name}: {ratio} for {published}");
    }
    assert_eq!(suite::programs().filter(|program| program.suite == "odroid-parsec").count(), TABLE_I.len());
}

#[test]
fn the_work_is_the_same_on_any_number_of_cores() {
    for (name, _) in programs() {
        let instructions = |n| suite::totals(&name, Some(n)).unwrap().instructions;
        let usual = instructions(8);
        for n in [1, 4, 5, 6, 7] {
            assert!((instructions(n) / usual - 1.0).abs() < 1e-3, "{name} with {n}: {} for {usual}", instructions(n));
            assert_eq!(validate::program(&suite::program(&name, Some(n)).unwrap()), Ok(()));
        }
    }
}
