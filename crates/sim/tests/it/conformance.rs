//! The simulator does what every host must, with decisions that take effect at once and with late ones.

use evenkeel_conformance::{Arm, Simulator, check, judge, mixed};
use evenkeel_model::Ns;
use evenkeel_sched::{POLICIES, Setup};
use proptest::prelude::*;

#[test]
fn the_simulator_does_what_every_host_must() {
    for delay in [Ns::ZERO, Ns::from_us(50), Ns::from_ms(1)] {
        let report = check(&mut Simulator::new(delay));
        println!("{report}");
        assert!(report.failed.is_empty() && report.skipped.is_empty(), "{report}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_thread_is_lost_however_late_decisions_are(
        policy in 0..POLICIES.len(),
        (big, little, threads) in (1..3_u16, 1..4_u16, 1..14_u16),
        delay in 0..2_000_000_u64,
    ) {
        let mut arm = Simulator::new(Ns(delay));
        let scenario = mixed("random", big, little, threads);
        let setup = Setup::from(POLICIES[policy]);
        if evenkeel_sched::policy::check(&*setup.make(), &scenario.machine()).is_ok() {
            let played = arm.play(&scenario, &setup).map_err(TestCaseError::fail)?;
            judge(&scenario, &arm.facts(), &played).map_err(TestCaseError::fail)?;
        }
    }
}
