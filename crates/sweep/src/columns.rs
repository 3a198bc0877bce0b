//! Columns of a Parquet file: what each holds, and how the values of rows become columns and come back. By Parquet's own columns, not by
//! Arrow's, which would be a third of the whole command.

use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::reader::ColumnReaderImpl;
use parquet::column::writer::{ColumnCloseResult, ColumnWriterImpl};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, Type, TypePtr};
use serde_json::Value;

use crate::pages::Source;

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers from 0.
    Count,
    /// Whole numbers.
    Whole,
    /// Numbers.
    Number,
    /// True or false.
    Truth,
    /// Texts.
    Text,
}

/// The values of a row, in the order of its fields.
pub type Record = Vec<Value>;

/// Among how many texts before it one is looked for, to share its bytes: names come again, row after row.
const RECENT: usize = 8;

/// A name, what it holds, and whether a value may be missing.
pub type Leaf = (&'static str, Kind, bool);

/// A field of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: Cow<'static, str>,
    shape: Shape,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    One {
        kind: Kind,
        optional: bool,
    },
    /// Items with fields of their own.
    List(&'static [Leaf]),
}

impl Field {
    /// One that every row has.
    pub const fn always(name: &'static str, kind: Kind) -> Self {
        Self { name: Cow::Borrowed(name), shape: Shape::One { kind, optional: false } }
    }

    /// One that a row may lack.
    pub const fn optional(name: &'static str, kind: Kind) -> Self {
        Self { name: Cow::Borrowed(name), shape: Shape::One { kind, optional: true } }
    }

    /// A list of items.
    pub const fn list(name: &'static str, of: &'static [Leaf]) -> Self {
        Self { name: Cow::Borrowed(name), shape: Shape::List(of) }
    }

    /// One that the grid varies: runs need not set it.
    pub fn varied(name: String, kind: Kind) -> Self {
        Self { name: Cow::Owned(name), shape: Shape::One { kind, optional: true } }
    }

    fn schema(&self) -> Result<TypePtr> {
        let fields = match &self.shape {
            Shape::One { kind, optional } => return kind.schema(&self.name, *optional),
            Shape::List(leaves) => leaves.iter().map(|(name, kind, optional)| kind.schema(name, *optional)),
        };
        let element = group("element", Repetition::REQUIRED, None, fields.collect::<Result<_>>()?)?;
        let list = group("list", Repetition::REPEATED, None, vec![element])?;
        group(&self.name, Repetition::REQUIRED, Some(LogicalType::List), vec![list])
    }

    /// Its columns, without values yet.
    fn columns(&self) -> Vec<Column> {
        match &self.shape {
            Shape::One { kind, optional } => vec![Column::new(*kind, i16::from(*optional), false)],
            Shape::List(leaves) => {
                let column = |(_, kind, optional): &Leaf| Column::new(*kind, 1 + i16::from(*optional), true);
                leaves.iter().map(column).collect()
            }
        }
    }

    /// The names of its columns, from the root of a file's schema on.
    fn paths(&self) -> Vec<Vec<&str>> {
        match &self.shape {
            Shape::One { .. } => vec![vec![&self.name]],
            Shape::List(leaves) => leaves.iter().map(|(leaf, ..)| vec![&self.name, "list", "element", leaf]).collect(),
        }
    }

    /// Where its columns are in a file; `None` if one is missing, or holds something else.
    pub fn find(&self, columns: &[Arc<ColumnDescriptor>]) -> Option<Vec<usize>> {
        let place = |(path, wanted): (Vec<&str>, Column)| {
            columns.iter().position(|column| {
                let levels = (column.max_def_level(), column.max_rep_level());
                column.path().parts() == path.as_slice()
                    && Kind::of(column) == Some(wanted.kind)
                    && levels == (wanted.most, i16::from(wanted.listed))
            })
        };
        self.paths().into_iter().zip(self.columns()).map(place).collect()
    }

    /// What a file has beside the fields that are known.
    pub fn others(columns: &[Arc<ColumnDescriptor>], known: &[Self]) -> Result<Vec<Self>, String> {
        let known = |name: &str| known.iter().any(|field| field.name == name);
        let unknown = columns.iter().filter(|column| column.path().parts().first().is_some_and(|name| !known(name)));
        unknown
            .map(|column| {
                let name = column.path().string();
                let flat =
                    column.path().parts().len() == 1 && column.max_def_level() == 1 && column.max_rep_level() == 0;
                Kind::of(column).filter(|_| flat).map(|kind| Self::varied(name.clone(), kind)).ok_or(name)
            })
            .collect()
    }
}

fn group(name: &str, repetition: Repetition, logical: Option<LogicalType>, fields: Vec<TypePtr>) -> Result<TypePtr> {
    let builder = Type::group_type_builder(name).with_repetition(repetition).with_logical_type(logical);
    builder.with_fields(fields).build().map(Arc::new)
}

impl Kind {
    fn types(self) -> (Physical, Option<LogicalType>) {
        match self {
            Self::Count => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Self::Whole => (Physical::INT64, None),
            Self::Number => (Physical::DOUBLE, None),
            Self::Truth => (Physical::BOOLEAN, None),
            Self::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        }
    }

    fn schema(self, name: &str, optional: bool) -> Result<TypePtr> {
        let (physical, logical) = self.types();
        let repetition = if optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let builder = Type::primitive_type_builder(name, physical).with_repetition(repetition);
        builder.with_logical_type(logical).build().map(Arc::new)
    }

    fn of(column: &ColumnDescriptor) -> Option<Self> {
        let types = (column.physical_type(), column.logical_type_ref().cloned());
        [Self::Count, Self::Whole, Self::Number, Self::Truth, Self::Text].into_iter().find(|kind| kind.types() == types)
    }
}

/// The schema of a file with these fields.
pub fn schema(fields: &[Field]) -> Result<TypePtr> {
    let fields = fields.iter().map(Field::schema).collect::<Result<_>>()?;
    Type::group_type_builder("evenkeel").with_fields(fields).build().map(Arc::new)
}

/// The values of a column, which are fewer than rows where some are missing, and where in rows they belong, as Parquet has it.
struct Column {
    kind: Kind,
    /// The definition level of a value that is there.
    most: i16,
    /// Whether it is of the items of a list.
    listed: bool,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    values: Values,
}

enum Values {
    Longs(Vec<i64>),
    Doubles(Vec<f64>),
    Bools(Vec<bool>),
    Texts(Vec<ByteArray>),
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::Longs(all) => all.len(),
            Self::Doubles(all) => all.len(),
            Self::Bools(all) => all.len(),
            Self::Texts(all) => all.len(),
        }
    }
}

