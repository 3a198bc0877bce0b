//! Which runs of a grid are done, as the table and its journal tell.

use std::path::Path;

use crate::error::{Error, Result};
use crate::grid::Grid;
use crate::journal::{self, Journal};
use crate::key::Key;
use crate::places::{Places, Runs};
use crate::row::Row;
use crate::shard::Shard;
use crate::sweep::{Done, Request};
use crate::table::{About, Reader, is_done, replaceable};

/// How many of the runs that are wanted are done. Nothing is written, and another process may be at this sweep.
///
/// # Errors
/// A file cannot be read, or has other runs, so that the sweep itself would be refused.
pub fn already(grid: &Grid, request: &Request, max_events: u64) -> Result<u64> {
    let (wanted, done) = (wanted(grid, request.shard), Runs::none(grid.runs()));
    let mut numbers = Numbers { grid, by_key: Vec::new() };
    let mut anew = false;
    if let Some(path) = journal::begun(&request.table)? {
        let mut sift = Sift::new(&mut numbers, &wanted, max_events);
        anew = journal::read(&path, |_, runs, row| {
            sift.written_for(runs);
            sift.counted(&row).into_iter().for_each(|run| done.add(run));
            Ok(())
        })?;
        sift.end(&path, request)?;
    }
    if request.table.exists() {
        let mut reader = Reader::open(&request.table)?;
        let mut sift = Sift::new(&mut numbers, &wanted, max_events);
        sift.written_for(Some(reader.about.runs));
        while let Some(rows) = reader.rows()? {
            rows.iter().filter_map(|row| sift.counted(row)).filter(|_| !anew).for_each(|run| done.add(run));
        }
        sift.end(&request.table, request)?;
    }
    Ok(if request.fresh { 0 } else { done.count() })
}

/// The runs of a part of a grid.
fn wanted(grid: &Grid, shard: Shard) -> Runs {
    let wanted = Runs::none(grid.runs());
    grid.pieces_of(shard).for_each(|piece| grid.of_piece(&piece).into_iter().for_each(|run| wanted.add(run)));
    wanted
}

