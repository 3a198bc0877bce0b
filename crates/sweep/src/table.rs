//! The table: a Parquet file with a row for each run, in the order of the grid.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchReader, StringArray,
};
use arrow_schema::{Field, FieldRef, Schema};
use evenkeel_experiment::Run;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use serde::{Deserialize, Serialize};
use serde_arrow::schema::{SchemaLike, TracingOptions};
use tempfile::NamedTempFile;
use toml::Value;

use crate::error::{Error, Result};
use crate::grid::Grid;
use crate::key::hexadecimal;
use crate::row::Row;

/// Rows that are handled at a time. Files are the same however they come about only if all are written in the same steps.
pub const STEP: usize = 8192;

/// Rows of a row group, which is what a reader can skip.
const GROUP: usize = 8 * STEP;

/// What varied values stand after.
const BEFORE_VALUES: &str = "policy";

/// What a table says of its sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The version that did the runs.
    pub version: String,
    /// The text of the grid.
    pub grid: String,
    /// The hash of what the grid names: files of the same name may differ.
    pub inputs: String,
    /// How many runs the grid has.
    pub runs: u64,
    /// Its policies, with their knobs.
    pub policies: Vec<String>,
    /// How many core orders there are.
    pub orders: usize,
    /// How many seeds there are.
    pub seeds: usize,
    /// The position of the policy that the others are compared with.
    pub baseline: usize,
}

/// Where that stands among a file's metadata.
const ABOUT: &str = "evenkeel";

impl About {
    /// Of a grid.
    pub fn of(grid: &Grid) -> Self {
        let (policies, orders, baseline) = grid.compared();
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            grid: grid.text().into(),
            inputs: hexadecimal(&grid.inputs()),
            runs: grid.runs(),
            policies: policies.into_iter().map(str::to_owned).collect(),
            orders: orders.len(),
            seeds: grid.counts()[5],
            baseline,
        }
    }

    /// Runs of a workload on a machine under certain conditions.
    pub fn in_cell(&self) -> u64 {
        (self.policies.len() * self.orders * self.seeds) as u64
    }
}

/// The fields of a [`Row`].
fn fields(path: &Path) -> Result<Vec<FieldRef>> {
    let options = TracingOptions::default().strings_as_large_utf8(false).sequence_as_large_list(false);
    Vec::<FieldRef>::from_type::<Row>(options).map_err(|error| Error::table(path, error))
}

/// Makes batches of a grid's rows.
pub struct Batches<'a> {
    grid: &'a Grid,
    path: &'a Path,
    fields: Vec<FieldRef>,
}

impl<'a> Batches<'a> {
    pub fn new(grid: &'a Grid, path: &'a Path) -> Result<Self> {
        Ok(Self { grid, path, fields: fields(path)? })
    }

