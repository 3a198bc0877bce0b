//! Plays every scenario under every policy, and judges.

use evenkeel_model::{CoreSet, Ns};
use evenkeel_sched::policy::check as accepts;
use evenkeel_sched::{POLICIES, Setup};

use crate::scenario::scenarios;
use crate::{Arm, Facts, Played, Policies, RATIO, Report, Scenario, Script, Step};

/// Plays every scenario under every policy of Evenkeel that it is for.
pub fn check(arm: &mut impl Arm) -> Report {
    check_policies(arm, &POLICIES.iter().copied().map(Setup::from).collect::<Vec<_>>())
}

/// Plays every scenario under those of these policies that it is for.
pub fn check_policies(arm: &mut impl Arm, policies: &[Setup]) -> Report {
    let facts = arm.facts();
    let mut report = Report { arm: facts.name.clone(), ..Report::default() };
    for scenario in scenarios(&facts) {
        if scenario.big > facts.big || scenario.little > facts.little {
            let Scenario { name, big, little, .. } = scenario;
            report.skipped.push(format!("{name}: {big} big and {little} little cores are needed"));
            continue;
        }
        for policy in policies {
            let judged = if is_for(&scenario, &facts, policy) {
                arm.play(&scenario, policy).and_then(|played| judge(&scenario, &facts, &played))
            } else if let Some(fault) = arm.refused() {
                Err(fault)
            } else {
                continue;
            };
            match judged {
                Ok(()) => report.passed += 1,
                Err(found) => report.failed.push(format!("{}, {}: {found}", scenario.name, policy.name())),
            }
        }
    }
    report
}

fn is_for(scenario: &Scenario, facts: &Facts, setup: &Setup) -> bool {
    let policy = setup.description();
    let meant = match scenario.policies {
        Policies::All => true,
        Policies::That(guarantee) => policy.guarantees.contains(&guarantee),
    };
    let chosen = facts.policies.is_none_or(|chosen| chosen.contains(&policy.name));
    meant && chosen && (facts.foretells || !policy.foresight) && accepts(&*setup.make(), &scenario.machine()).is_ok()
}

/// What every run must meet, and what its scenario expects.
///
/// # Errors
/// What was found and what was expected.
pub fn judge(scenario: &Scenario, facts: &Facts, played: &Played) -> Result<(), String> {
    if played.threads.len() != scenario.threads.len() {
        return Err(format!("{} threads of {} were seen", played.threads.len(), scenario.threads.len()));
    }
    for (number, (script, thread)) in scenario.threads.iter().zip(&played.threads).enumerate() {
        if !thread.ended {
            return Err(format!("thread {number} did not end: {thread:?}"));
        }
        let outside = thread.cores.minus(may_use(scenario, script));
        if !outside.is_empty() {
            return Err(format!("thread {number} ran on {outside:?}, which it does not allow"));
        }
        if let Some(grain) = facts.grain {
            let (done, work) = (thread.big.0 + thread.little.0 / RATIO, script.work());
            let off = grain.0 * (script.steps.len() as u64 + 1);
            if done.abs_diff(work.0) > off {
                return Err(format!("thread {number} had {} of the work of {work}", Ns(done)));
            }
        }
    }
    (scenario.expect)(scenario, facts, played)
}

/// Every core that a thread allows itself at some time, or is moved to.
fn may_use(scenario: &Scenario, script: &Script) -> CoreSet {
    let all = CoreSet::first(usize::from(scenario.big + scenario.little));
    let later = script.steps.iter().fold(CoreSet::EMPTY, |cores, step| match step {
        Step::Restrict(more) => cores.or(*more),
        Step::Displaced(core) => cores.with(*core),
        Step::Work(_) | Step::Sleep(_) => cores,
    });
    all.and(script.cores.or(later))
}
