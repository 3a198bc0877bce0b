//! Makes one table of the tables of shards.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::vec::IntoIter;

use crate::columns::Record;
use crate::error::{Error, Result};
use crate::journal::{self, Journal};
use crate::open_files;
use crate::table::{About, Reader, Writer, replaceable};

/// What is wanted of a merge.
#[derive(Clone, Copy, Debug, Default)]
pub struct Merging {
    /// Runs may be missing.
    pub incomplete: bool,
    /// Runs in the table that the parts do not have are dropped; otherwise they are an error.
    pub drop: bool,
}

/// Makes sure that no sweep into a table, by this name or by one that links lead to, is at work, or was interrupted: what it has done
/// would be lost. It stays so as long as what is returned does.
///
/// # Errors
/// One is, or the journal cannot be opened.
pub fn at_its_end(table: &Path) -> Result<Journal> {
    let journal = Journal::open(table)?;
    if !journal.is_empty() {
        let message = "it has runs of a sweep that is not at its end: let `evenkeel sweep` end it, or remove it";
        return Err(Error::table(journal.path(), message));
    }
    Ok(journal)
}

/// Puts the rows of tables in the order of their grid into one: what one machine would have written, to the byte. A run that
/// several have is there once. Returns how many runs there are. All parts are open at once, for which this process's limit of open
/// files is raised, as far as it may.
///
/// # Errors
/// A file cannot be read or written, there are more than can be open, they are not of one sweep, one of them is not at its end,
/// runs are missing, or runs would be lost that the table has. With [`Merging`] the last two are none.
pub fn merge(parts: &[PathBuf], table: &Path, wanted: Merging) -> Result<u64> {
    open_files::as_many_as_allowed();
    merge_open(parts, table, wanted).map_err(|error| open_files::explained(error, parts.len()))
}

fn merge_open(parts: &[PathBuf], table: &Path, wanted: Merging) -> Result<u64> {
    replaceable(table)?;
    // Also kept from others until the table is written.
    let _journal = at_its_end(table)?;
    let old = Some(table).filter(|table| table.exists() && !wanted.drop).map(Part::open).transpose()?;
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
    let mut old = Old { part: old, lost: 0 };
    old.same(&about)?;
    let mut writer = Writer::new(table, &about, &first.reader.varied)?;
    let mut heads = BinaryHeap::with_capacity(open.len());
    for (number, part) in open.iter_mut().enumerate() {
        heads.extend(part.run()?.map(|run| Reverse((run, number))));
    }
    let mut next = Next { runs: about.runs, heads, run: 0, missing: 0, first_missing: None, written: 0, last: None };
    while let Some(record) = next.record(&mut open)? {
        writer.write(record)?;
        old.up_to(next.run - 1)?;
    }
    next.up_to(about.runs);
    old.up_to(u64::MAX)?;
    match next.first_missing.filter(|_| !wanted.incomplete) {
        Some(first) => Err(Error::Missing { missing: next.missing, of: about.runs, first }),
        None if old.lost > 0 => Err(Error::Lost { path: table.to_path_buf(), runs: old.lost }),
        None => writer.finish().map(|()| next.written),
    }
}

/// The table that is replaced, if there is one.
struct Old<'a> {
    part: Option<Part<'a>>,
    /// How many of its runs no part has.
    lost: u64,
}

impl Old<'_> {
    /// Makes sure that it is of the sweep that the parts are of.
    fn same(&self, about: &About) -> Result<()> {
        match &self.part {
            Some(part) if part.reader.about != *about => {
                Err(Error::Lost { path: part.path.clone(), runs: part.reader.count })
            }
            _ => Ok(()),
        }
    }

    /// Passes its runs up to one that is written.
    fn up_to(&mut self, written: u64) -> Result<()> {
        let Some(part) = &mut self.part else { return Ok(()) };
        while let Some(run) = part.run()?.filter(|run| *run <= written) {
            part.records.next();
            self.lost += u64::from(run != written);
        }
        Ok(())
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
        // Looked at before the table is opened, which takes the journal's place.
        ended(path)?;
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

/// Makes sure that a table is what its sweep has ended with: runs that are being done anew would be taken from it as
/// they were. Nothing is written beside it.
fn ended(table: &Path) -> Result<()> {
    journal::begun(table)?.map_or(Ok(()), |journal| {
        let message = "it is of a part that is not at its end: let `evenkeel sweep` end it, or remove it";
        Err(Error::table(&journal, message))
    })
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