    /// Rows as columns, those of the varied values among them.
    pub fn of(&self, rows: &[Row]) -> Result<RecordBatch> {
        let wrong = |error: &dyn std::fmt::Display| Error::table(self.path, error);
        let fixed = serde_arrow::to_record_batch(&self.fields, &rows).map_err(|error| wrong(&error))?;
        let mut fields = self.fields.clone();
        let mut columns = fixed.columns().to_vec();
        let at = fields.iter().position(|field| field.name() == BEFORE_VALUES).map_or(fields.len(), |at| at + 1);
        let values: Vec<Vec<Option<&Value>>> =
            rows.iter().map(|row| self.grid.values(self.grid.run(row.run)).collect()).collect();
        for (number, (name, all)) in self.grid.columns().enumerate() {
            let column = column(all, values.iter().map(|values| values[number]));
            fields.insert(at + number, Arc::new(Field::new(name, column.data_type().clone(), true)));
            columns.insert(at + number, column);
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(|error| wrong(&error))
    }
}

/// Columns that only rows of a grid have.
const OF_A_GRID: [&str; 4] = ["run", "key", "error", "max_events"];

/// Runs that are none of a grid's, in the columns that those have.
///
/// # Errors
/// None that is known: a run has what the columns want.
pub fn table(runs: &[Run]) -> Result<RecordBatch> {
    let wrong = |error: &dyn std::fmt::Display| Error::table(Path::new("runs"), error);
    let row = |run: &Run| Row {
        workload: run.workload.clone(),
        machine: run.machine.clone(),
        policy: run.policy.clone(),
        order: run.order.name().to_owned(),
        seed: run.seed,
        ..Row::default().with(Ok(run.clone()))
    };
    let rows: Vec<Row> = runs.iter().map(row).collect();
    let all = serde_arrow::to_record_batch(&fields(Path::new("runs"))?, &rows).map_err(|error| wrong(&error))?;
    let schema = all.schema();
    let kept = schema.fields().iter().enumerate().filter(|(_, field)| !OF_A_GRID.contains(&field.name().as_str()));
    all.project(&kept.map(|(at, _)| at).collect::<Vec<_>>()).map_err(|error| wrong(&error))
}

/// Whether a table has every run of a grid and nothing else, and none that another limit of events ended. A file that does not exist
/// has none.
///
/// # Errors
/// It cannot be read, is none of a sweep, or, without `drop`, has the runs of another grid.
pub fn is_done(grid: &Grid, path: &Path, drop: bool, max_events: u64) -> Result<bool> {
    if !path.exists() {
        return Ok(false);
    }
    let mut reader = Reader::open(path)?;
    if reader.about != About::of(grid) {
        let what = "it has the runs of another grid, of other files by the same names, or of another version";
        let error = Error::table(path, format!("{what}: expected another file, or leave to drop them (drop)"));
        return if drop { Ok(false) } else { Err(error) };
    }
    if reader.count != grid.runs() {
        return Ok(false);
    }
    while let Some(rows) = reader.rows()? {
        if rows.iter().any(|row| row.max_events.is_some_and(|limit| limit != max_events)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// How many rows a table of a sweep has.
///
/// # Errors
/// As [`read`].
pub fn rows(path: &Path) -> Result<u64> {
    Ok(Reader::open(path)?.count)
}

/// All rows of a table of a sweep, in batches.
///
/// # Errors
/// It cannot be read, or is none of a sweep.
pub fn read(path: &Path) -> Result<(Arc<Schema>, Vec<RecordBatch>)> {
    let mut reader = Reader::open(path)?;
    let mut batches = Vec::new();
    while let Some(batch) = reader.next()? {
        batches.push(batch);
    }
    Ok((reader.schema(), batches))
}

/// A column of varied values, of the narrowest type that has `all` of them.
fn column<'a>(all: &[Value], values: impl Iterator<Item = Option<&'a Value>>) -> ArrayRef {
    if all.iter().all(Value::is_integer) {
        return Arc::new(values.map(|value| value?.as_integer()).collect::<Int64Array>());
    }
    if all.iter().all(|value| value.is_integer() || value.is_float()) {
        let number = |value: &Value| value.as_float().or(value.as_integer().map(|whole| whole as f64));
        return Arc::new(values.map(|value| number(value?)).collect::<Float64Array>());
    }
    if all.iter().all(Value::is_bool) {
        return Arc::new(values.map(|value| value?.as_bool()).collect::<BooleanArray>());
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Arc::new(values.map(|value| Some(text(value?))).collect::<StringArray>())
}

/// Such a column's values as text; nothing for one of another type. `arrow-cast` has this for every type that there is, and nine
/// crates behind it.
fn texts(column: &dyn Array) -> Option<Vec<String>> {
    fn all<T>(values: impl Iterator<Item = Option<T>>, text: impl Fn(T) -> String) -> Vec<String> {
        values.map(|value| value.map_or_else(|| UNSET.into(), &text)).collect()
    }
    if let Some(whole) = column.as_primitive_opt::<Int64Type>() {
        return Some(all(whole.iter(), |value| value.to_string()));
    }
    if let Some(numbers) = column.as_primitive_opt::<Float64Type>() {
        return Some(all(numbers.iter(), |value| ryu::Buffer::new().format(value).to_owned()));
    }
    if let Some(bools) = column.as_boolean_opt() {
        return Some(all(bools.iter(), |value| value.to_string()));
    }
    column.as_string_opt::<i32>().map(|texts| all(texts.iter(), str::to_owned))
}

/// Makes sure that nothing is lost where a table is written: there is no file yet, or it is a table of a sweep.
pub fn replaceable(path: &Path) -> Result<()> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::file(path)(error)),
        Ok(_) => Reader::open(path).map(drop),
    }
}

/// Where links lead, so that they stay.
fn target(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}

/// A table that is being written, under another name until it is whole.
pub struct Writer<'a> {
    path: &'a Path,
    writer: Option<ArrowWriter<NamedTempFile>>,
    about: About,
}

impl<'a> Writer<'a> {
    pub fn new(path: &'a Path, about: About) -> Self {
        Self { path, writer: None, about }
    }

    /// Writes rows: [`STEP`] of them, or the last.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let wrong = Error::parquet(self.path);
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => {
                let about = serde_json::to_string(&self.about).map_err(|error| Error::table(self.path, error))?;
                let properties = WriterProperties::builder()
                    .set_compression(Compression::SNAPPY)
                    .set_max_row_group_row_count(Some(GROUP))
                    .set_created_by(format!("evenkeel {}", env!("CARGO_PKG_VERSION")))
                    .set_key_value_metadata(Some(vec![KeyValue::new(ABOUT.to_owned(), about)]))
                    .build();
                let target = target(self.path);
                let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
                let file = tempfile::Builder::new()
                    .prefix(".evenkeel-")
                    .suffix(".partial")
                    .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
                    .tempfile_in(folder.unwrap_or(Path::new(".")))
                    .map_err(Error::file(self.path))?;
                none.insert(ArrowWriter::try_new(file, batch.schema(), Some(properties)).map_err(&wrong)?)
            }
        };
        writer.write(batch).map_err(wrong)
    }

    /// Gives the file its name.
    pub fn finish(self) -> Result<()> {
        let Some(writer) = self.writer else { return Err(Error::table(self.path, "there is no run to write")) };
        let file = writer.into_inner().map_err(Error::parquet(self.path))?;
        file.as_file().sync_all().map_err(Error::file(self.path))?;
        file.persist(target(self.path)).map(drop).map_err(|error| Error::file(self.path)(error.error))
    }
}

