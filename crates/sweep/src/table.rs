//! The table: a Parquet file with a row for each run, in the order of the grid.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use evenkeel_experiment::Run;
use evenkeel_experiment::files::NewFile;
use parquet::basic::Compression;
use parquet::file::metadata::{KeyValue, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use serde::de::value::MapDeserializer;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use toml::Value;

use crate::checksums::{CHECKSUMS, Checksums};
use crate::columns::{self, Field, Group, Kind, Record, schema};
use crate::error::{Error, Result};
use crate::grid::{Grid, MOST};
use crate::key::hexadecimal;
use crate::pages::Source;
use crate::row::{FIELDS, Row};

/// Rows that are read at a time.
const STEP: usize = 1024;

/// Rows of a row group, which is what a reader can skip, and what is in memory while a table is written.
const GROUP: usize = 65_536;

/// Where varied values stand among the fields: after the policy.
const VARIED: usize = 5;

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

    /// Whether its numbers fit each other: those of a broken file may not.
    fn fits(&self) -> bool {
        let pairs = self.policies.len().checked_mul(self.orders);
        let in_cell = pairs.and_then(|pairs| pairs.checked_mul(self.seeds)).unwrap_or_default() as u64;
        self.baseline < self.policies.len() && (1..=self.runs).contains(&in_cell) && self.runs <= MOST
    }
}

/// What a grid varies, as columns.
pub fn varied(grid: &Grid) -> Vec<Field> {
    grid.columns().map(|(name, all)| Field::varied(name.to_owned(), kind(all))).collect()
}

/// A row of a run of the grid as its record.
pub fn record(grid: &Grid, row: &Row, path: &Path) -> Result<Record> {
    let columns = grid.columns().map(|(_, all)| kind(all));
    let values = grid.values(grid.run(row.run)).zip(columns);
    let mut record = fixed(row, &FIELDS, path)?;
    record.splice(VARIED..VARIED, values.map(|(value, kind)| value.map_or(Json::Null, |value| json(value, kind))));
    Ok(record)
}

/// What a row has of these fields.
fn fixed(row: &Row, fields: &[Field], path: &Path) -> Result<Record> {
    let mut all = serde_json::to_value(row).map_err(|error| Error::table(path, error))?;
    Ok(fields.iter().map(|field| all[&*field.name].take()).collect())
}

/// The fields of a table whose grid varies these.
fn fields(varied: &[Field]) -> Vec<Field> {
    let mut fields = FIELDS.to_vec();
    fields.splice(VARIED..VARIED, varied.iter().cloned());
    fields
}

/// The narrowest kind that has all of these values.
fn kind(all: &[Value]) -> Kind {
    match () {
        () if all.iter().all(Value::is_integer) => Kind::Whole,
        () if all.iter().all(|value| value.is_integer() || value.is_float()) => Kind::Number,
        () if all.iter().all(Value::is_bool) => Kind::Truth,
        () => Kind::Text,
    }
}

fn json(value: &Value, kind: Kind) -> Json {
    match (kind, value) {
        (Kind::Whole, Value::Integer(whole)) => (*whole).into(),
        (Kind::Number, Value::Integer(whole)) => (*whole as f64).into(),
        (Kind::Number, Value::Float(number)) => (*number).into(),
        (Kind::Truth, Value::Boolean(truth)) => (*truth).into(),
        (_, Value::String(text)) => text.clone().into(),
        (_, other) => other.to_string().into(),
    }
}

/// Such a value as a text.
fn text(value: &Json) -> String {
    match value {
        Json::Null => UNSET.into(),
        Json::String(text) => text.clone(),
        Json::Number(number) if number.is_f64() => {
            ryu::Buffer::new().format(number.as_f64().unwrap_or_default()).to_owned()
        }
        other => other.to_string(),
    }
}

/// Columns that only rows of a grid have.
const OF_A_GRID: [&str; 4] = ["run", "key", "error", "max_events"];

