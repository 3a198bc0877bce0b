//! Does the runs of a grid that are not done yet.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use evenkeel_experiment::files::NewFile;
use evenkeel_experiment::training::Lessons;
use evenkeel_experiment::{Control, Error as RunError, Job, Plan, Runner, Stage};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::grid::{Grid, Piece};
use crate::journal::Journal;
use crate::key::Key;
use crate::places::{Places, Runs};
use crate::row::Row;
use crate::shard::Shard;
use crate::table::{About, Reader, Writer, is_done, record, replaceable, varied};

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
    let known = match Known::find(grid, request, control.max_events, pieces()) {
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

/// What a table has that nothing can be written beside, if it is all that is wanted.
fn there_already(grid: &Grid, request: &Request, max_events: u64) -> Result<Option<Done>> {
    let whole = request.shard == Shard::ALL && !request.fresh;
    if !whole || !is_done(grid, &request.table, false, max_events)? {
        return Ok(None);
    }
    let (mut reader, mut failed) = (Reader::open(&request.table)?, 0);
    while let Some(rows) = reader.rows()? {
        failed += rows.iter().filter(|row| row.error.is_some()).count() as u64;
    }
    Ok(Some(Done { runs: grid.runs(), computed: 0, failed }))
}

/// Runs that are done, by their places in the journal.
struct Known {
    journal: Journal,
    places: Places,
    /// How many runs are wanted.
    wanted: u64,
    /// The table has them all already, and nothing else.
    whole: Option<Done>,
}

impl Known {
    /// Finds what is done in the table and in its journal, and has all of it in the journal, unless the table is whole.
    fn find(grid: &Grid, request: &Request, max_events: u64, pieces: impl Iterator<Item = Piece>) -> Result<Self> {
        replaceable(&request.table)?;
        let journal = Journal::open(&request.table)?;
        let wanted = Runs::none(grid.runs());
        pieces.for_each(|piece| grid.of_piece(&piece).into_iter().for_each(|run| wanted.add(run)));
        let folder = request.table.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let places = Places::none(grid.runs(), folder);
        let mut known = Self { journal, places, wanted: wanted.count(), whole: None };
        let mut numbers = Numbers { grid, by_key: Vec::new() };
        // One that had too many events may have fewer than the limit of now.
        let counts = |row: &Row| row.max_events.is_none_or(|limit| limit == max_events);
        let mut sift = Sift { numbers: &mut numbers, wanted: &wanted, rows: 0, foreign: 0, of_others: 0 };
        let anew = known.journal.rows(|at, row| {
            if let Some(run) = sift.number(&row).filter(|_| counts(&row)) {
                known.set(run, at)?;
            }
            Ok(())
        })?;
        let rows = sift.end(known.journal.path(), request)?;
        if request.table.exists() && !anew {
            let done = known.in_table(grid, request, &mut numbers, &wanted, counts)?;
            if request.fresh {
                known.begin_anew()?;
            } else if rows == 0 && done.is_some() {
                known.whole = done;
            } else {
                known.take_from(&request.table, |row| numbers.of(row).filter(|_| counts(row)))?;
            }
        } else if request.fresh {
            known.begin_anew()?;
        }
        Ok(known)
    }

    /// Nothing counts as done, and the table not until it is written again.
    fn begin_anew(&self) -> Result<()> {
        self.places.done.clear();
        self.journal.begin_anew()
    }

    /// What a table has, if it is just what is wanted.
    fn in_table(
        &self,
        grid: &Grid,
        request: &Request,
        numbers: &mut Numbers<'_>,
        wanted: &Runs,
        counts: impl Fn(&Row) -> bool,
    ) -> Result<Option<Done>> {
        let (mut moved, mut failed) = (0, 0);
        let mut reader = Reader::open(&request.table)?;
        let same = reader.about == About::of(grid);
        let mut sift = Sift { numbers, wanted, rows: 0, foreign: 0, of_others: 0 };
        while let Some(rows) = reader.rows()? {
            for row in rows {
                moved += u64::from(sift.number(&row) != Some(row.run) || !counts(&row));
                failed += u64::from(row.error.is_some());
            }
        }
        let runs = sift.end(&request.table, request)?;
        let whole = same && moved == 0 && runs == self.wanted;
        Ok(whole.then_some(Done { runs, computed: 0, failed }))
    }

    /// Puts into the journal what a table has of the grid.
    fn take_from(&self, table: &Path, mut number: impl FnMut(&Row) -> Option<u64>) -> Result<()> {
        let mut reader = Reader::open(table)?;
        while let Some(rows) = reader.rows()? {
            for row in rows {
                if let Some(run) = number(&row).filter(|run| !self.places.done.has(*run)) {
                    self.set(run, self.journal.add(&Row { run, ..row })?)?;
                }
            }
        }
        Ok(())
    }

    fn set(&self, run: u64, place: u64) -> Result<()> {
        self.places.set(run, place).map_err(Error::writing(self.journal.path()))
    }

    fn place(&self, run: u64) -> Result<Option<u64>> {
        self.places.get(run).map_err(Error::reading(self.journal.path()))
    }
}

/// Tells rows that are wanted from others.
struct Sift<'a, 'g> {
    numbers: &'a mut Numbers<'g>,
    wanted: &'a Runs,
    rows: u64,
    /// The grid does not have them.
    foreign: u64,
    /// They are of another shard.
    of_others: u64,
}

impl Sift<'_, '_> {
    /// The number of a row that is wanted.
    fn number(&mut self, row: &Row) -> Option<u64> {
        self.rows += 1;
        match self.numbers.of(row) {
            None => self.foreign += 1,
            Some(run) if !self.wanted.has(run) => self.of_others += 1,
            wanted => return wanted,
        }
        None
    }

    /// How many rows there were, if nothing would be lost.
    fn end(self, path: &Path, request: &Request) -> Result<u64> {
        let path = path.to_path_buf();
        match self {
            Self { of_others: 1.., .. } => Err(Error::OtherShard { path, shard: request.shard, runs: self.of_others }),
            Self { foreign: 1.., .. } if !request.drop => Err(Error::Foreign { path, foreign: self.foreign }),
            _ => Ok(self.rows),
        }
    }
}

/// Finds the numbers of rows that were written for another grid, too.
struct Numbers<'a> {
    grid: &'a Grid,
    /// Made when it is needed first.
    by_key: Vec<(Key, u64)>,
}

impl Numbers<'_> {
    /// The number that a row has in the grid, if that has its run.
    fn of(&mut self, row: &Row) -> Option<u64> {
        let key: Key = row.key.parse().ok()?;
        let own = |run: u64| self.grid.key(self.grid.run(run));
        if row.run < self.grid.runs() && own(row.run) == key {
            return Some(row.run);
        }
        if self.by_key.is_empty() {
            self.by_key = (0..self.grid.runs()).map(|run| (own(run), run)).collect();
            self.by_key.sort_unstable();
        }
        let at = self.by_key.partition_point(|(known, _)| *known < key);
        self.by_key.get(at).filter(|(known, _)| *known == key).map(|(_, run)| *run)
    }
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
        if let Err(error) = self.known.journal.add(&row).and_then(|place| self.known.set(row.run, place)) {
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
