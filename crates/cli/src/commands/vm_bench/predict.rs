//! Sim-to-real: a recorded run is played under what schedules it in the guest.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use evenkeel_experiment::{Beside, LINUX, prediction};
use evenkeel_linux::host::Simulated;
use evenkeel_linux::vm::bench::{Host, Scheduler};
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

/// What the programs of a recorded run are predicted to take under each scheduler, in seconds.
pub fn times(file: &Path, schedulers: &[&Scheduler], emulated: bool) -> Result<Vec<Vec<f64>>> {
    let path = file.display().to_string();
    let text = fs::read_to_string(file).with_context(|| format!("{path}: cannot be read"))?;
    let runs = |scheduler: &&Scheduler| scheduler.host == Host::Run;
    let mut found = vec![Vec::new(); schedulers.len()];
    let beside: Beside = if emulated { beside_emulated } else { beside };
    for (wanted, beside) in [(false, None), (true, Some(beside))] {
        let places: Vec<usize> = (0..schedulers.len()).filter(|place| runs(&schedulers[*place]) == wanted).collect();
        let policies = places.iter().map(|place| policy(schedulers[*place])).collect::<Result<Vec<_>>>()?;
        if policies.is_empty() {
            continue;
        }
        let times = prediction::times(&path, Recording::from_text(&text, &path)?, policies, beside)?;
        places.into_iter().zip(times).for_each(|(place, times)| found[place] = times);
    }
    Ok(found)
}

fn policy(scheduler: &Scheduler) -> Result<Setup> {
    catalog::policy(if scheduler.is_stock() { LINUX } else { &scheduler.policy })
}
