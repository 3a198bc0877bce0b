//! What came out of a sweep: how policies differ, over everything that was varied.

use std::collections::BTreeMap;
use std::path::Path;

use evenkeel_model::Difference;

use crate::error::Result;
use crate::row::Row;
use crate::table::{About, Reader};

/// What a table amounts to.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The policy that the others are compared with.
    pub baseline: String,
    /// How many workloads on machines under certain conditions there are.
    pub cells: u64,
    /// How many runs could not be carried to their end.
    pub failed: u64,
    /// Why the first of them could not.
    pub first_error: Option<String>,
    /// Whether anything was drawn from a seed.
    pub drawn: bool,
    /// The other policies.
    pub policies: Vec<PolicySummary>,
    /// What has several values: workloads, machines, and what else was varied but for knobs of policies.
    pub varied: Vec<Varied>,
}

/// Something that has several values.
#[derive(Clone, Debug, PartialEq)]
pub struct Varied {
    /// Its name: a column of the table.
    pub name: String,
    /// Its values, in the order of the grid.
    pub values: Vec<AtValue>,
}

/// What came out with one value, over everything else that was varied.
#[derive(Clone, Debug, PartialEq)]
pub struct AtValue {
    /// The value; `default` where the grid does not set it.
    pub value: String,
    /// The other policies, in the order of [`Summary::policies`].
    pub policies: Vec<Effects>,
}

/// The effects of a policy against the baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effects {
    /// On H_ANTT: lower is better.
    pub h_antt: Option<Difference>,
    /// On H_STP: higher is better.
    pub h_stp: Option<Difference>,
    /// On energy.
    pub energy: Option<Difference>,
}

/// A policy against the baseline. Effects are geometric means over everything that was varied in which all runs came to their
/// end, a pair for each seed.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySummary {
    /// Its name.
    pub policy: String,
    /// Over everything.
    pub effects: Effects,
    /// In how many cells they are compared by H_ANTT: all of their runs have one.
    pub cells: u64,
    /// In how many of these it has a lower H_ANTT than the baseline, by its own 95 % interval: of forty cells without a
    /// difference one is by chance.
    pub better: u64,
    /// In how many it has a higher one.
    pub worse: u64,
}

const METRICS: usize = 3;

/// H_ANTT, H_STP and energy.
fn metrics(row: &Row) -> [f64; METRICS] {
    [row.h_antt, row.h_stp, row.energy_j].map(|value| value.unwrap_or(f64::NAN))
}

/// The sums of all policies.
#[derive(Clone, Debug)]
struct Tally(Vec<[Sums; METRICS]>);

impl Tally {
    fn new(about: &About) -> Self {
        let sums = Sums { of_seeds: vec![0.0; about.seeds], cells: 0 };
        Self(vec![std::array::from_fn(|_| sums.clone()); about.policies.len()])
    }

    fn add(&mut self, policy: usize, metric: usize, logs: &[f64]) {
        let sums = &mut self.0[policy][metric];
        sums.cells += 1;
        sums.of_seeds.iter_mut().zip(logs).for_each(|(sum, log)| *sum += log);
    }

    fn effects(&self, policy: usize) -> Effects {
        let [h_antt, h_stp, energy] = &self.0[policy];
        Effects { h_antt: h_antt.difference(), h_stp: h_stp.difference(), energy: energy.difference() }
    }
}

/// Something that may have several values, and the tally of each.
struct Axis {
    name: String,
    values: Vec<(String, Tally)>,
    /// Where each value is among them.
    places: BTreeMap<String, usize>,
    /// The position of the present cell's value.
    at: usize,
}

/// For each seed the sum over cells of the logarithm of the ratio, and how many cells that is.
#[derive(Clone, Debug)]
struct Sums {
    of_seeds: Vec<f64>,
    cells: u64,
}

impl Sums {
    fn difference(&self) -> Option<Difference> {
        let cells = (self.cells > 0).then_some(self.cells as f64)?;
        Difference::of_logarithms(self.of_seeds.iter().map(|sum| sum / cells))
    }
}

impl Summary {
    /// Reads a table. Whatever its size, no more than a cell of it is in memory at a time, and sums for each value of what was varied.
    ///
    /// # Errors
    /// It cannot be read, or is none of a sweep.
    pub fn read(table: &Path) -> Result<Self> {
        let mut reader = Reader::open(table)?;
        let about = reader.about.clone();
        let mut reading = Reading {
            summary: Self {
                baseline: about.policies.get(about.baseline).cloned().unwrap_or_default(),
                cells: 0,
                failed: 0,
                first_error: None,
                drawn: false,
                policies: Vec::new(),
                varied: Vec::new(),
            },
            all: Tally::new(&about),
            axes: Vec::new(),
            verdicts: vec![(0, 0); about.policies.len()],
            about,
            cell: None,
            rows: Vec::new(),
        };
        while let Some((rows, varied)) = reader.rows_and_values()? {
            for (at, row) in rows.iter().enumerate() {
                reading.row(row, varied.iter().map(|(name, values)| (name.as_str(), values[at].as_str())));
            }
        }
        Ok(reading.end())
    }
}