/// How a varied value is written that a run does not set.
const UNSET: &str = "default";

/// What is varied, by its name, with the value that each of some rows has.
pub type Values = (String, Vec<String>);

/// A table that is read, a step at a time.
pub struct Reader<'a> {
    path: &'a Path,
    /// What it says of its sweep.
    pub about: About,
    /// How many rows it has.
    count: u64,
    batches: parquet::arrow::arrow_reader::ParquetRecordBatchReader,
}

impl<'a> Reader<'a> {
    pub fn open(path: &'a Path) -> Result<Self> {
        // Nothing else has an end to begin with.
        if !std::fs::metadata(path).map_err(Error::file(path))?.is_file() {
            return Err(Error::table(path, "expected a file: a table of a sweep, or none yet"));
        }
        let file = File::open(path).map_err(Error::file(path))?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(Error::parquet(path))?;
        let about = builder.metadata().file_metadata().key_value_metadata().into_iter().flatten();
        let about = about.filter(|entry| entry.key == ABOUT).find_map(|entry| entry.value.as_deref());
        let about = about.and_then(|about| serde_json::from_str(about).ok());
        let about = about.ok_or_else(|| Error::table(path, "a Parquet file, but none of `evenkeel sweep`"))?;
        for field in fields(path)? {
            let found = builder.schema().field_with_name(field.name()).ok();
            if found.is_none_or(|found| found.data_type() != field.data_type()) {
                let message = format!(
                    "its column `{}` is missing, or of another kind than `evenkeel sweep` writes",
                    field.name()
                );
                return Err(Error::table(path, message));
            }
        }
        let count = builder.metadata().file_metadata().num_rows().unsigned_abs();
        let batches = builder.with_batch_size(STEP).build().map_err(Error::parquet(path))?;
        Ok(Self { path, about, count, batches })
    }

    /// Its columns.
    pub fn schema(&self) -> Arc<Schema> {
        self.batches.schema()
    }

    /// The next rows, as columns; none at its end.
    pub fn next(&mut self) -> Result<Option<RecordBatch>> {
        self.batches.next().transpose().map_err(|error| Error::table(self.path, error))
    }

    /// The next rows, and by its name what each of them has of all that is varied, but for knobs of policies; none at its end.
    pub fn rows_and_values(&mut self) -> Result<Option<(Vec<Row>, Vec<Values>)>> {
        let Some(batch) = self.next()? else { return Ok(None) };
        let schema = batch.schema();
        let known = fields(self.path)?;
        let mut all = Vec::new();
        for (field, column) in schema.fields().iter().zip(batch.columns()) {
            if known.iter().any(|known| known.name() == field.name()) || field.name().starts_with("policy.") {
                continue;
            }
            let values = texts(column).ok_or_else(|| {
                let message = format!("its column `{}` is of another kind than `evenkeel sweep` writes", field.name());
                Error::table(self.path, message)
            })?;
            all.push((field.name().clone(), values));
        }
        self.parsed(&batch).map(|rows| Some((rows, all)))
    }

    /// The next rows; none at its end.
    pub fn rows(&mut self) -> Result<Option<Vec<Row>>> {
        let Some(batch) = self.next()? else { return Ok(None) };
        self.parsed(&batch).map(Some)
    }

    fn parsed(&self, batch: &RecordBatch) -> Result<Vec<Row>> {
        let wrong = |error: &dyn std::fmt::Display| Error::table(self.path, error);
        let columns = fields(self.path)?
            .iter()
            .map(|field| batch.schema().index_of(field.name()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| wrong(&error))?;
        let batch = batch.project(&columns).map_err(|error| wrong(&error))?;
        serde_arrow::from_record_batch(&batch).map_err(|error| wrong(&error))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::UInt64Array;

    use super::*;

    #[test]
    fn a_column_of_each_kind_that_is_written_has_texts() {
        let texts = |column: &dyn Array| texts(column).map(|texts| texts.join(" "));
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            texts(&Int64Array::from(vec![Some(-2), None, Some(i64::MAX)])),
            some("-2 default 9223372036854775807")
        );
        assert_eq!(
            texts(&Float64Array::from(vec![Some(1.0), None, Some(1e16), Some(0.1)])),
            some("1.0 default 1e16 0.1")
        );
        assert_eq!(texts(&BooleanArray::from(vec![Some(true), None, Some(false)])), some("true default false"));
        assert_eq!(texts(&StringArray::from(vec![Some("a"), None])), some("a default"));
        assert_eq!(texts(&UInt64Array::from(vec![1])), None);
    }
}
