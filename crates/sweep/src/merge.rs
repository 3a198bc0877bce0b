//! Makes one table of the tables of shards.

use std::path::{Path, PathBuf};

use arrow_array::{Array, RecordBatch, UInt64Array};
use arrow_select::interleave::interleave_record_batch;

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
    let mut next = Next { runs: about.runs, run: 0, missing: 0, first_missing: None, written: 0, last: None };
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
    /// The run that is next.
    run: u64,
    missing: u64,
    first_missing: Option<u64>,
    written: u64,
    /// How many runs the grid has.
    runs: u64,
    /// The part that the last row is from, and the row.
    last: Option<(PathBuf, RecordBatch)>,
}

impl Next {
    /// The part, the batch in it and the row in that of each of the next rows.
    fn step(&mut self, parts: &mut [Part<'_>]) -> Result<Vec<(usize, usize, usize)>> {
        let mut rows = Vec::with_capacity(STEP);
        while rows.len() < STEP {
            let mut first: Option<(u64, usize)> = None;
            for (number, part) in parts.iter_mut().enumerate() {
                let run = part.run()?;
                first = first.into_iter().chain(run.map(|run| (run, number))).min();
            }
            let Some((run, number)) = first else { break };
            let part = &mut parts[number];
            if run >= self.runs {
                return Err(Error::table(
                    &part.path,
                    format!("its run {run} is beyond those of its grid, {}", self.runs),
                ));
            }
            let row = part.batches.last().map(|(batch, _)| batch.slice(part.row, 1));
            if run >= self.run {
                rows.push((number, part.batches.len() - 1, part.row));
                self.up_to(run);
                self.run = run + 1;
                self.last = row.map(|row| (part.path.clone(), row));
            } else if let (Some((path, last)), Some(row)) = (&self.last, row)
                && *last != row
            {
                let why = format!("they disagree about run {run}");
                return Err(Error::Different { first: path.clone(), other: part.path.clone(), why });
            }
            part.row += 1;
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

/// These rows as one batch.
fn gather(parts: &[Part<'_>], rows: &[(usize, usize, usize)], table: &Path) -> Result<RecordBatch> {
    let before: Vec<usize> = parts
        .iter()
        .scan(0, |sum, part| {
            let before = *sum;
            *sum += part.batches.len();
            Some(before)
        })
        .collect();
    let batches: Vec<&RecordBatch> = parts.iter().flat_map(|part| &part.batches).map(|(batch, _)| batch).collect();
    let at: Vec<(usize, usize)> = rows.iter().map(|(part, batch, row)| (before[*part] + batch, *row)).collect();
    interleave_record_batch(&batches, &at).map_err(|error| Error::table(table, error))
}
