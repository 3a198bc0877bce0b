//! The driver does what every host must, over a mock of the kernel.

use evenkeel_conformance::{Arm, Facts, Played, RATIO, Scenario, check, judge, mixed};
use evenkeel_sched::POLICIES;
use proptest::prelude::*;

use super::kernel::{Kernel, PERIOD, QUANTUM};
use super::*;

struct Sampling;

/// Longer than any scenario takes, in samples.
const END: u32 = 1000;

impl Arm for Sampling {
    fn facts(&self) -> Facts {
        Facts {
            name: "affinity host, over a mock of the kernel".into(),
            big: 32,
            little: 32,
            period: PERIOD,
            delay: Ns::ZERO,
            steady: true,
            overhead: 0.0,
            grain: Some(QUANTUM),
            displaces: true,
            policies: None,
            foretells: false,
        }
    }

    fn play(&mut self, scenario: &Scenario, policy: &Setup) -> Result<Played, String> {
        let Scenario { big, little, .. } = scenario;
        let mut kernel = Kernel::new(&format!("{big}B{little}S:{RATIO}"), policy);
        let mut waiting = scenario.threads.iter().peekable();
        for _ in 0..END {
            while let Some(script) = waiting.next_if(|script| script.begins <= kernel.now) {
                let all = CoreSet::first(usize::from(kernel.spec.cores()));
                kernel.start_script(script.on.0, script.cores.and(all), script.steps.iter().copied().collect());
            }
            if kernel.threads.is_empty() && waiting.peek().is_none() {
                break;
            }
            kernel.sample();
        }
        Ok(Played { stale: kernel.driver.stale(), threads: kernel.played })
    }
}

#[test]
fn the_affinity_host_does_what_every_host_must() {
    let report = check(&mut Sampling);
    println!("{report}");
    assert!(report.failed.is_empty() && report.skipped.is_empty(), "{report}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_thread_is_lost_whatever_the_policy_and_the_machine(
        policy in 0..POLICIES.len(),
        (big, little, threads) in (1..3_u16, 1..4_u16, 1..14_u16),
    ) {
        let scenario = mixed("random", big, little, threads);
        let setup = Setup::from(POLICIES[policy]);
        let made = setup.make();
        if !setup.description().foresight && evenkeel_sched::policy::check(&*made, &scenario.machine()).is_ok() {
            let played = Sampling.play(&scenario, &setup).map_err(TestCaseError::fail)?;
            judge(&scenario, &Sampling.facts(), &played).map_err(TestCaseError::fail)?;
        }
    }
}
