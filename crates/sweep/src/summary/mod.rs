//! What came out of a sweep: how policies differ, over everything that was varied.

mod cell;
mod tally;

use std::collections::BTreeMap;
use std::io::Result as IoResult;
use std::path::Path;

use evenkeel_model::Difference;

use self::cell::Cell;
use self::tally::{Blocks, Tally};
use crate::error::{Error, Result};
use crate::row::Row;
use crate::table::{About, Reader};

/// What a table amounts to.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The policy that the others are compared with.
    pub baseline: String,
    /// How many workloads on machines under certain conditions there are.
    pub cells: u64,
    /// How many seeds there are.
    pub seeds: usize,
    /// How many runs could not be carried to their end.
    pub failed: u64,
    /// Why the first of them could not.
    pub first_error: Option<String>,
    /// Whether anything was drawn from a seed.
    pub drawn: bool,
    /// The other policies.
    pub policies: Vec<PolicySummary>,
    /// What has several values: workloads, machines, what else was varied but for knobs of policies, and core orders.
    pub varied: Vec<Varied>,
}

/// The name of core orders among what is varied: their column.
const ORDER: &str = "order";

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

/// Something that may have several values, and the tally of each.
struct Axis {
    name: String,
    values: Vec<(String, Tally)>,
    /// Where each value is among them.
    places: BTreeMap<String, usize>,
    /// The position of the present cell's value.
    at: usize,
}

/// For each core order the sums of the logarithms of each block of seeds.
type ByOrder = Vec<Vec<f64>>;

impl Summary {
    /// What came out in each core order, where there are several. Which one a machine has is not a matter of chance.
    pub fn by_order(&self) -> Option<&Varied> {
        self.varied.iter().find(|varied| varied.name == ORDER)
    }

    /// Reads a table. Whatever its size, in memory are but sums for each value of what was varied.
    ///
    /// # Errors
    /// It cannot be read, or is none of a sweep, or there is no room for what is read in the folder for temporary files.
    pub fn read(table: &Path) -> Result<Self> {
        let mut reader = Reader::open(table)?;
        let mut reading = Reading::of(reader.about.clone());
        let wrong = |error| Error::writing(&std::env::temp_dir())(error);
        while let Some((rows, varied)) = reader.rows_and_values()? {
            for (at, row) in rows.iter().enumerate() {
                let varied = varied.iter().map(|(name, values)| (name.as_str(), values[at].as_str()));
                reading.row(row, varied).map_err(wrong)?;
            }
        }
        reading.end().map_err(wrong)
    }
}

/// A table that is being read.
struct Reading {
    about: About,
    summary: Summary,
    all: Tally,
    axes: Vec<Axis>,
    /// The core orders, all of which each cell has.
    orders: Vec<(String, Tally)>,
    /// By policy: in how many cells it is better and worse.
    verdicts: Vec<(u64, u64)>,
    /// The present cell, and the metrics of its rows by their place in it.
    cell: Option<u64>,
    rows: Cell,
}

impl Reading {
    fn of(about: About) -> Self {
        Self {
            summary: Summary {
                baseline: about.policies.get(about.baseline).cloned().unwrap_or_default(),
                cells: 0,
                seeds: about.seeds,
                failed: 0,
                first_error: None,
                drawn: false,
                policies: Vec::new(),
                varied: Vec::new(),
            },
            all: Tally::new(about.policies.len(), Blocks::of(about.seeds)),
            axes: Vec::new(),
            orders: Vec::new(),
            verdicts: vec![(0, 0); about.policies.len()],
            about,
            cell: None,
            rows: Cell::default(),
        }
    }

