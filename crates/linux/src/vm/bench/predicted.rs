//! What the simulator says of a bench, from recordings of it.

use std::collections::BTreeMap;

use evenkeel_model::metrics::{geometric_mean, h_antt};

use super::result::{Alone, Boot};
use super::scheduler::Scheduler;

/// What each program of a recorded run takes, in seconds, by scheduler.
pub(super) type Played = BTreeMap<Scheduler, Vec<f64>>;

/// What recordings of a bench say of a scheduler.
#[derive(Clone, Copy, Debug)]
pub struct Predicted {
    /// The mean of the makespans, in seconds.
    pub makespan_s: f64,
    /// The makespan against that of the guest's own scheduler, played from the same recording: the geometric mean.
    pub against_stock: f64,
    /// H_ANTT against that, where the recordings have as many programs as the bench. What each takes alone is measured.
    pub h_antt_against_stock: Option<f64>,
}

impl Predicted {
    /// `None` where the simulator does not know the scheduler, or there is no recording.
    pub(super) fn of(boots: &[Boot], scheduler: &Scheduler, stock: &Scheduler) -> Option<Self> {
        let mut makespans = Vec::new();
        let mut turnarounds = Vec::new();
        for (played, alone) in boots.iter().flat_map(|boot| boot.predicted.iter().map(|played| (played, &boot.alone))) {
            let (Some(here), Some(stock)) = (played.get(scheduler), played.get(stock)) else { continue };
            makespans.push((makespan(here), makespan(stock)));
            turnarounds.extend(turnaround(here, alone).zip(turnaround(stock, alone)));
        }
        let against = |pairs: &[(f64, f64)]| {
            geometric_mean(&pairs.iter().map(|(here, stock)| here / stock).collect::<Vec<_>>()).map(|ratio| ratio - 1.0)
        };
        let all: f64 = makespans.iter().map(|(here, _)| here).sum();
        Some(Self {
            makespan_s: all / makespans.len() as f64,
            against_stock: against(&makespans)?,
            h_antt_against_stock: against(&turnarounds),
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
