//! Null models: what would come out without the mechanisms that a paper is about. A row that one of them meets says nothing about
//! a scheduler.

pub mod arithmetic;
mod constant;

use constant::constant;

use super::evaluate::{Row, rows};
use super::file::Experiment;
use super::published::Published;
use super::ran::Ran;

/// The rows of an experiment as null models have them, in the order of its file.
#[derive(Clone, Debug, Default)]
pub struct Null {
    /// Every effect on a metric is the same one.
    pub constant: Vec<Row>,
    /// Cores are shared out by a rule, and nothing else happens.
    pub arithmetic: Vec<Row>,
}

impl Null {
    /// `reckoned` is what arithmetic makes of the sets.
    pub(super) fn of(experiment: &Experiment, reckoned: &[Ran]) -> Self {
        let constant = |row: &Published| Row::of(row, constant(row, &experiment.rows));
        Self { constant: experiment.rows.iter().map(constant).collect(), arithmetic: rows(experiment, reckoned) }
    }
}
