//! Does the runs of a grid that are not done yet.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use evenkeel_experiment::files::NewFile;
use evenkeel_experiment::training::Lessons;
use evenkeel_experiment::{Control, Error as RunError, Job, Plan, Runner, Stage};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::grid::{Grid, Piece};
use crate::known::{Known, there_already};
use crate::row::Row;
use crate::shard::Shard;
use crate::table::{About, Writer, record, varied};

/// What is wanted of a sweep.
#[derive(Clone, Debug)]
pub struct Request {
    /// The table. Its runs count as done if the grid has them.
    pub table: PathBuf,
    /// Which part of the grid.
    pub shard: Shard,
    /// Runs in the table that the grid does not have are dropped; otherwise they are an error.
    pub drop: bool,
    /// Nothing counts as done.
    pub fresh: bool,
}

impl Request {
    /// The whole grid, into a table.
    pub fn into(table: impl Into<PathBuf>) -> Self {
        Self { table: table.into(), shard: Shard::ALL, drop: false, fresh: false }
    }
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Runs in the table.
    pub runs: u64,
    /// Those of them that were done now.
    pub computed: u64,
    /// Those of them that could not be carried to their end: they have an `error`.
    pub failed: u64,
}

/// Does the runs of a grid that are not done yet, spread over all cores, and writes the table. [`Control::progress`] sees
/// [`Stage::Runs`] and [`Stage::Writing`].
///
/// # Errors
/// A file cannot be read or written, another process is at this table, or [`Control`] stopped the work: then the journal has
/// what was done, and the next call goes on from there.
pub fn sweep(grid: &Grid, request: &Request, control: &Control<'_>) -> Result<Done> {
    let pieces = || grid.pieces_of(request.shard);
    let known = match Known::find(grid, request, control.max_events) {
        Err(Error::Unwritable { path, source }) => {
            // Whatever else is wrong with the table: it could not be replaced.
            let there = there_already(grid, request, control.max_events).ok().flatten();
            return there.ok_or(Error::Unwritable { path, source });
        }
        known => known?,
    };
    if let Some(done) = known.whole {
        known.journal.remove()?;
        return Ok(done);
    }
    // Where it cannot be written, no run need begin.
    NewFile::create(&request.table).map(drop).map_err(Error::writing(&request.table))?;
    let missing = |piece: &Piece| -> Vec<u64> {
        grid.of_piece(piece).into_iter().filter(|run| !known.places.done.has(*run)).collect()
    };
    let to_do: u64 = pieces().map(|piece| missing(&piece).len() as u64).sum();
    control.progress.begin(Stage::Runs, to_do as usize);
    let work = Work { grid, known: &known, control, lessons: Lessons::default(), broken: Mutex::default() };
    // A piece at a time to each core, in their order: what is begun is soon over.
    pieces().par_bridge().for_each(|piece| work.piece(&piece, missing(&piece)));
    control.progress.end();
    if let Some(error) = work.broken.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let left: u64 = pieces().map(|piece| missing(&piece).len() as u64).sum();
    let runs = known.wanted;
    if left > 0 {
        return Err(Error::Stopped { done: runs - left, of: runs });
    }
    let failed =
        write(grid, &known, &request.table, control).map_err(|error| error.kept(known.journal.path(), runs))?;
    known.journal.remove()?;
    Ok(Done { runs, computed: to_do, failed })
}

/// Runs under way.
struct Work<'a> {
    grid: &'a Grid,
    known: &'a Known,
    control: &'a Control<'a>,
    lessons: Lessons,
    /// Why the work cannot go on.
    broken: Mutex<Option<Error>>,
}

impl Work<'_> {
    /// Does these runs of a piece.
    fn piece(&self, piece: &Piece, runs: Vec<u64>) {
        if runs.is_empty() || self.stops() {
            return;
        }
        let mut seeds: Vec<u64> = runs.iter().map(|run| self.grid.seed(self.grid.run(*run))).collect();
        seeds.sort_unstable();
        seeds.dedup();
        // What is done to make ready is not shown, and stops with the rest.
        let control = Control { progress: &(), ..*self.control };
        let plan = match self.grid.plan(piece, seeds) {
            Ok(plan) => plan,
            Err(error) => return self.breaks(error),
        };
        match Runner::knowing(plan.clone(), &self.lessons, &control) {
            Ok(runner) => runs.par_iter().for_each(|run| {
                if !self.stops() {
                    self.keep(*run, runner.run_once(self.job(*run)));
                }
            }),
            Err(RunError::Stopped { .. }) => {}
            // What went wrong may concern some of them only.
            Err(_) => runs.par_iter().for_each(|run| {
                if !self.stops() {
                    self.keep(*run, self.alone(&plan, *run, &control));
                }
            }),
        }
    }

    /// Does one run of a piece, with nothing made ready for others.
    fn alone(&self, plan: &Plan, run: u64, control: &Control<'_>) -> Result<evenkeel_experiment::Run, RunError> {
        let job = self.job(run);
        let plan = Plan {
            policies: vec![plan.policies[job.policy].clone()],
            orders: vec![job.order],
            seeds: vec![job.seed],
            ..plan.clone()
        };
        Runner::knowing(plan, &self.lessons, control)?.run_once(Job { policy: 0, ..job })
    }

    fn job(&self, run: u64) -> Job {
        let run = self.grid.run(run);
        let (order, seed) = (self.grid.order(run), self.grid.seed(run));
        Job { workload: 0, machine: 0, policy: run.policy, order, seed }
    }

    fn keep(&self, run: u64, result: Result<evenkeel_experiment::Run, RunError>) {
        if !matches!(result, Err(RunError::Stopped { .. })) {
            self.write(self.row(run).with(result));
        }
    }

    /// A run before its result.
    fn row(&self, number: u64) -> Row {
        let run = self.grid.run(number);
        let (workload, machine, policy, order, seed) = self.grid.names(run);
        Row {
            run: number,
            key: self.grid.key(run).to_string(),
            workload: workload.into(),
            machine: machine.into(),
            policy: policy.into(),
            order: order.into(),
            seed,
            ..Row::default()
        }
    }

    fn write(&self, row: Row) {
        if let Err(error) = self.known.add(&row, self.grid) {
            self.breaks(error);
        }
        self.control.progress.advance();
    }

    /// The work cannot go on.
    fn breaks(&self, error: Error) {
        *self.broken.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    fn stops(&self) -> bool {
        self.control.stopped() || self.broken.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

/// Writes the table from the journal. Returns how many runs could not be carried to their end.
fn write(grid: &Grid, known: &Known, table: &Path, control: &Control<'_>) -> Result<u64> {
    control.progress.begin(Stage::Writing, known.wanted as usize);
    let mut writer = Writer::new(table, &About::of(grid), &varied(grid))?;
    let mut failed = 0;
    for run in 0..grid.runs() {
        let Some(place) = known.place(run)? else { continue };
        // Its number and its names may be from another grid.
        let (workload, machine, policy, order, _) = grid.names(grid.run(run));
        let (workload, machine, policy, order) = (workload.into(), machine.into(), policy.into(), order.into());
        let row = Row { run, workload, machine, policy, order, ..known.journal.row(place)? };
        failed += u64::from(row.error.is_some());
        writer.write(&record(grid, &row, table)?)?;
        control.progress.advance();
    }
    writer.finish()?;
    control.progress.end();
    Ok(failed)
}