/// A Parquet file of runs that are none of a grid's, in the columns that those have.
///
/// # Errors
/// None that is known: a run has what the columns want.
pub fn table(runs: &[Run]) -> Result<Vec<u8>> {
    let wrong = Error::parquet(Path::new("runs"));
    let fields: Vec<Field> = FIELDS.iter().filter(|field| !OF_A_GRID.contains(&&*field.name)).cloned().collect();
    let mut group = Group::new(fields.clone());
    for run in runs {
        let row = Row {
            workload: run.workload.clone(),
            machine: run.machine.clone(),
            policy: run.policy.clone(),
            order: run.order.name().to_owned(),
            seed: run.seed,
            ..Row::default().with(Ok(run.clone()))
        };
        group.push(&fixed(&row, &fields, Path::new("runs"))?);
    }
    let schema = schema(&fields).map_err(&wrong)?;
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).map_err(&wrong)?;
    group.write(&mut writer).and_then(|_| writer.into_inner()).map_err(wrong)
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
/// It cannot be read, or is none of a sweep.
pub fn rows(path: &Path) -> Result<u64> {
    Ok(Reader::open(path)?.count)
}

/// Makes sure that nothing is lost where a table is written: there is no file yet, or it is a table of a sweep.
pub fn replaceable(path: &Path) -> Result<()> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::reading(path)(error)),
        Ok(_) => Reader::open(path).map(drop),
    }
}

/// A table that is being written, and gets its name once it is whole.
pub struct Writer<'a> {
    path: &'a Path,
    group: Group,
    checksums: Checksums,
    file: SerializedFileWriter<NewFile>,
}