impl Column {
    fn new(kind: Kind, most: i16, listed: bool) -> Self {
        let values = match kind {
            Kind::Count | Kind::Whole => Values::Longs(Vec::new()),
            Kind::Number => Values::Doubles(Vec::new()),
            Kind::Truth => Values::Bools(Vec::new()),
            Kind::Text => Values::Texts(Vec::new()),
        };
        Self { kind, most, listed, definitions: Vec::new(), repetitions: Vec::new(), values }
    }

    /// One more value, or none.
    fn push(&mut self, value: &Value, repetition: i16) {
        let missing = value.is_null() && self.most > 0;
        self.definitions.push(if missing { self.most - 1 } else { self.most });
        self.repetitions.push(repetition);
        if missing {
            return;
        }
        match &mut self.values {
            // A count beyond those that have a sign is there by its bits.
            Values::Longs(all) => {
                all.push(value.as_i64().or(value.as_u64().map(|count| count as i64)).unwrap_or_default())
            }
            Values::Doubles(all) => all.push(value.as_f64().unwrap_or_default()),
            Values::Bools(all) => all.push(value.as_bool().unwrap_or_default()),
            Values::Texts(all) => {
                let text = value.as_str().unwrap_or_default();
                let known = all.iter().rev().take(RECENT).find(|known| known.data() == text.as_bytes()).cloned();
                all.push(known.unwrap_or_else(|| text.into()));
            }
        }
    }

    /// A list without items.
    fn push_empty(&mut self) {
        self.definitions.push(0);
        self.repetitions.push(0);
    }

