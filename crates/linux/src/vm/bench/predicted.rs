//! What the simulator says of a bench, from recordings of it.

use std::collections::BTreeMap;

use evenkeel_model::metrics::{geometric_mean, h_antt, h_stp};
use evenkeel_model::{Difference, Ns};

use super::difference::of_boots;
use super::result::{Alone, Boot};
use super::scheduler::Scheduler;
use super::totals::mean;

/// A recorded run that the simulator has played once.
#[derive(Clone, Debug)]
pub struct Played {
    /// The seconds that each program takes.
    pub programs_s: Vec<f64>,
    /// Which of them began on a big core.
    pub began_on_big: Vec<bool>,
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
    /// H_STP against that, where H_ANTT is.
    pub h_stp_against_stock: Option<Difference>,
}

impl Predicted {
    /// Of one of the schedulers, of which the first is the guest's own. `None` where the simulator does not know it, or there is no recording.
    pub(super) fn of(boots: &[Boot], schedulers: &[Scheduler], column: usize) -> Option<Self> {
        let against = |value: &Value<'_>| {
            let of_boot = |boot: &Boot| {
                let of = |predictions: &Predictions, column: usize| {
                    let counted = counted(boot, predictions, &schedulers[column], column, value)?;
                    geometric_mean(&counted.iter().filter_map(|values| geometric_mean(values)).collect::<Vec<_>>())
                };
                let ratio = |predictions| Some(of(predictions, column)? / of(predictions, 0)?);
                boot.predicted.iter().filter_map(ratio).collect()
            };
            of_boots(boots.iter().map(of_boot))
        };
        let makespan: &Value<'_> = &|programs, _| Some(programs.iter().copied().fold(0.0, f64::max));
        let mean_of_boot = |boot: &'_ Boot| -> Vec<f64> {
            let of = |predictions| {
                let counted = counted(boot, predictions, &schedulers[column], column, makespan)?;
                mean(&counted.iter().filter_map(|values| mean(values)).collect::<Vec<_>>())
            };
            boot.predicted.iter().filter(|played| played.contains_key(&schedulers[0])).filter_map(of).collect()
        };
        Some(Self {
            makespan_s: mean(&boots.iter().flat_map(mean_of_boot).collect::<Vec<_>>())?,
            against_stock: against(makespan)?,
            h_antt_against_stock: against(&|programs, alone| h_antt(&beside(programs, alone)?)),
            h_stp_against_stock: against(&|programs, alone| Some(h_stp(&beside(programs, alone)?))),
        })
    }
}

/// What a figure is in the runs that were played and count, by measured run: those whose programs began as its programs did, or as many of
/// them as in any. What takes all cores for equal begins a program on any, by chance, and one that is alone stays there. Where nothing was
/// measured all count.
fn counted(
    boot: &Boot,
    predictions: &Predictions,
    scheduler: &Scheduler,
    column: usize,
    value: &Value<'_>,
) -> Option<Vec<Vec<f64>>> {
    let played = predictions.get(scheduler)?;
    let values: Option<Vec<f64>> = played.iter().map(|one| value(&one.programs_s, &boot.alone)).collect();
    let values = values?;
    let like = |began: Vec<Option<bool>>| {
        let differ = |one: &Played| {
            let pairs = one.began_on_big.iter().zip(&began);
            pairs.filter(|(played, measured)| measured.is_some_and(|measured| measured != **played)).count()
        };
        let least = played.iter().map(differ).min();
        played.iter().zip(&values).filter(|(one, _)| Some(differ(one)) == least).map(|(_, value)| *value).collect()
    };
    let measured: Vec<Vec<f64>> = boot.began_on_big(column).map(like).collect();
    Some(if measured.is_empty() { vec![values] } else { measured })
}

/// The time of each program beside that which it takes alone on big cores; `None` for a recording without one of them.
fn beside(programs: &[f64], alone: &[Alone]) -> Option<Vec<(f64, f64)>> {
    let alone_s = alone.iter().map(|alone| alone.big_only_s);
    (programs.len() == alone.len()).then(|| programs.iter().copied().zip(alone_s).collect())
}