impl<'a> Writer<'a> {
    /// One with rows that have these varied values.
    pub fn new(path: &'a Path, about: &About, varied: &[Field]) -> Result<Self> {
        let wrong = Error::writing_parquet(path);
        let about = serde_json::to_string(about).map_err(|error| Error::table(path, error))?;
        let checksums = Checksums::new(&about);
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("evenkeel {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(vec![KeyValue::new(ABOUT.to_owned(), about)]))
            .build();
        let file = NewFile::create(path).map_err(Error::writing(path))?;
        let fields = fields(varied);
        let schema = schema(&fields).map_err(&wrong)?;
        let file = SerializedFileWriter::new(file, schema, Arc::new(properties)).map_err(&wrong)?;
        Ok(Self { path, group: Group::new(fields), checksums, file })
    }

    /// Writes a row.
    pub fn write(&mut self, row: &Record) -> Result<()> {
        self.group.push(row);
        if self.group.rows() == GROUP { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> Result<()> {
        let written = self.group.write(&mut self.file).map_err(Error::writing_parquet(self.path))?;
        self.checksums.add(&written);
        Ok(())
    }

    /// Gives the file its name, unless another file has come to have it meanwhile.
    pub fn finish(mut self) -> Result<()> {
        let wrong = Error::writing_parquet(self.path);
        if self.group.rows() > 0 {
            self.write_group()?;
        }
        self.file.append_key_value_metadata(self.checksums.metadata());
        replaceable(self.path)?;
        self.file.into_inner().map_err(wrong)?.keep().map_err(Error::writing(self.path))
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
    /// What its grid varies.
    pub varied: Vec<Field>,
    /// How many rows it has.
    pub count: u64,
    checksums: Checksums,
    file: Arc<File>,
    metadata: ParquetMetaData,
    /// All fields, and where their columns are in the file.
    fields: Vec<Field>,
    places: Vec<usize>,
    /// The columns of the present group of rows, and how many rows of it are left. Then the next group.
    group: Vec<Source>,
    left: usize,
    next: usize,
}

impl<'a> Reader<'a> {
    pub fn open(path: &'a Path) -> Result<Self> {
        // Nothing else has an end to begin with.
        if !std::fs::metadata(path).map_err(Error::reading(path))?.is_file() {
            return Err(Error::table(path, "expected a file: a table of a sweep, or none yet"));
        }
        let file = File::open(path).map_err(Error::reading(path))?;
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&file).map_err(Error::parquet(path))?;
        let of_file = metadata.file_metadata();
        let entry = |key: &str| {
            let entries = of_file.key_value_metadata().into_iter().flatten();
            entries.filter(|entry| entry.key == key).find_map(|entry| entry.value.as_deref())
        };
        let none = || Error::table(path, "a Parquet file, but none of `evenkeel sweep`");
        let text = entry(ABOUT).ok_or_else(none)?;
        let checksums = entry(CHECKSUMS).and_then(|entry| Checksums::read(entry, text));
        let about = serde_json::from_str(text).ok().filter(About::fits).ok_or_else(none)?;
        let checksums = checksums.ok_or_else(|| {
            Error::table(path, "a broken table, or one of another version: its checksums are missing")
        })?;
        let wrong = |name: &str| {
            let message = format!("its column `{name}` is missing, or of another kind than `evenkeel sweep` writes");
            Error::table(path, message)
        };
        let columns = of_file.schema_descr().columns();
        let varied = Field::others(columns, &FIELDS).map_err(|name| wrong(&name))?;
        let fields = fields(&varied);
        let mut places = Vec::new();
        for field in &fields {
            places.extend(field.find(columns).ok_or_else(|| wrong(&field.name))?);
        }
        let count = of_file.num_rows().unsigned_abs();
        let file = Arc::new(file);
        let (group, left, next) = (Vec::new(), 0, 0);
        Ok(Self { path, about, varied, count, checksums, file, metadata, fields, places, group, left, next })
    }

    /// The next rows as records, which begin with their number; none at its end.
    pub fn records(&mut self) -> Result<Option<Vec<Record>>> {
        let wrong = Error::parquet(self.path);
        while self.left == 0 {
            let Some(group) = self.metadata.row_groups().get(self.next) else { return Ok(None) };
            self.checksums.check(&self.file, self.next, group).map_err(&wrong)?;
            let columns = self.places.iter().map(|&place| Source::open(&self.file, group, place));
            self.group = columns.collect::<Result<_, _>>().map_err(&wrong)?;
            self.left = usize::try_from(group.num_rows()).unwrap_or_default();
            self.next += 1;
        }
        let rows = self.left.min(STEP);
        self.left -= rows;
        columns::read(&self.fields, &mut self.group, rows).map(Some).map_err(wrong)
    }

    /// The next rows, and by its name what each of them has of all that is varied, but for knobs of policies; none at its end.
    pub fn rows_and_values(&mut self) -> Result<Option<(Vec<Row>, Vec<Values>)>> {
        let Some(mut records) = self.records()? else { return Ok(None) };
        let varied = self.varied.iter().enumerate().filter(|(_, field)| !field.name.starts_with("policy."));
        let of_rows = |at: usize| records.iter().map(|record| text(&record[VARIED + at])).collect();
        let values = varied.map(|(at, field)| (field.name.clone().into_owned(), of_rows(at))).collect();
        for record in &mut records {
            record.drain(VARIED..VARIED + self.varied.len());
        }
        let rows = records.into_iter().map(|record| self.row(record)).collect::<Result<_>>()?;
        Ok(Some((rows, values)))
    }

    /// The next rows; none at its end.
    pub fn rows(&mut self) -> Result<Option<Vec<Row>>> {
        Ok(self.rows_and_values()?.map(|(rows, _)| rows))
    }

    /// The row of a record without varied values.
    fn row(&self, record: Record) -> Result<Row> {
        let fields = FIELDS.iter().map(|field| &*field.name).zip(record);
        let row = Row::deserialize(MapDeserializer::<_, serde_json::Error>::new(fields));
        row.map_err(|error| Error::table(self.path, error))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_value_of_each_kind_has_a_text() {
        let texts = |all: &[Value]| {
            let kind = kind(all);
            all.iter().map(|value| text(&json(value, kind))).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(texts(&[Value::Integer(-2), Value::Integer(i64::MAX)]), "-2 9223372036854775807");
        assert_eq!(texts(&[Value::Integer(1), Value::Float(1e16), Value::Float(0.1)]), "1.0 1e16 0.1");
        assert_eq!(texts(&[Value::Boolean(true), Value::Boolean(false)]), "true false");
        assert_eq!(texts(&[Value::String("a".into()), Value::Integer(1)]), "a 1");
        assert_eq!(text(&Json::Null), "default");
    }

    #[test]
    fn the_columns_are_the_fields_of_a_row() {
        let row = serde_json::to_value(Row::default()).unwrap();
        // An object keeps the order of its fields only where another crate of the build wants that.
        let fields: BTreeSet<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(FIELDS.iter().map(|field| &*field.name).collect::<BTreeSet<_>>(), fields);
        assert_eq!((FIELDS.len(), &*FIELDS[VARIED - 1].name), (fields.len(), "policy"));
    }
}
