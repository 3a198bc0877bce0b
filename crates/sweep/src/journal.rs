//! What is done of a sweep, while it is at work: a file beside the table with a line for each run, written as soon as the run is over:
//! a checksum, how many runs the grid has, and the run's JSON. Whatever ends the process, at most the line that it was writing is lost.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{FlockOperation, flock};

use crate::error::{Error, Result};
use crate::row::Row;

/// The line of a journal beside which the table does not count.
const FRESH: &[u8] = b"\"fresh\"\n";

/// As many links as Linux follows.
const LINKS: usize = 40;

/// The journal of a table. While it is open no other process can open it.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    open: Mutex<Open>,
    /// Those of the table's other names, if the one that was given is a link: a sweep by one of them has these, too.
    others: Vec<Self>,
}

#[derive(Debug)]
struct Open {
    file: File,
    /// Where the next line begins.
    end: u64,
}

impl Journal {
    /// Opens the journal of a table, and makes one if there is none. What a sweep by another name of the table has begun is continued
    /// in its journal.
    ///
    /// # Errors
    /// It cannot be opened, or another process has it, or is at the table by another name.
    pub fn open(table: &Path) -> Result<Self> {
        let mut open: Vec<Self> = Vec::new();
        for path in journals(table) {
            // Several names may have one journal, by a link of its own.
            if open.iter().any(|journal| has_name(&journal.lock().file, &path).unwrap_or(false)) {
                continue;
            }
            match Self::at(path.clone()) {
                Ok(journal) => open.push(journal),
                // Where one cannot be made, no sweep by that name can begin, either.
                Err(Error::Unwritable { .. }) if !open.is_empty() && !path.exists() => {}
                Err(error) => return Err(error),
            }
        }
        let begun = open.iter().position(|journal| !journal.is_empty()).unwrap_or(0);
        let mut journal = open.swap_remove(begun);
        journal.others = open;
        Ok(journal)
    }

    fn at(path: PathBuf) -> Result<Self> {
        let file = loop {
            let file =
                OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(Error::writing(&path))?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => return Err(Error::Busy { path }),
                Err(error) => return Err(Error::writing(&path)(error.into())),
            }
            // Before it was locked, the process that had it may have come to its end and removed it.
            if has_name(&file, &path).map_err(Error::writing(&path))? {
                break file;
            }
        };
        let end = whole_lines(&file).map_err(Error::reading(&path))?;
        // A line that was cut off would run into the next one.
        file.set_len(end).map_err(Error::writing(&path))?;
        Ok(Self { path, open: Mutex::new(Open { file, end }), others: Vec::new() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().end == 0
    }

    /// Forgets every row, and that the table beside it has any.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn begin_anew(&self) -> Result<()> {
        self.clear()?;
        let mut open = self.lock();
        open.file.write_all(FRESH).map_err(Error::writing(&self.path))?;
        open.end = FRESH.len() as u64;
        Ok(())
    }

    /// Adds a row of a grid with so many runs. Returns its place.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn add(&self, row: &Row, runs: u64) -> Result<u64> {
        let line = line_of(row, runs).map_err(|error| Error::table(&self.path, error))?;
        let mut open = self.lock();
        let at = open.end;
        if let Err(error) = open.file.write_all(&line) {
            // What is half written would run into the next line.
            let _ = open.file.set_len(at);
            return Err(Error::writing(&self.path)(error));
        }
        open.end += line.len() as u64;
        Ok(at)
    }

    /// The row at a place.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn row(&self, at: u64) -> Result<Row> {
        let mut open = self.lock();
        let mut line = Vec::new();
        let read = open.file.seek(SeekFrom::Start(at)).and_then(|_| {
            // A row has a few hundred bytes.
            BufReader::with_capacity(1024, &mut open.file).read_until(b'\n', &mut line)
        });
        read.map_err(Error::reading(&self.path))?;
        parse(&self.path, &line, &format!("byte {at}")).map(|(_, row)| row)
    }

    /// Forgets every row.
    ///
    /// # Errors
    /// It cannot be written.
    fn clear(&self) -> Result<()> {
        let mut open = self.lock();
        open.end = 0;
        open.file.set_len(0).map_err(Error::writing(&self.path))
    }

    /// Removes it: the table has it all.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn remove(self) -> Result<()> {
        self.clear()
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        // A line is there whole, or cut off again.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Journal {
    /// One without a row is of no use.
    fn drop(&mut self) {
        if self.is_empty() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Calls `each` for every row of a journal, with its place and how many runs its grid had, if it says that. Returns whether the table
/// beside it does not count. A line without an end is being written, or was cut off.
///
/// # Errors
/// It cannot be read, or a line is none of a journal.
pub fn read(path: &Path, mut each: impl FnMut(u64, Option<u64>, Row) -> Result<()>) -> Result<bool> {
    let mut reader = File::open(path).map(BufReader::new).map_err(Error::reading(path))?;
    let (mut line, mut at, mut number, mut fresh) = (Vec::new(), 0, 1, false);
    while reader.read_until(b'\n', &mut line).map_err(Error::reading(path))? > 0 && line.ends_with(b"\n") {
        if line == FRESH {
            fresh = true;
        } else {
            let (runs, row) = parse(path, &line, &format!("line {number}"))?;
            each(at, runs, row)?;
        }
        at += line.len() as u64;
        number += 1;
        line.clear();
    }
    Ok(fresh)
}

fn parse(path: &Path, line: &[u8], place: &str) -> Result<(Option<u64>, Row)> {
    let unchanged = unchanged(line).ok_or_else(|| "it is not what was written".to_owned());
    let parsed = unchanged.map(parts).and_then(|(runs, json)| {
        let row = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        Ok((runs, row))
    });
    parsed.map_err(|error| {
        let message = format!(
            "no row of a sweep at {place} ({error}): remove the line to do its run again, or the file to do all of them again"
        );
        Error::table(path, message)
    })
}

/// Where the journal of a table is: beside its name, which comes first, or, if a sweep by another name began it, beside one of those to
/// which links at that name lead. If it is a link to another disk, what is done is not lost when that one is full.
pub fn journals(table: &Path) -> Vec<PathBuf> {
    let mut path = table.to_path_buf();
    let mut journals = vec![beside(&path)];
    for _ in 0..LINKS {
        let Ok(to) = std::fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(to);
        journals.push(beside(&path));
    }
    journals
}

/// The journal of a table that has anything in it. Nothing is written.
///
/// # Errors
/// It cannot be told.
pub fn begun(table: &Path) -> Result<Option<PathBuf>> {
    for path in journals(table) {
        match std::fs::metadata(&path) {
            Ok(found) if found.len() > 0 => return Ok(Some(path)),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::reading(&path)(error)),
            _ => {}
        }
    }
    Ok(None)
}