/// A table that is being read.
struct Reading {
    about: About,
    summary: Summary,
    all: Tally,
    axes: Vec<Axis>,
    /// By policy: in how many cells it is better and worse.
    verdicts: Vec<(u64, u64)>,
    /// The present cell, and the metrics of its rows by their place in it.
    cell: Option<u64>,
    rows: Vec<[f64; METRICS]>,
}

impl Reading {
    fn row<'b>(&mut self, row: &'b Row, varied: impl Iterator<Item = (&'b str, &'b str)>) {
        let in_cell = self.about.in_cell().max(1);
        let cell = row.run / in_cell;
        if self.cell != Some(cell) {
            self.end_cell();
            self.cell = Some(cell);
            let named = [("workload", row.workload.as_str()), ("machine", row.machine.as_str())];
            self.stand(named.into_iter().chain(varied));
            self.rows = vec![[f64::NAN; METRICS]; in_cell as usize];
        }
        self.rows[(row.run % in_cell) as usize] = metrics(row);
        self.summary.drawn |= row.drawn == Some(true);
        if let Some(error) = &row.error {
            self.summary.failed += 1;
            self.summary.first_error.get_or_insert_with(|| error.clone());
        }
    }

    /// Notes which values the present cell has.
    fn stand<'b>(&mut self, values: impl Iterator<Item = (&'b str, &'b str)>) {
        for (number, (name, value)) in values.enumerate() {
            if number == self.axes.len() {
                self.axes.push(Axis { name: name.to_owned(), values: Vec::new(), places: BTreeMap::new(), at: 0 });
            }
            let axis = &mut self.axes[number];
            axis.at = axis.places.get(value).copied().unwrap_or_else(|| {
                axis.values.push((value.to_owned(), Tally::new(&self.about)));
                axis.places.insert(value.to_owned(), axis.values.len() - 1);
                axis.values.len() - 1
            });
        }
    }

    fn end_cell(&mut self) {
        if self.cell.take().is_none() {
            return;
        }
        self.summary.cells += 1;
        for policy in 0..self.about.policies.len() {
            for metric in 0..METRICS {
                let logs: Vec<f64> = (0..self.about.seeds).map(|seed| self.logarithm(policy, seed, metric)).collect();
                if !logs.iter().all(|log| log.is_finite()) {
                    continue;
                }
                self.all.add(policy, metric, &logs);
                for axis in &mut self.axes {
                    axis.values[axis.at].1.add(policy, metric, &logs);
                }
                let clear = Difference::of_logarithms(logs).filter(|difference| metric == 0 && difference.is_clear());
                if let Some(difference) = clear {
                    let (better, worse) = &mut self.verdicts[policy];
                    *if difference.value < 0.0 { better } else { worse } += 1;
                }
            }
        }
    }

    /// The logarithm of a policy's ratio to the baseline with one seed: the mean over core orders.
    fn logarithm(&self, policy: usize, seed: usize, metric: usize) -> f64 {
        let (orders, seeds) = (self.about.orders, self.about.seeds);
        let value = |policy: usize, order: usize| self.rows[(policy * orders + order) * seeds + seed][metric];
        let logs = (0..orders).map(|order| (value(policy, order) / value(self.about.baseline, order)).ln());
        logs.sum::<f64>() / orders as f64
    }

    fn end(mut self) -> Summary {
        self.end_cell();
        let others: Vec<usize> =
            (0..self.about.policies.len()).filter(|policy| *policy != self.about.baseline).collect();
        let of = |policy: &usize| PolicySummary {
            policy: self.about.policies[*policy].clone(),
            effects: self.all.effects(*policy),
            cells: self.all.0[*policy][0].cells,
            better: self.verdicts[*policy].0,
            worse: self.verdicts[*policy].1,
        };
        self.summary.policies = others.iter().map(of).collect();
        let at = |(value, tally): &(String, Tally)| AtValue {
            value: value.clone(),
            policies: others.iter().map(|policy| tally.effects(*policy)).collect(),
        };
        let varied = self.axes.iter().filter(|axis| axis.values.len() > 1);
        self.summary.varied = varied
            .map(|axis| Varied { name: axis.name.clone(), values: axis.values.iter().map(at).collect() })
            .collect();
        self.summary
    }
}
