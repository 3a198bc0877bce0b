//! Recordings of simulated runs, played again.

mod common;

use common::there_and_back;
use evenkeel_model::machines;

#[test]
fn survey() {
    for machine in ["2B2S", "odroid-xu3", "i9-13900k"] {
        let machine = machines::by_name(machine).unwrap();
        for program in evenkeel_workload::suite::programs() {
            let workload = evenkeel_workload::by_name(&program.name).unwrap();
            let (first, again) = there_and_back(&machine, &workload);
            println!("{} {} {} {} {:+.2} %", machine.name, program.name, first, again, 100.0 * (again.0 as f64 / first.0 as f64 - 1.0));
        }
        for mix in ["Sync-1", "Sync-2", "Rand-7"] {
            let workload = evenkeel_workload::by_name(mix).unwrap();
            let (first, again) = there_and_back(&machine, &workload);
            println!("{} {} {} {} {:+.2} %", machine.name, mix, first, again, 100.0 * (again.0 as f64 / first.0 as f64 - 1.0));
        }
    }
}
