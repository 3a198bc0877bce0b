//! Checksums of a table, among the metadata of its file: one of what it says of its sweep, and one of each group of rows. What a disk or a
//! network has changed is no result.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{KeyValue, RowGroupMetaData};

/// Where they stand among a file's metadata.
pub const CHECKSUMS: &str = "evenkeel.checksums";

/// Those of a table, in their order, in hexadecimal digits.
#[derive(Debug)]
pub struct Checksums(Vec<String>);

impl Checksums {
    /// Those of a table without rows that says this of its sweep.
    pub fn new(about: &str) -> Self {
        Self(vec![blake3::hash(about.as_bytes()).to_string()])
    }

    /// One more group of rows.
    pub fn add(&mut self, group: &blake3::Hasher) {
        self.0.push(group.finalize().to_string());
    }

    /// As metadata.
    pub fn metadata(&self) -> KeyValue {
        KeyValue::new(CHECKSUMS.to_owned(), self.0.join(" "))
    }

    /// Those of a file's metadata, if they are of a table that says this of its sweep.
    pub fn read(entry: &str, about: &str) -> Option<Self> {
        let read = Self(entry.split(' ').map(str::to_owned).collect());
        (read.0.first() == Self::new(about).0.first()).then_some(read)
    }

    /// Makes sure that a group is as it was written.
    ///
    /// # Errors
    /// It is not, or cannot be read.
    pub fn check(&self, mut file: &File, number: usize, group: &RowGroupMetaData) -> Result<()> {
        let mut found = blake3::Hasher::new();
        for column in group.columns() {
            let ends = [column.dictionary_page_offset().unwrap_or(column.data_page_offset()), column.compressed_size()];
            let [start, length] = ends.map(u64::try_from);
            file.seek(SeekFrom::Start(start?))?;
            found.update_reader(file.take(length?))?;
        }
        // The fuzzer changes tables, and shall see what becomes of it.
        if cfg!(fuzzing) || self.0.get(number + 1) == Some(&found.finalize().to_string()) {
            return Ok(());
        }
        Err(ParquetError::General("what is in it is not what was written".into()))
    }
}