    /// Writes them as the next column of a group, and returns what it wrote. The writer that a group has itself brings encoders of every type that Parquet has.
    fn write<W: Write + Send>(
        &self,
        column: &ColumnDescPtr,
        properties: &WriterPropertiesPtr,
        to: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<Bytes> {
        let (mut bytes, of) = (TrackedWrite::new(Vec::new()), (column, properties));
        let closed = match &self.values {
            Values::Longs(all) => self.encode::<Int64Type>(all, of, &mut bytes),
            Values::Doubles(all) => self.encode::<DoubleType>(all, of, &mut bytes),
            Values::Bools(all) => self.encode::<BoolType>(all, of, &mut bytes),
            Values::Texts(all) => self.encode::<ByteArrayType>(all, of, &mut bytes),
        }?;
        let bytes = Bytes::from(bytes.into_inner()?);
        to.append_column(&bytes, closed).map(|()| bytes)
    }

    fn encode<T: DataType>(
        &self,
        values: &[T::T],
        (column, properties): (&ColumnDescPtr, &WriterPropertiesPtr),
        to: &mut TrackedWrite<Vec<u8>>,
    ) -> Result<ColumnCloseResult> {
        let pages = Box::new(SerializedPageWriter::new(to));
        let mut writer = ColumnWriterImpl::<T>::new(Arc::clone(column), Arc::clone(properties), pages);
        writer.write_batch(values, Some(&self.definitions), Some(&self.repetitions))?;
        writer.close()
    }

    /// Reads what so many rows have.
    fn read(mut self, from: &mut Source, rows: usize) -> Result<Self> {
        let Self { definitions, repetitions, values, .. } = &mut self;
        let read = match (values, from) {
            (Values::Longs(all), Source::Longs(from)) => fill(from, rows, definitions, repetitions, all),
            (Values::Doubles(all), Source::Doubles(from)) => fill(from, rows, definitions, repetitions, all),
            (Values::Bools(all), Source::Bools(from)) => fill(from, rows, definitions, repetitions, all),
            (Values::Texts(all), Source::Texts(from)) => fill(from, rows, definitions, repetitions, all),
            _ => Err(ParquetError::General("a column is of another type than its schema says".into())),
        };
        read.map(|()| self)
    }

    /// A value by its position among those that are there.
    fn value(&self, at: usize) -> Value {
        match (&self.values, self.kind) {
            (Values::Longs(all), Kind::Count) => all.get(at).map(|count| (*count as u64).into()),
            (Values::Longs(all), _) => all.get(at).copied().map(Value::from),
            (Values::Doubles(all), _) => all.get(at).copied().map(Value::from),
            (Values::Bools(all), _) => all.get(at).copied().map(Value::from),
            (Values::Texts(all), _) => all.get(at).map(|text| String::from_utf8_lossy(text.data()).into()),
        }
        .unwrap_or_default()
    }

    /// What each level has: a value, or that it is missing. Nothing for a list without items.
    fn levels(&self) -> impl Iterator<Item = (bool, Option<Value>)> {
        let mut at = 0;
        let first = |level: usize| self.repetitions.get(level).is_none_or(|repetition| *repetition == 0);
        // Where nothing can be missing, no level is kept.
        let count = if self.most == 0 { self.values.len() } else { self.definitions.len() };
        (0..count).map(move |level| {
            let definition = self.definitions.get(level).copied().unwrap_or(self.most);
            let value = match definition == self.most {
                true => {
                    at += 1;
                    Some(self.value(at - 1))
                }
                false => (!self.listed || definition > 0).then_some(Value::Null),
            };
            (first(level), value)
        })
    }

    /// The value of each row.
    fn rows(&self) -> impl Iterator<Item = Value> {
        self.levels().map(|(_, value)| value.unwrap_or_default())
    }

    /// The values of each row, of as many items as its list has.
    fn lists(&self) -> Vec<Vec<Value>> {
        let mut rows: Vec<Vec<Value>> = Vec::new();
        for (first, value) in self.levels() {
            if first {
                rows.push(Vec::new());
            }
            if let Some(row) = rows.last_mut() {
                row.extend(value);
            }
        }
        rows
    }
}

/// Fills a column with so many rows.
fn fill<T: DataType>(
    from: &mut ColumnReaderImpl<T>,
    rows: usize,
    definitions: &mut Vec<i16>,
    repetitions: &mut Vec<i16>,
    values: &mut Vec<T::T>,
) -> Result<()> {
    let mut read = 0;
    while read < rows {
        let (more, ..) = from.read_records(rows - read, Some(definitions), Some(repetitions), values)?;
        if more == 0 {
            return Err(ParquetError::General(format!("a column ends {} rows before the others", rows - read)));
        }
        read += more;
    }
    Ok(())
}

/// Rows that become a group of a file.
pub struct Group {
    fields: Vec<Field>,
    columns: Vec<Vec<Column>>,
    rows: usize,
}

impl Group {
    /// None yet.
    pub fn new(fields: Vec<Field>) -> Self {
        let columns = fields.iter().map(Field::columns).collect();
        Self { fields, columns, rows: 0 }
    }

