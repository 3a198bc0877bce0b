//! Totals over all rows of a machine.

use evenkeel_model::Difference;

use super::difference::of_boots;
use super::predicted::{Predicted, Switches};
use super::result::{Row, Run, Series};
use super::scheduler::{Host, Scheduler};

/// A scheduler's rows together, against the guest's own scheduler.
#[derive(Debug)]
pub struct Total {
    /// The scheduler.
    pub scheduler: Scheduler,
    /// How long programs take that compute and run alone: the geometric mean over them.
    pub programs: Option<Difference>,
    /// H_ANTT of the mixes of such programs: the geometric mean over them.
    pub mixes: Option<Difference>,
    /// What a switch between two threads takes under it, if that was measured: the mean of the boots, in seconds.
    pub switch_s: Option<f64>,
}

impl Total {
    /// Each repetition is a mean over the benches, so the spread is that of whole repetitions.
    pub(super) fn of(scheduler: &Scheduler, column: usize, series: &[Series<'_>], boots: &[Switches]) -> Self {
        let mean = |mixes: bool, value: fn(&Run) -> f64| {
            let chosen = series.iter().filter(|series| series.bench.computes());
            let chosen = chosen.filter(|series| (series.bench.members.len() > 1) == mixes);
            let chosen: Vec<&Series<'_>> = chosen.collect();
            let boots = chosen.iter().map(|series| series.boots.len()).min().unwrap_or(0);
            of_boots((0..boots).map(|boot| {
                let ratios = chosen.iter().map(|series| series.boots[boot].ratios(column, |run| Some(value(run))));
                let ratios: Vec<Vec<Option<f64>>> = ratios.collect();
                let repetitions = ratios.iter().map(Vec::len).min().unwrap_or(0);
                // A repetition without one of the benches would be a mean over others.
                let mean = |place: usize| {
                    let logs: Option<Vec<f64>> = ratios.iter().map(|ratios| ratios[place].map(f64::ln)).collect();
                    logs.map(|logs| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
                };
                (0..repetitions).filter_map(mean).collect()
            }))
        };
        let switches: Vec<f64> =
            boots.iter().filter_map(|boot| boot.get(scheduler)).map(|one| one.as_secs_f64()).collect();
        Self {
            scheduler: scheduler.clone(),
            programs: mean(false, |run| run.makespan),
            mixes: mean(true, |run| run.h_antt),
            switch_s: self::mean(&switches),
        }
    }
}

/// How far the simulator's predictions were off under one host.
#[derive(Clone, Debug)]
pub struct Accuracy {
    /// The host.
    pub host: Host,
    /// How many rows have a prediction.
    pub rows: usize,
    /// How far predicted times were from measured ones, as shares of these.
    pub times: Errors,
    /// How far predicted differences to the guest's own scheduler were from measured ones, as shares; none of that itself.
    pub against_stock: Option<Errors>,
    /// The mean of the same of the differences in H_ANTT.
    pub h_antt_mean_absolute_error: Option<f64>,
}

impl Accuracy {
    /// For each host that has predictions.
    pub(super) fn by_host(rows: &[Row]) -> Vec<Self> {
        let of = |host: Host| {
            let of_host = rows.iter().filter(|row| row.scheduler.host == host);
            let rows: Vec<(&Row, Predicted)> = of_host.filter_map(|row| Some((row, row.predicted?))).collect();
            let time = |row: &Row, predicted: Predicted| Some(predicted.makespan_s / row.makespan_s - 1.0);
            let against_stock =
                |row: &Row, predicted: Predicted| Some(predicted.against_stock.value - row.against_stock?.value);
            let h_antt = |(row, predicted): &(&Row, Predicted)| {
                Some((predicted.h_antt_against_stock?.value - row.h_antt_against_stock?.value).abs())
            };
            let differs = host != Host::Stock;
            Some(Self {
                host,
                rows: rows.len(),
                times: Errors::of(&rows, time)?,
                against_stock: Errors::of(&rows, against_stock).filter(|_| differs),
                h_antt_mean_absolute_error: mean(&rows.iter().filter_map(h_antt).collect::<Vec<_>>())
                    .filter(|_| differs),
            })
        };
        [Host::Stock, Host::Run, Host::Scx, Host::Daemon].into_iter().filter_map(of).collect()
    }
}

/// How far predictions of several rows were off, whether too high or too low.
#[derive(Clone, Debug)]
pub struct Errors {
    /// In the mean.
    pub mean: f64,
    /// In the median.
    pub median: f64,
    /// At most.
    pub largest: f64,
    /// Which bench and scheduler that is.
    pub of: (String, Scheduler),
}

impl Errors {
    fn of(rows: &[(&Row, Predicted)], off: impl Fn(&Row, Predicted) -> Option<f64>) -> Option<Self> {
        let off = |(row, predicted): &(&'_ Row, Predicted)| Some(off(row, *predicted)?.abs());
        let mut all: Vec<(f64, &Row)> = rows.iter().filter_map(|pair| Some((off(pair)?, pair.0))).collect();
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        let errors: Vec<f64> = all.iter().map(|(error, _)| *error).collect();
        let (largest, row) = all.last()?;
        Some(Self {
            mean: mean(&errors)?,
            median: f64::midpoint(errors[(errors.len() - 1) / 2], errors[errors.len() / 2]),
            largest: *largest,
            of: (row.bench.clone(), row.scheduler.clone()),
        })
    }
}

/// `None` without values.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
