//! What the simulator says of a bench, from recordings of it.

use std::collections::BTreeMap;

use evenkeel_model::metrics::{geometric_mean, h_antt};
use evenkeel_model::{Difference, Ns};

use super::difference::of_boots;
use super::result::{Alone, Boot};
use super::scheduler::Scheduler;

/// A recorded run that the simulator has played once.
#[derive(Clone, Debug)]
pub struct Played {
    /// The seconds that each program takes.
    pub programs_s: Vec<f64>,
    /// Which share of the programs began on a big core.
    pub began_on_big: f64,
}

/// How a recording was played under each scheduler.
pub(super) type Predictions = BTreeMap<Scheduler, Vec<Played>>;

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
        let all = |boot: &Boot, value: &Value<'_>| -> Vec<(f64, f64)> {
            let both = |predictions: &Predictions| {
                let of = |scheduler| mean(boot, predictions, scheduler, value);
                Some((of(scheduler)?, of(stock)?))
            };
            boot.predicted.iter().filter_map(both).collect()
        };
        let against = |value: &Value<'_>| {
            let ratios = |boot| all(boot, value).into_iter().map(|(here, stock)| here / stock).collect();
            of_boots(boots.iter().map(ratios))
        };
        let makespan: &Value<'_> = &|programs, _| Some(programs.iter().copied().fold(0.0, f64::max));
        let makespans: Vec<f64> = boots.iter().flat_map(|boot| all(boot, makespan)).map(|(here, _)| here).collect();
        Some(Self {
            makespan_s: makespans.iter().sum::<f64>() / makespans.len() as f64,
            against_stock: against(makespan)?,
            h_antt_against_stock: against(&turnaround),
        })
    }
}

/// What a figure is under a scheduler: the geometric mean over the runs that were played. Policies choose a core at once. The guest's
/// own scheduler takes all for equal, so that it is chance where programs begin, and one that is alone stays there: for each run that
/// was measured in this boot those count whose programs began as its programs did, or as nearly so as any.
fn mean(boot: &Boot, predictions: &Predictions, scheduler: &Scheduler, value: &Value<'_>) -> Option<f64> {
    let played = predictions.get(scheduler)?;
    let values: Option<Vec<f64>> = played.iter().map(|one| value(&one.programs_s, &boot.alone)).collect();
    let values = values?;
    let like = |share: f64| {
        let off = |one: &Played| (one.began_on_big - share).abs();
        let least = played.iter().map(off).fold(f64::INFINITY, f64::min);
        let chosen = played.iter().zip(&values).filter(|(one, _)| off(one) <= least + 1e-9);
        geometric_mean(&chosen.map(|(_, value)| *value).collect::<Vec<_>>())
    };
    let measured = if scheduler.is_stock() { boot.began_on_big() } else { Vec::new() };
    if measured.is_empty() {
        return geometric_mean(&values);
    }
    geometric_mean(&measured.into_iter().filter_map(like).collect::<Vec<_>>())
}

fn turnaround(programs: &[f64], alone: &[Alone]) -> Option<f64> {
    let pairs: Vec<(f64, f64)> = programs.iter().copied().zip(alone.iter().map(|alone| alone.big_only_s)).collect();
    if programs.len() == alone.len() { h_antt(&pairs) } else { None }
}
