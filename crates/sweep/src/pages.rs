//! The pages of a table's columns, looked at before Parquet's decoders see them: those panic at some that only a broken file has.

use std::fs::File;
use std::sync::Arc;

use parquet::basic::Encoding::{PLAIN, RLE, RLE_DICTIONARY};
use parquet::basic::Type;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{BoolType, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::serialized_reader::SerializedPageReader;

/// Reads a column of a group of rows. `ColumnReader` has every type that Parquet has, and brings decoders of all of them along.
pub enum Source {
    Longs(ColumnReaderImpl<Int64Type>),
    Doubles(ColumnReaderImpl<DoubleType>),
    Bools(ColumnReaderImpl<BoolType>),
    Texts(ColumnReaderImpl<ByteArrayType>),
}

impl Source {
    /// Of the column at a place.
    ///
    /// # Errors
    /// The file is broken.
    pub fn open(file: &Arc<File>, group: &RowGroupMetaData, place: usize) -> Result<Self> {
        let wrong = |what: &str| Err(ParquetError::General(what.into()));
        let Some(column) = group.columns().get(place) else { return wrong("a group of rows lacks a column") };
        let ends = [Some(column.data_page_offset()), column.dictionary_page_offset(), Some(column.compressed_size())];
        if ends.into_iter().flatten().any(i64::is_negative) {
            return wrong("a column begins before the file, or ends before it begins");
        }
        let rows = usize::try_from(group.num_rows())?;
        let pages = SerializedPageReader::new(Arc::clone(file), column, rows, None)?;
        let (pages, column) = (Box::new(Pages { pages, dictionary: false }), column.column_descr_ptr());
        match column.physical_type() {
            Type::INT64 => Ok(Self::Longs(ColumnReaderImpl::new(column, pages))),
            Type::DOUBLE => Ok(Self::Doubles(ColumnReaderImpl::new(column, pages))),
            Type::BOOLEAN => Ok(Self::Bools(ColumnReaderImpl::new(column, pages))),
            Type::BYTE_ARRAY => Ok(Self::Texts(ColumnReaderImpl::new(column, pages))),
            _ => wrong("a column is of a type that no table has"),
        }
    }
}

/// Those of one column.
struct Pages {
    pages: SerializedPageReader<File>,
    /// Whether its dictionary has been read.
    dictionary: bool,
}

impl Pages {
    /// Lets pages pass that a table has.
    fn checked(&mut self, page: Page) -> Result<Page> {
        let known = match &page {
            Page::DictionaryPage { .. } => {
                self.dictionary = true;
                true
            }
            Page::DataPage { encoding, def_level_encoding: RLE, rep_level_encoding: RLE, .. } => {
                *encoding == PLAIN || (*encoding == RLE_DICTIONARY && self.dictionary)
            }
            _ => false,
        };
        let unknown = || ParquetError::General("a page is of a kind that `evenkeel sweep` does not write".into());
        known.then_some(page).ok_or_else(unknown)
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.pages.get_next_page()?.map(|page| self.checked(page)).transpose()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}
