//! What the simulator says of a bench, from recordings of it.

use std::collections::BTreeMap;

use evenkeel_model::metrics::h_antt;
use evenkeel_model::{Difference, Ns};

use super::difference::of_boots;
use super::result::{Alone, Boot};
use super::scheduler::Scheduler;

/// What each program of a recorded run takes, in seconds, by scheduler.
pub(super) type Played = BTreeMap<Scheduler, Vec<f64>>;

/// What a switch between two threads takes in one boot under each scheduler that is not the guest's own.
pub(super) type Switches = BTreeMap<Scheduler, Ns>;

/// A figure of a run, from the times of its programs, and from those that each takes alone.
type Value<'a> = dyn Fn(&[f64], &[Alone]) -> Option<f64> + 'a;

/// What recordings of a bench say of a scheduler.
#[derive(Clone, Copy, Debug)]
pub struct Predicted {
    /// The mean of the makespans, in seconds.
    pub makespan_s: f64,
    /// The makespan against that of the guest's own scheduler, played from the same recording.
    pub against_stock: Difference,
    /// H_ANTT against that, where the recordings have as many programs as the bench. What each takes alone is measured.
    pub h_antt_against_stock: Option<Difference>,
}

impl Predicted {
    /// `None` where the simulator does not know the scheduler, or there is no recording.
    pub(super) fn of(boots: &[Boot], scheduler: &Scheduler, stock: &Scheduler) -> Option<Self> {
        let pairs = |boot: &Boot, value: &Value<'_>| -> Vec<f64> {
            let ratio = |played: &Played| {
                let (here, stock) = (played.get(scheduler)?, played.get(stock)?);
                Some(value(here, &boot.alone)? / value(stock, &boot.alone)?)
            };
            boot.predicted.iter().filter_map(ratio).collect()
        };
        let against = |value: &Value<'_>| of_boots(boots.iter().map(|boot| pairs(boot, value)));
        let all = boots.iter().flat_map(|boot| &boot.predicted).filter(|played| played.contains_key(stock));
        let makespans: Vec<f64> = all.filter_map(|played| played.get(scheduler)).map(|here| makespan(here)).collect();
        Some(Self {
            makespan_s: makespans.iter().sum::<f64>() / makespans.len() as f64,
            against_stock: against(&|programs, _| Some(makespan(programs)))?,
            h_antt_against_stock: against(&turnaround),
        })
    }
}

fn makespan(programs: &[f64]) -> f64 {
    programs.iter().copied().fold(0.0, f64::max)
}

fn turnaround(programs: &[f64], alone: &[Alone]) -> Option<f64> {
    let pairs: Vec<(f64, f64)> = programs.iter().copied().zip(alone.iter().map(|alone| alone.big_only_s)).collect();
    if programs.len() == alone.len() { h_antt(&pairs) } else { None }
}
