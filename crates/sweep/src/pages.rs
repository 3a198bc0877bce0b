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

/// The length of a text for which no page has room: where a decoder comes upon it, it says that the page ends too soon. At the end of the bytes
/// themselves it panics.
const BEYOND: [u8; 4] = u32::MAX.to_le_bytes();

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
        let descriptor = column.column_descr();
        let levels =
            [descriptor.max_rep_level(), descriptor.max_def_level()].into_iter().filter(|most| *most > 0).count();
        let texts = descriptor.physical_type() == Type::BYTE_ARRAY;
        let pages = Box::new(Pages { pages, texts, levels, dictionary: false });
        let column = column.column_descr_ptr();
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
    /// Whether its values are texts.
    texts: bool,
    /// How many kinds of levels stand before the values of a page of data.
    levels: usize,
    /// Whether its dictionary has been read.
    dictionary: bool,
}

impl Pages {
    /// Lets pages pass that a table has.
    fn checked(&mut self, mut page: Page) -> Result<Page> {
        let unknown = || ParquetError::General("a page is of a kind that `evenkeel sweep` does not write".into());
        let (plain, levels) =
            match &page {
                Page::DictionaryPage { .. } => {
                    self.dictionary = true;
                    (true, 0)
                }
                Page::DataPage { encoding: PLAIN, def_level_encoding: RLE, rep_level_encoding: RLE, .. } => {
                    (true, self.levels)
                }
                Page::DataPage {
                    encoding: RLE_DICTIONARY, def_level_encoding: RLE, rep_level_encoding: RLE, ..
                } if self.dictionary => (false, 0),
                _ => return Err(unknown()),
            };
        if let Page::DictionaryPage { buf, .. } | Page::DataPage { buf, .. } = &mut page
            && plain
            && self.texts
        {
            let broken = || ParquetError::EOF("a page of texts ends within one".into());
            *buf = bounded(buf, levels).ok_or_else(broken)?.into();
        }
        Ok(page)
    }
}

/// A page of plain texts behind some levels, each of them behind its length, with the end that a decoder sees. `None` if the last one is not whole.
fn bounded(page: &[u8], levels: usize) -> Option<Vec<u8>> {
    let mut rest = page;
    for _ in 0..levels {
        rest = without_one(rest)?;
    }
    while !rest.is_empty() {
        rest = without_one(rest)?;
    }
    Some([page, &BEYOND].concat())
}

/// Bytes without the first ones, which stand behind their length.
fn without_one(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.get(u32::from_le_bytes(*length) as usize..)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_texts_ends_where_one_ends() {
        let page = [2, 0, 0, 0, 7, 7, 1, 0, 0, 0, b'a', 0, 0, 0, 0];
        assert_eq!(bounded(&page, 1).map(|bounded| bounded.len()), Some(page.len() + BEYOND.len()));
        assert_eq!(bounded(&[], 0).as_deref(), Some(&BEYOND[..]));
        for end in [3, 5, 7, 10, 12, 14] {
            assert_eq!(bounded(&page[..end], 1), None, "{end}");
        }
        assert_eq!(bounded(&page[..6], 2), None, "levels of two kinds");
    }
}
