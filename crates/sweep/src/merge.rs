//! Makes one table of the tables of shards.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};

use arrow_array::{Array, RecordBatch, UInt64Array};
use arrow_select::concat::concat_batches;

use crate::error::{Error, Result};
use crate::table::{Reader, STEP, Writer, replaceable};

/// Puts the rows of tables in the order of their grid into one: what one machine would have written, to the byte. A run that
/// several have is there once. Returns how many runs there are.
///
/// # Errors
/// A file cannot be read or written, they are not of one sweep, or runs are missing. With `incomplete` the last is none.
pub fn merge(parts: &[PathBuf], table: &Path, incomplete: bool) -> Result<u64> {
    replaceable(table)?;
    let mut open = parts.iter().map(|path| Part::open(path)).collect::<Result<Vec<_>>>()?;
    let Some((first, others)) = open.split_first() else {
        return Err(Error::table(table, "no part is given: expected the files of the shards"));
    };
    for other in others {
        let (one, another) = (&first.reader.about, &other.reader.about);
        let why = match () {
            () if one.grid != another.grid => "their grids differ",
            () if one.version != another.version => "other versions of evenkeel wrote them",
            () if one != another || first.reader.schema() != other.reader.schema() => {
                "what their grids name differs, such as a file"
            }
            () => continue,
        };
        return Err(Error::Different { first: first.path.clone(), other: other.path.clone(), why: why.into() });
    }
    let about = first.reader.about.clone();
    let mut writer = Writer::new(table, about.clone());
    let mut heads = BinaryHeap::with_capacity(open.len());
    for (number, part) in open.iter_mut().enumerate() {
        heads.extend(part.run()?.map(|run| Reverse((run, number))));
    }
    let mut next = Next { runs: about.runs, heads, run: 0, missing: 0, first_missing: None, written: 0, last: None };
    loop {
        let rows = next.step(&mut open)?;
        if rows.is_empty() {
            break;
        }
        writer.write(&gather(&open, &rows, table)?)?;
        // What was taken from is not needed any more.
        open.iter_mut().for_each(Part::forget);
    }
    next.up_to(about.runs);
    match next.first_missing.filter(|_| !incomplete) {
        Some(first) => Err(Error::Missing { missing: next.missing, of: about.runs, first }),
        None => writer.finish().map(|()| next.written),
    }
}

/// A table that is read along with others. Batches that rows of the present step are from are kept until it is written.
struct Part<'a> {
    path: PathBuf,
    reader: Reader<'a>,
    batches: Vec<(RecordBatch, UInt64Array)>,
    /// The next row of the last batch.
    row: usize,
}

impl<'a> Part<'a> {
    fn open(path: &'a Path) -> Result<Self> {
        Ok(Self { path: path.to_path_buf(), reader: Reader::open(path)?, batches: Vec::new(), row: 0 })
    }

    /// The number of its next run.
    fn run(&mut self) -> Result<Option<u64>> {
        while self.batches.last().is_none_or(|(batch, _)| self.row == batch.num_rows()) {
            let Some(batch) = self.reader.next()? else { return Ok(None) };
            let runs = batch.column_by_name("run").and_then(|runs| runs.as_any().downcast_ref::<UInt64Array>());
            let runs = runs.cloned().ok_or_else(|| Error::table(&self.path, "it has no column `run` of numbers"))?;
            self.batches.push((batch, runs));
            self.row = 0;
        }
        Ok(self.batches.last().map(|(_, runs)| runs.value(self.row)))
    }

    /// Lets go of the batches that are over.
    fn forget(&mut self) {
        let over = self.batches.len().saturating_sub(1);
        self.batches.drain(..over);
    }
}

/// How far it is.
struct Next {
    /// The next run of each part that has one, and the part.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
    /// The run that is next.
    run: u64,
    missing: u64,
    first_missing: Option<u64>,
    written: u64,
    /// How many runs the grid has.
    runs: u64,
    /// The part that the last row is from, its batch, and the row in that.
    last: Option<(usize, RecordBatch, usize)>,
}

impl Next {
    /// The part, the batch in it and the row in that of each of the next rows.
    fn step(&mut self, parts: &mut [Part<'_>]) -> Result<Vec<(usize, usize, usize)>> {
        let mut rows = Vec::with_capacity(STEP);
        while rows.len() < STEP {
            let Some(Reverse((run, number))) = self.heads.pop() else { break };
            let part = &parts[number];
            if run >= self.runs {
                return Err(Error::table(
                    &part.path,
                    format!("its run {run} is beyond those of its grid, {}", self.runs),
                ));
            }
            let Some((batch, _)) = part.batches.last() else { break };
            if run >= self.run {
                rows.push((number, part.batches.len() - 1, part.row));
                self.up_to(run);
                self.run = run + 1;
                self.last = Some((number, batch.clone(), part.row));
            } else if let Some((first, last, row)) = &self.last
                && last.slice(*row, 1) != batch.slice(part.row, 1)
            {
                let why = format!("they disagree about run {run}");
                return Err(Error::Different { first: parts[*first].path.clone(), other: part.path.clone(), why });
            }
            let part = &mut parts[number];
            part.row += 1;
            self.heads.extend(part.run()?.map(|run| Reverse((run, number))));
        }
        self.written += rows.len() as u64;
        Ok(rows)
    }

    /// Counts those that are left out before this one.
    fn up_to(&mut self, run: u64) {
        if run > self.run {
            self.first_missing.get_or_insert(self.run);
            self.missing += run - self.run;
        }
    }
}

/// These rows as one batch: those of a part that follow each other are taken together.
fn gather(parts: &[Part<'_>], rows: &[(usize, usize, usize)], table: &Path) -> Result<RecordBatch> {
    let follow = |one: &(usize, usize, usize), next: &(usize, usize, usize)| (one.0, one.1, one.2 + 1) == *next;
    let slices: Vec<RecordBatch> = rows
        .chunk_by(follow)
        .map(|rows| {
            let (part, batch, row) = rows[0];
            parts[part].batches[batch].0.slice(row, rows.len())
        })
        .collect();
    concat_batches(&slices[0].schema(), &slices).map_err(|error| Error::table(table, error))
}
