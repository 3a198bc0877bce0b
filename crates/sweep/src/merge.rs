//! Makes one table of the tables of shards.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::vec::IntoIter;

use crate::columns::Record;
use crate::error::{Error, Result};
use crate::table::{Reader, Writer, replaceable};

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
            () if one != another || first.reader.varied != other.reader.varied => {
                "what their grids name differs, such as a file"
            }
            () => continue,
        };
        return Err(Error::Different { first: first.path.clone(), other: other.path.clone(), why: why.into() });
    }
    let about = first.reader.about.clone();
    let mut writer = Writer::new(table, &about, &first.reader.varied)?;
    let mut heads = BinaryHeap::with_capacity(open.len());
    for (number, part) in open.iter_mut().enumerate() {
        heads.extend(part.run()?.map(|run| Reverse((run, number))));
    }
    let mut next = Next { runs: about.runs, heads, run: 0, missing: 0, first_missing: None, written: 0, last: None };
    while let Some(record) = next.record(&mut open)? {
        writer.write(record)?;
    }
    next.up_to(about.runs);
    match next.first_missing.filter(|_| !incomplete) {
        Some(first) => Err(Error::Missing { missing: next.missing, of: about.runs, first }),
        None => writer.finish().map(|()| next.written),
    }
}

/// A table that is read along with others.
struct Part<'a> {
    path: PathBuf,
    reader: Reader<'a>,
    records: Peekable<IntoIter<Record>>,
}

impl<'a> Part<'a> {
    fn open(path: &'a Path) -> Result<Self> {
        Ok(Self { path: path.to_path_buf(), reader: Reader::open(path)?, records: Vec::new().into_iter().peekable() })
    }

    /// The number of its next run.
    fn run(&mut self) -> Result<Option<u64>> {
        while self.records.peek().is_none() {
            let Some(records) = self.reader.records()? else { return Ok(None) };
            self.records = records.into_iter().peekable();
        }
        Ok(self.records.peek().and_then(|record| record.first()?.as_u64()))
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
    /// The last one, and the part that it is from.
    last: Option<(usize, Record)>,
}

impl Next {
    /// The next one, of the part that has it.
    fn record(&mut self, parts: &mut [Part<'_>]) -> Result<Option<&Record>> {
        while let Some(Reverse((run, number))) = self.heads.pop() {
            let part = &mut parts[number];
            if run >= self.runs {
                let message = format!("its run {run} is beyond those of its grid, {}", self.runs);
                return Err(Error::table(&part.path, message));
            }
            let Some(record) = part.records.next() else { continue };
            self.heads.extend(part.run()?.map(|run| Reverse((run, number))));
            if run >= self.run {
                self.up_to(run);
                self.run = run + 1;
                self.written += 1;
                return Ok(Some(&self.last.insert((number, record)).1));
            }
            if let Some((first, last)) = &self.last
                && *last != record
            {
                let why = format!("they disagree about run {run}");
                let (first, other) = (parts[*first].path.clone(), parts[number].path.clone());
                return Err(Error::Different { first, other, why });
            }
        }
        Ok(None)
    }

    /// Counts those that are left out before this one.
    fn up_to(&mut self, run: u64) {
        if run > self.run {
            self.first_missing.get_or_insert(self.run);
            self.missing += run - self.run;
        }
    }
}