fn beside(table: &Path) -> PathBuf {
    let mut name = table.as_os_str().to_owned();
    name.push(".journal");
    name.into()
}

/// A row as a line: the checksum of the rest in hexadecimal digits, how many runs its grid has, and its JSON. As in the table, what a
/// disk or a hand has changed is no result.
fn line_of(row: &Row, runs: u64) -> serde_json::Result<Vec<u8>> {
    let text = [format!("{runs} ").into_bytes(), serde_json::to_vec(row)?].concat();
    let mut line = format!("{} ", blake3::hash(&text)).into_bytes();
    line.extend(text);
    line.push(b'\n');
    Ok(line)
}

/// How many runs the grid of a line had, which older versions did not write, and the JSON.
fn parts(text: &[u8]) -> (Option<u64>, &[u8]) {
    let (digits, rest) = text.split_at(text.iter().take_while(|byte| byte.is_ascii_digit()).count());
    let runs = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
    (runs, rest.trim_ascii_start())
}

/// What a line has behind its checksum, if it is as [`line_of`] made it.
fn unchanged(line: &[u8]) -> Option<&[u8]> {
    let (checksum, rest) = line.split_at_checked(2 * blake3::OUT_LEN)?;
    let text = rest.strip_prefix(b" ")?.strip_suffix(b"\n")?;
    (blake3::Hash::from_hex(checksum).ok()? == blake3::hash(text)).then_some(text)
}