/// What a table has that nothing can be written beside, if it is all that is wanted.
pub fn there_already(grid: &Grid, request: &Request, max_events: u64) -> Result<Option<Done>> {
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
pub struct Known {
    /// The journal.
    pub journal: Journal,
    /// Where in it they are.
    pub places: Places,
    /// How many runs are wanted.
    pub wanted: u64,
    /// The table has them all already, and nothing else.
    pub whole: Option<Done>,
}

impl Known {
    /// Finds what is done in the table and in its journal, and has all of it in the journal, unless the table is whole.
    pub fn find(grid: &Grid, request: &Request, max_events: u64) -> Result<Self> {
        replaceable(&request.table)?;
        let journal = Journal::open(&request.table)?;
        let wanted = wanted(grid, request.shard);
        let folder = request.table.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let places = Places::none(grid.runs(), folder);
        let mut known = Self { journal, places, wanted: wanted.count(), whole: None };
        let mut numbers = Numbers { grid, by_key: Vec::new() };
        let mut sift = Sift::new(&mut numbers, &wanted, max_events);
        let anew = journal::read(known.journal.path(), |at, runs, row| {
            sift.written_for(runs);
            sift.counted(&row).map_or(Ok(()), |run| known.set(run, at))
        })?;
        let rows = sift.end(known.journal.path(), request)?;
        if request.table.exists() {
            // One that does not count is replaced, too: what it has of other grids or parts is not dropped unasked.
            let done = known.in_table(grid, request, Sift::new(&mut numbers, &wanted, max_events))?;
            let counts = !anew && !request.fresh;
            if counts && rows == 0 && done.is_some() {
                known.whole = done;
            } else if counts {
                known.take_from(&request.table, Sift::new(&mut numbers, &wanted, max_events))?;
            }
        }
        if request.fresh {
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
    fn in_table(&self, grid: &Grid, request: &Request, mut sift: Sift<'_, '_>) -> Result<Option<Done>> {
        let (mut moved, mut failed) = (0, 0);
        let mut reader = Reader::open(&request.table)?;
        let same = reader.about == About::of(grid);
        sift.written_for(Some(reader.about.runs));
        while let Some(rows) = reader.rows()? {
            for row in rows {
                moved += u64::from(sift.counted(&row) != Some(row.run));
                failed += u64::from(row.error.is_some());
            }
        }
        let runs = sift.end(&request.table, request)?;
        let whole = same && moved == 0 && runs == self.wanted;
        Ok(whole.then_some(Done { runs, computed: 0, failed }))
    }

    /// Puts into the journal what a table has of the grid.
    fn take_from(&self, table: &Path, mut sift: Sift<'_, '_>) -> Result<()> {
        let mut reader = Reader::open(table)?;
        while let Some(rows) = reader.rows()? {
            for row in rows {
                if let Some(run) = sift.counted(&row).filter(|run| !self.places.done.has(*run)) {
                    self.add(&Row { run, ..row }, sift.numbers.grid)?;
                }
            }
        }
        Ok(())
    }

    /// Puts a row into the journal.
    pub fn add(&self, row: &Row, grid: &Grid) -> Result<()> {
        self.set(row.run, self.journal.add(row, grid.runs())?)
    }

    /// A run is at a place in the journal.
    fn set(&self, run: u64, place: u64) -> Result<()> {
        self.places.set(run, place).map_err(Error::writing(self.journal.path()))
    }

    /// The place of a run in the journal, if it is done.
    pub fn place(&self, run: u64) -> Result<Option<u64>> {
        self.places.get(run).map_err(Error::reading(self.journal.path()))
    }
}

/// Tells rows that are wanted from others.
struct Sift<'a, 'g> {
    numbers: &'a mut Numbers<'g>,
    wanted: &'a Runs,
    max_events: u64,
    rows: u64,
    /// What follows was written for a grid with another number of runs, whose shards had others.
    other_grid: bool,
    /// Some have other numbers in this grid, so that those that do not say it were written for another one, too.
    renumbered: bool,
    /// The grid does not have them.
    foreign: u64,
    /// They are of another shard, by this grid, and by another one.
    of_others: u64,
    dealt_anew: u64,
}

impl<'a, 'g> Sift<'a, 'g> {
    fn new(numbers: &'a mut Numbers<'g>, wanted: &'a Runs, max_events: u64) -> Self {
        Self {
            numbers,
            wanted,
            max_events,
            rows: 0,
            other_grid: false,
            renumbered: false,
            foreign: 0,
            of_others: 0,
            dealt_anew: 0,
        }
    }

    /// What follows is of a grid with so many runs, if that is known. A comment alone deals no run anew.
    fn written_for(&mut self, runs: Option<u64>) {
        self.other_grid = runs.is_some_and(|runs| runs != self.numbers.grid.runs());
    }

    /// The number of a row that is wanted and done. One that had too many events may have fewer than the limit of now.
    fn counted(&mut self, row: &Row) -> Option<u64> {
        self.rows += 1;
        let run = self.numbers.of(row);
        // A journal of an older version does not say how many runs its grid had, but has the numbers of that.
        self.renumbered |= run.is_some_and(|run| run != row.run);
        match run {
            None => self.foreign += 1,
            Some(run) if !self.wanted.has(run) && self.other_grid => self.dealt_anew += 1,
            Some(run) if !self.wanted.has(run) => self.of_others += 1,
            wanted => return wanted.filter(|_| row.max_events.is_none_or(|limit| limit == self.max_events)),
        }
        None
    }

    /// How many rows there were, if nothing would be lost.
    fn end(self, path: &Path, request: &Request) -> Result<u64> {
        let path = path.to_path_buf();
        let (of_others, dealt_anew) =
            if self.renumbered { (0, self.of_others + self.dealt_anew) } else { (self.of_others, self.dealt_anew) };
        let shard = request.shard;
        if of_others > 0 && !(request.fresh && request.drop) {
            return Err(Error::OtherShard { path, shard, runs: of_others });
        }
        match (dealt_anew, self.foreign) {
            (1.., _) if !request.drop => Err(Error::DealtAnew { path, shard, runs: dealt_anew }),
            (_, foreign @ 1..) if !request.drop => Err(Error::Foreign { path, foreign }),
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