    /// How many there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// One more row.
    pub fn push(&mut self, row: &Record) {
        self.rows += 1;
        for ((field, columns), value) in self.fields.iter().zip(&mut self.columns).zip(row) {
            let Shape::List(leaves) = field.shape else {
                columns.iter_mut().for_each(|column| column.push(value, 0));
                continue;
            };
            let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
            for ((place, (leaf, ..)), column) in leaves.iter().enumerate().zip(columns) {
                for (at, item) in items.iter().enumerate() {
                    let value = item.get(place).or_else(|| item.get(leaf)).unwrap_or(&Value::Null);
                    column.push(value, i16::from(at > 0));
                }
                if items.is_empty() {
                    column.push_empty();
                }
            }
        }
    }

    /// Writes them, after which there are none. Returns the hash of what it wrote.
    pub fn write<W: Write + Send>(&mut self, to: &mut SerializedFileWriter<W>) -> Result<blake3::Hasher> {
        let mut written = blake3::Hasher::new();
        let (columns, properties) = (to.schema_descr().columns().to_vec(), Arc::clone(to.properties()));
        let mut group = to.next_row_group()?;
        for (values, column) in self.columns.iter().flatten().zip(&columns) {
            written.update(&values.write(column, &properties, &mut group)?);
        }
        group.close()?;
        *self = Self::new(std::mem::take(&mut self.fields));
        Ok(written)
    }
}

/// Reads the next rows of a group, each with all of these fields. The columns of the group are those of the fields, in their order.
pub fn read(fields: &[Field], group: &mut [Source], rows: usize) -> Result<Vec<Record>> {
    let mut all: Vec<Record> = (0..rows).map(|_| Record::with_capacity(fields.len())).collect();
    let mut readers = group.iter_mut();
    for field in fields {
        let columns = field.columns().into_iter().zip(&mut readers).map(|(column, from)| column.read(from, rows));
        let columns: Vec<Column> = columns.collect::<Result<_>>()?;
        match (&field.shape, &columns[..]) {
            (Shape::One { .. }, [column]) => all.iter_mut().zip(column.rows()).for_each(|(row, value)| row.push(value)),
            (Shape::One { .. }, _) => {}
            (Shape::List(leaves), columns) => {
                let mut lists: Vec<_> = columns.iter().map(|column| column.lists().into_iter()).collect();
                for row in &mut all {
                    row.push(items(leaves, lists.iter_mut().filter_map(Iterator::next).collect())?);
                }
            }
        }
    }
    Ok(all)
}

/// The items of a list, from what each of its columns has of them: arrays, as the keys of objects would take as long as all the rest.
fn items(leaves: &[Leaf], columns: Vec<Vec<Value>>) -> Result<Value> {
    let count = columns.first().map_or(0, Vec::len);
    if columns.len() != leaves.len() || columns.iter().any(|column| column.len() != count) {
        return Err(ParquetError::General("columns of a list have different numbers of items".into()));
    }
    let mut items: Vec<Record> = (0..count).map(|_| Record::with_capacity(leaves.len())).collect();
    for column in columns {
        items.iter_mut().zip(column).for_each(|(item, value)| item.push(value));
    }
    Ok(items.into_iter().collect())
}