/// Whether an open file is the one of this name.
fn has_name(file: &File, path: &Path) -> std::io::Result<bool> {
    match std::fs::metadata(path) {
        Ok(named) => file.metadata().map(|open| (open.dev(), open.ino()) == (named.dev(), named.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Up to where a file consists of whole lines.
fn whole_lines(mut file: &File) -> std::io::Result<u64> {
    let length = file.seek(SeekFrom::End(0))?;
    let mut end = length;
    let mut block = [0; 4096];
    while end > 0 {
        let from = end.saturating_sub(block.len() as u64);
        let part = &mut block[..(end - from) as usize];
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(part)?;
        if let Some(last) = part.iter().rposition(|byte| *byte == b'\n') {
            return Ok(from + last as u64 + 1);
        }
        end = from;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// How many the grid has.
    const RUNS: u64 = 60;

    fn row(run: u64) -> Row {
        // A number that a sloppy reader of decimals gets wrong in the last place.
        Row { run, key: "k".into(), h_antt: Some(1.0 / 3.0 + run as f64 * 1e-16), ..Row::default() }
    }

    fn all(journal: &Journal) -> Vec<(u64, Row)> {
        let mut rows = Vec::new();
        let keep = |at: u64, runs: Option<u64>, row: Row| {
            assert_eq!(runs, Some(RUNS));
            rows.push((at, row));
            Ok(())
        };
        assert!(!read(journal.path(), keep).unwrap());
        rows
    }

    #[test]
    fn rows_come_back_as_they_were_and_a_cut_line_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let table = folder.path().join("t.parquet");
        let journal = Journal::open(&table).unwrap();
        let places: Vec<u64> = (0..50).map(|run| journal.add(&row(run), RUNS).unwrap()).collect();
        assert!(matches!(Journal::open(&table), Err(Error::Busy { .. })));
        let path = journal.path().to_path_buf();
        drop(journal);
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"run\":50,\"ke").unwrap();
        let journal = Journal::open(&table).unwrap();
        let found = all(&journal);
        assert_eq!(found, places.iter().copied().zip((0..50).map(row)).collect::<Vec<_>>());
        let at = journal.add(&row(50), RUNS).unwrap();
        assert_eq!((journal.row(at).unwrap(), journal.row(places[7]).unwrap()), (row(50), row(7)));
        journal.remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_table_has_one_sweep_by_whatever_links() {
        let folder = tempfile::tempdir().unwrap();
        let name = |name: &str| folder.path().join(name);
        std::fs::create_dir(name("disk")).unwrap();
        // The table itself is not there yet.
        for (link, to) in [("a", "disk/t"), ("b", "a"), ("c", "disk/../disk/t")] {
            std::os::unix::fs::symlink(to, name(link)).unwrap();
        }
        let tables = ["a", "b", "c", "disk/t"].map(name);
        for (at, table) in tables.iter().enumerate() {
            let _journal = Journal::open(table).unwrap();
            for other in &tables {
                assert!(matches!(Journal::open(other), Err(Error::Busy { .. })), "{at}: {}", other.display());
            }
        }
        assert_eq!(std::fs::read_dir(name("disk")).unwrap().count(), 0, "nothing to be left behind");
        // A journal that is a link to the other one is one with it.
        std::os::unix::fs::symlink("disk/t.journal", name("a.journal")).unwrap();
        assert!(Journal::open(&tables[0]).is_ok());
    }

    #[test]
    fn a_journal_behind_a_link_that_cannot_be_opened_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let name = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink("disk/t", name("a")).unwrap();
        std::fs::create_dir_all(name("disk/t.journal")).unwrap();
        for table in ["disk/t", "a"] {
            let error = Journal::open(&name(table)).unwrap_err().to_string();
            assert!(error.starts_with("cannot write ") && error.ends_with("disk/t.journal"), "{table}: {error}");
        }
        assert!(!name("a.journal").exists(), "nothing to be left behind");
    }

    #[test]
    fn a_journal_that_is_removed_while_another_process_opens_it_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let table = folder.path().join("t.parquet");
        let holders = AtomicU64::new(0);
        let open_often = || {
            for _ in 0..2000 {
                let Ok(journal) = Journal::open(&table) else { continue };
                assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0, "one at a time");
                assert!(has_name(&journal.lock().file, journal.path()).unwrap());
                holders.fetch_sub(1, Ordering::SeqCst);
                // Removes it, as it is empty.
                drop(journal);
            }
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(open_often))));
    }

    #[test]
    fn what_cannot_be_written_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let nowhere = Journal::open(&folder.path().join("no/t.parquet")).unwrap_err().to_string();
        assert!(nowhere.starts_with("cannot write ") && nowhere.ends_with("no/t.parquet.journal"), "{nowhere}");
        let journal = Journal::open(&folder.path().join("t.parquet")).unwrap();
        // A device that is always full takes the file's place.
        journal.lock().file = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let full = journal.add(&row(0), RUNS).unwrap_err();
        assert_eq!(full.to_string(), format!("cannot write {}", journal.path().display()));
    }

    #[test]
    fn a_line_is_a_row_only_as_it_was_written() {
        let line = String::from_utf8(line_of(&row(7), RUNS).unwrap()).unwrap();
        assert!(unchanged(line.as_bytes()).is_some());
        let other = String::from_utf8(line_of(&row(8), RUNS).unwrap()).unwrap();
        let swapped = format!("{}{}", &other[..64], &line[64..]);
        let [result, of_grid] = [("0.33", "0.34"), (" 60 ", " 61 ")].map(|(from, to)| line.replace(from, to));
        for changed in [&*result, &of_grid, &line[65..], &line[1..], &line[..70], &swapped, "\n"] {
            assert!(changed != line && unchanged(changed.as_bytes()).is_none(), "{changed}");
        }
    }

    #[test]
    fn a_line_of_an_older_version_is_read() {
        let json = serde_json::to_string(&row(7)).unwrap();
        let line = format!("{} {json}\n", blake3::hash(json.as_bytes()));
        assert_eq!(parse(Path::new("t"), line.as_bytes(), "line 1").unwrap(), (None, row(7)));
    }

    #[test]
    fn what_is_no_journal_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let table = folder.path().join("t.parquet");
        std::fs::write(folder.path().join("t.parquet.journal"), b"\xff hello\n").unwrap();
        let journal = Journal::open(&table).unwrap();
        let error = read(journal.path(), |_, _, _| Ok(())).unwrap_err().to_string();
        assert!(error.contains("no row of a sweep at line 1") && error.contains("remove"), "{error}");
    }
}
