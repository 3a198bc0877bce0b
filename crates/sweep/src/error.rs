//! What can go wrong with a sweep.

use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

use crate::shard::Shard;

/// Why a sweep cannot be done, or not to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A grid's file has a mistake.
    #[error("{file}: {message}")]
    Grid {
        /// The file, with line and column where the mistake is at one place.
        file: String,
        /// What is wrong there, and what was expected.
        message: String,
    },
    /// Something that the grid names does not exist, or does not fit the rest.
    #[error("{place}")]
    Named {
        /// Where in the grid: file, line and column, and what it is about.
        place: String,
        /// What is wrong with it.
        source: evenkeel_experiment::Error,
    },
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A sweep's table cannot be written, although all of its runs are done.
    #[error("cannot write {}, whose {runs} runs are done and kept in {}", path.display(), journal.display())]
    NoTable {
        /// The table.
        path: PathBuf,
        /// Where its runs are.
        journal: PathBuf,
        /// How many there are.
        runs: u64,
        /// Why.
        source: io::Error,
    },
    /// A file is no table of a sweep, or broken.
    #[error("{}: {message}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// Another process is at work.
    #[error("{}: another process is at this sweep: wait for it, or write to another file", path.display())]
    Busy {
        /// The journal.
        path: PathBuf,
    },
    /// The file has runs that the grid does not have.
    #[error(
        "{}: {foreign} of its runs are not in the grid (or what they ran has changed: a file that the grid names, the version of \
         evenkeel): expected another file, or leave to drop them", path.display()
    )]
    Foreign {
        /// The table or journal.
        path: PathBuf,
        /// How many.
        foreign: u64,
    },
    /// A table has runs that what takes its place would not have.
    #[error(
        "{}: {runs} of its runs are in none of the parts: expected it as one of them, another file, or leave to drop them",
        path.display()
    )]
    Lost {
        /// The table.
        path: PathBuf,
        /// How many.
        runs: u64,
    },
    /// The file has runs of another shard.
    #[error("{}: {runs} of its runs are not of part {shard}: expected a file of its own for each part", path.display())]
    OtherShard {
        /// The table or journal.
        path: PathBuf,
        /// The shard that is wanted.
        shard: Shard,
        /// How many.
        runs: u64,
    },
    /// The file was written for another grid, and has runs that are of other shards of this one.
    #[error(
        "{}: {runs} of its runs are not of part {shard}, as the grid has other runs than when it was written: expected \
         another file, or leave to drop them", path.display()
    )]
    DealtAnew {
        /// The table or journal.
        path: PathBuf,
        /// The shard that is wanted.
        shard: Shard,
        /// How many.
        runs: u64,
    },
    /// Parts are not of one sweep.
    #[error("{} and {} are not of the same sweep: {why}", first.display(), other.display())]
    Different {
        /// One file.
        first: PathBuf,
        /// Another one.
        other: PathBuf,
        /// What differs.
        why: String,
    },
    /// More parts than files can be open at once.
    #[error(
        "{parts} parts are too many to be open at once: this process may have {limit} files open; expected a higher limit \
         (`ulimit -n`), or fewer parts: what is merged of some of them is a part, too"
    )]
    TooMany {
        /// How many parts there are.
        parts: usize,
        /// How many files this process may have open.
        limit: u64,
    },
    /// Runs are in none of the parts.
    #[error(
        "{missing} of {of} runs are in none of the files, such as run {first}: is a shard missing, or not at its end?"
    )]
    Missing {
        /// How many.
        missing: u64,
        /// How many the grid has.
        of: u64,
        /// The first of them.
        first: u64,
    },
    /// The caller stopped the work. What was done is in the journal.
    #[error("stopped: {done} of {of} runs are done")]
    Stopped {
        /// Runs that are done, those of before included.
        done: u64,
        /// Runs that were to be done.
        of: u64,
    },
}

impl Error {
    pub(crate) fn reading(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Unreadable { path, source }
    }

    pub(crate) fn writing(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Unwritable { path, source }
    }

    pub(crate) fn table(path: &Path, message: impl ToString) -> Self {
        Self::Table { path: path.to_path_buf(), message: message.to_string() }
    }

    pub(crate) fn parquet(path: &Path) -> impl Fn(ParquetError) -> Self {
        let path = path.to_path_buf();
        move |error| match error {
            ParquetError::General(message) | ParquetError::EOF(message) => {
                Self::table(&path, format_args!("no Parquet file, or a broken one: {message}"))
            }
            ParquetError::External(cause) => match cause.downcast::<io::Error>() {
                Ok(source) if source.kind() != io::ErrorKind::UnexpectedEof => {
                    Self::Unreadable { path: path.clone(), source: *source }
                }
                Ok(end) => Self::table(&path, end),
                Err(other) => Self::table(&path, other),
            },
            other => Self::table(&path, other),
        }
    }

    /// As [`Self::parquet`], for a file that is written: that a file system refused says nothing about what is in the file.
    pub(crate) fn writing_parquet(path: &Path) -> impl Fn(ParquetError) -> Self {
        let path = path.to_path_buf();
        move |error| match error {
            ParquetError::External(cause) => match cause.downcast::<io::Error>() {
                Ok(source) => Self::Unwritable { path: path.clone(), source: *source },
                Err(other) => Self::table(&path, other),
            },
            other => Self::table(&path, other),
        }
    }

    /// For a table whose runs are all in its journal, unless that has been removed meanwhile, with its folder.
    pub(crate) fn kept(self, journal: &Path, runs: u64) -> Self {
        match self {
            Self::Unwritable { path, source } if journal.exists() => {
                Self::NoTable { path, journal: journal.to_path_buf(), runs, source }
            }
            other => other,
        }
    }
}

/// The result of this crate's functions.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;
