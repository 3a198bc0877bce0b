//! What was measured, beside what would be ideal.

use std::collections::BTreeMap;

use super::error::{Error, time_of};
use super::programs::Bench;
use crate::spec::Spec;
use crate::vm::Shares;

/// All runs on one machine.
#[derive(Debug)]
pub struct Measured {
    /// The machine.
    pub spec: Spec,
    /// Its cores' shares of a real one.
    pub shares: Option<Shares>,
    /// A row for each bench and scheduler.
    pub rows: Vec<Row>,
}

/// All runs of one bench under one scheduler. Times are in seconds.
#[derive(Debug)]
pub struct Row {
    /// The bench.
    pub bench: &'static str,
    /// The policy, or [`STOCK`](super::plan::STOCK).
    pub scheduler: String,
    /// How many runs.
    pub runs: usize,
    /// The mean of the makespans.
    pub makespan_s: f64,
    /// Their standard deviation; 0 for a single run.
    pub makespan_sd_s: f64,
    /// All work, measured on one big core, divided by what all cores achieve together.
    pub ideal_s: f64,
    /// The makespan against that of the guest's own scheduler: -0.4 is 40 % sooner.
    pub against_stock: f64,
    /// The standard error of that, from the spread of both.
    pub against_stock_error: f64,
    /// The makespan when a simulator plays a recording.
    pub predicted_s: f64,
    /// The same against that of the guest's own scheduler.
    pub predicted_against_stock: f64,
    /// Against a machine of as many big cores.
    pub h_antt: f64,
    /// Against a machine of as many big cores.
    pub h_stp: f64,
}

/// One run of a bench.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    makespan: f64,
    ideal: f64,
    h_antt: f64,
    h_stp: f64,
}

impl Run {
    /// `alone` tells how long a program takes on a single big core. The ideal is all work divided by what all cores
    /// achieve together. For H_ANTT and H_STP a program on as many big cores as the machine has cores takes its work
    /// divided by their number.
    pub(super) fn of(
        spec: &Spec,
        bench: &Bench,
        times: &BTreeMap<String, f64>,
        alone: impl Fn(&str) -> f64,
    ) -> Result<Self, Error> {
        let mut run = Self { makespan: 0.0, ideal: 0.0, h_antt: 0.0, h_stp: 0.0 };
        for program in bench.programs {
            let time = time_of(times, program)?;
            let slowdown = time / (alone(program) / f64::from(spec.cores()));
            run.makespan = run.makespan.max(time);
            run.ideal += alone(program) / spec.capacity();
            run.h_antt += slowdown / bench.programs.len() as f64;
            run.h_stp += 1.0 / slowdown;
        }
        Ok(run)
    }
}

/// The rows of one machine. `runs` are by bench and scheduler, of which the first is the one to compare with; `predicted` are
/// makespans in seconds by scheduler, for each bench.
pub(super) fn rows(
    benches: &[&'static Bench],
    schedulers: &[&str],
    runs: &BTreeMap<(usize, usize), Vec<Run>>,
    predicted: &[Vec<f64>],
) -> Vec<Row> {
    let mut rows = Vec::new();
    for (row, bench) in benches.iter().enumerate() {
        let stock = runs.get(&(row, 0)).map(|runs| Mean::of(runs));
        for (column, scheduler) in schedulers.iter().enumerate() {
            let Some(runs) = runs.get(&(row, column)) else { continue };
            let makespan = Mean::of(runs);
            let stock = stock.unwrap_or(makespan);
            let to_stock = makespan.value / stock.value;
            let simulated = |column: usize| {
                predicted.get(row).and_then(|predicted| predicted.get(column)).copied().unwrap_or(f64::NAN)
            };
            rows.push(Row {
                bench: bench.name,
                scheduler: (*scheduler).to_owned(),
                runs: runs.len(),
                makespan_s: makespan.value,
                makespan_sd_s: makespan.deviation,
                ideal_s: mean(runs, |run| run.ideal),
                against_stock: to_stock - 1.0,
                against_stock_error: to_stock * makespan.error().hypot(stock.error()),
                predicted_s: simulated(column),
                predicted_against_stock: simulated(column) / simulated(0) - 1.0,
                h_antt: mean(runs, |run| run.h_antt),
                h_stp: mean(runs, |run| run.h_stp),
            });
        }
    }
    rows
}

fn mean(runs: &[Run], value: impl Fn(&Run) -> f64) -> f64 {
    runs.iter().map(value).sum::<f64>() / runs.len() as f64
}

/// The makespans of some runs.
#[derive(Clone, Copy)]
struct Mean {
    value: f64,
    /// Of the sample; 0 for a single run.
    deviation: f64,
    runs: usize,
}

impl Mean {
    fn of(runs: &[Run]) -> Self {
        let value = mean(runs, |run| run.makespan);
        let squares: f64 = runs.iter().map(|run| (run.makespan - value).powi(2)).sum();
        Self { value, deviation: (squares / (runs.len().max(2) - 1) as f64).sqrt(), runs: runs.len() }
    }

    /// The standard error, as a share of the mean.
    fn error(self) -> f64 {
        self.deviation / (self.runs as f64).sqrt() / self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::bench::{BENCHES, STOCK};

    #[test]
    fn rows_compare_runs_with_the_ideal_and_with_the_first_scheduler() {
        let (spec, bench): (Spec, _) = ("2B2S:2".parse().unwrap(), &BENCHES[0]);
        // Six seconds of work on one big core; all cores achieve three times as much as one.
        let run =
            |seconds| Run::of(&spec, bench, &BTreeMap::from([(bench.name.to_owned(), seconds)]), |_| 6.0).unwrap();
        let runs = BTreeMap::from([((0, 0), vec![run(4.0), run(4.0)]), ((0, 1), vec![run(2.5), run(1.5)])]);
        let rows = rows(&[bench], &[STOCK, "pfs"], &runs, &[vec![8.0, 6.0]]);
        let pfs = &rows[1];
        assert_eq!((rows.len(), pfs.bench, pfs.scheduler.as_str(), pfs.runs), (2, "equal", "pfs", 2));
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        close(rows[0].against_stock, 0.0);
        close(pfs.makespan_s, 2.0);
        close(pfs.makespan_sd_s, 0.5_f64.sqrt());
        close(pfs.ideal_s, 2.0);
        close(pfs.against_stock, -0.5);
        close(pfs.against_stock_error, 0.5 * 0.25);
        close(pfs.predicted_against_stock, -0.25);
        // Four big cores would take 1.5 s.
        close(rows[0].h_antt, 4.0 / 1.5);
        close(rows[0].h_stp, 1.5 / 4.0);
        assert!(Run::of(&spec, bench, &BTreeMap::new(), |_| 6.0).is_err());
    }
}