    fn row<'b>(&mut self, row: &'b Row, varied: impl Iterator<Item = (&'b str, &'b str)>) -> IoResult<()> {
        let in_cell = self.about.in_cell().max(1);
        let cell = row.run / in_cell;
        if self.cell != Some(cell) {
            self.end_cell()?;
            self.cell = Some(cell);
            let named = [("workload", row.workload.as_str()), ("machine", row.machine.as_str())];
            self.stand(named.into_iter().chain(varied));
            self.rows.clear()?;
        }
        if !self.orders.iter().any(|(order, _)| *order == row.order) {
            self.orders.push((row.order.clone(), Tally::new(self.about.policies.len(), self.all.blocks)));
        }
        self.rows.set(row.run % in_cell, metrics(row))?;
        self.summary.drawn |= row.drawn == Some(true);
        if let Some(error) = &row.error {
            self.summary.failed += 1;
            self.summary.first_error.get_or_insert_with(|| error.clone());
        }
        Ok(())
    }

    /// Notes which values the present cell has.
    fn stand<'b>(&mut self, values: impl Iterator<Item = (&'b str, &'b str)>) {
        for (number, (name, value)) in values.enumerate() {
            if number == self.axes.len() {
                self.axes.push(Axis { name: name.to_owned(), values: Vec::new(), places: BTreeMap::new(), at: 0 });
            }
            let axis = &mut self.axes[number];
            axis.at = axis.places.get(value).copied().unwrap_or_else(|| {
                axis.values.push((value.to_owned(), Tally::new(self.about.policies.len(), self.all.blocks)));
                axis.places.insert(value.to_owned(), axis.values.len() - 1);
                axis.values.len() - 1
            });
        }
    }

    fn end_cell(&mut self) -> IoResult<()> {
        if self.cell.take().is_none() {
            return Ok(());
        }
        self.summary.cells += 1;
        let logs = self.logarithms()?;
        for (policy, of_policy) in logs.iter().enumerate() {
            for (metric, by_order) in of_policy.iter().enumerate() {
                let logs = over_orders(by_order);
                if !complete(&logs) {
                    continue;
                }
                self.all.add(policy, metric, &logs);
                for axis in &mut self.axes {
                    axis.values[axis.at].1.add(policy, metric, &logs);
                }
                for ((_, tally), logs) in self.orders.iter_mut().zip(by_order) {
                    tally.add(policy, metric, logs);
                }
                let difference = self.all.blocks.difference(logs.iter().copied());
                if let Some(difference) = difference.filter(|difference| metric == 0 && difference.is_clear()) {
                    let (better, worse) = &mut self.verdicts[policy];
                    *if difference.value < 0.0 { better } else { worse } += 1;
                }
            }
        }
        Ok(())
    }

    /// By policy, metric, core order and block of seeds the sum of the logarithms of ratios to the baseline.
    fn logarithms(&mut self) -> IoResult<Vec<[ByOrder; METRICS]>> {
        let (blocks, orders, seeds) = (self.all.blocks, self.about.orders, self.about.seeds);
        let (policies, in_cell) = (self.about.policies.len(), self.about.in_cell());
        let mut logs: Vec<[ByOrder; METRICS]> = vec![std::array::from_fn(|_| vec![Vec::new(); orders]); policies];
        for block in 0..blocks.blocks {
            let block = blocks.seeds(block);
            let mut of = |policy: usize| -> IoResult<Vec<_>> {
                let from = |order: usize| (policy * orders + order) * seeds;
                let rows = |order| self.rows.get(from(order) + block.start..from(order) + block.end, in_cell);
                (0..orders).map(rows).collect()
            };
            let baseline = of(self.about.baseline)?;
            for (policy, logs) in logs.iter_mut().enumerate() {
                let values = of(policy)?;
                for (metric, logs) in logs.iter_mut().enumerate() {
                    for (order, logs) in logs.iter_mut().enumerate() {
                        let pairs = values[order].iter().zip(&baseline[order]);
                        logs.push(pairs.map(|(value, baseline)| (value[metric] / baseline[metric]).ln()).sum());
                    }
                }
            }
        }
        Ok(logs)
    }

    fn end(mut self) -> IoResult<Summary> {
        self.end_cell()?;
        let others: Vec<usize> =
            (0..self.about.policies.len()).filter(|policy| *policy != self.about.baseline).collect();
        let of = |policy: &usize| PolicySummary {
            policy: self.about.policies[*policy].clone(),
            effects: self.all.effects(*policy),
            cells: self.all.cells(*policy),
            better: self.verdicts[*policy].0,
            worse: self.verdicts[*policy].1,
        };
        self.summary.policies = others.iter().map(of).collect();
        let at = |(value, tally): &(String, Tally)| AtValue {
            value: value.clone(),
            policies: others.iter().map(|policy| tally.effects(*policy)).collect(),
        };
        let axes = self.axes.iter().map(|axis| (axis.name.as_str(), &axis.values)).chain([(ORDER, &self.orders)]);
        let varied = axes.filter(|(_, values)| values.len() > 1);
        self.summary.varied = varied
            .map(|(name, values)| Varied { name: name.to_owned(), values: values.iter().map(at).collect() })
            .collect();
        Ok(self.summary)
    }
}

/// Of each block the mean over core orders, which are no chance.
fn over_orders(by_order: &[Vec<f64>]) -> Vec<f64> {
    let of = |block: usize| by_order.iter().map(|logs| logs[block]).sum::<f64>() / by_order.len() as f64;
    (0..by_order.first().map_or(0, Vec::len)).map(of).collect()
}

/// Whether all seeds have a ratio: what one of them lacks is in the sum of its block.
fn complete(logs: &[f64]) -> bool {
    logs.iter().all(|log| log.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of cells of two policies, core orders and seeds each, whose runs have these H_ANTTs.
    fn summary(h_antts: &[Option<f64>]) -> Summary {
        let mut reading = Reading::of(About {
            version: String::new(),
            grid: String::new(),
            inputs: String::new(),
            runs: h_antts.len() as u64,
            policies: ["cfs", "gts"].map(String::from).into(),
            orders: 2,
            seeds: 2,
            baseline: 0,
        });
        for (run, h_antt) in h_antts.iter().enumerate() {
            let row = Row {
                run: run as u64,
                workload: (run / 8).to_string(),
                order: ["big-first", "little-first"][run / 2 % 2].into(),
                h_antt: *h_antt,
                ..Row::default()
            };
            reading.row(&row, std::iter::empty()).unwrap();
        }
        reading.end().unwrap()
    }

    #[test]
    fn core_orders_are_told_apart_in_the_same_cells() {
        let whole = [1.0, 1.0, 1.0, 1.0, 0.9, 0.9, 0.9, 0.9].map(Some);
        let mut partly = [1.0, 1.0, 1.0, 1.0, 1.3, 1.3, 1.3, 1.3].map(Some);
        partly[7] = None;
        let (found, expected) = (summary(&[whole, partly].concat()), summary(&whole));
        assert_eq!(found.by_order().unwrap(), expected.by_order().unwrap());
        assert_eq!((found.cells, found.policies), (2, expected.policies));
    }
}
