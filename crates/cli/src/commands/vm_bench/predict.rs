//! Sim-to-real: a recorded run is played under what schedules it in the guest.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use evenkeel_experiment::{Beside, LINUX, prediction};
use evenkeel_linux::host::Simulated;
use evenkeel_linux::vm::bench::{Bench, Host, Played, Scheduler};
use evenkeel_model::{Machine, Ns};
use evenkeel_sched::Setup;
use evenkeel_sched::steering::Steering;
use evenkeel_workload::recording::Recording;

use crate::args::beside;
use crate::catalog;

/// What `evenkeel run` takes for a sample and what follows, in a guest that is emulated: 0.67 s for 68 samples of a program of five threads,
/// 0.76 s for 77 (`cost_s` and `samples` of `evenkeel vm -m 2B2S:3 --accel tcg -- evenkeel run --format json -- ./program`).
const EMULATED_SAMPLE: Ns = Ns::from_ms(10);

fn beside_emulated(machine: &Machine, policy: &Setup) -> Box<dyn Steering> {
    Box::new(Simulated::new(machine, policy, EMULATED_SAMPLE))
}

/// A recorded run of a bench, played several times under each scheduler. A switch takes as long as the recording says if it was not measured
/// under the scheduler.
pub fn play(
    file: &Path,
    bench: &Bench,
    schedulers: &[(&Scheduler, Option<Ns>)],
    emulated: bool,
) -> Result<Vec<Vec<Played>>> {
    let path = file.display().to_string();
    let text = fs::read_to_string(file).with_context(|| format!("{path}: cannot be read"))?;
    let recording = Recording::from_text(&text, &path)?;
    // As they are timed.
    let whole: Vec<bool> = bench.members.iter().map(|member| member.program.is_own()).collect();
    let steers: Beside = if emulated { beside_emulated } else { beside };
    let play = |(scheduler, switch): &(&Scheduler, Option<Ns>)| {
        let beside = (scheduler.host == Host::Run).then_some(steers);
        let policy = catalog::policy(if scheduler.is_stock() { LINUX } else { &scheduler.policy })?;
        let played = prediction::play(&path, recording.clone(), &whole, policy, beside, *switch)?.into_iter();
        let told = |prediction::Played { programs_s, began_on_big }| Played { programs_s, began_on_big };
        Ok(played.map(told).collect())
    };
    schedulers.iter().map(play).collect()
}
