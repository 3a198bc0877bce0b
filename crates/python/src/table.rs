//! Results as tables in Arrow's format.

// Other packages hand tables over as C structures.
#![allow(unsafe_code)]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{DataType, SchemaRef};
use maud::html;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;
use parquet::file::reader::ChunkReader;
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyDict, PyIterator, PyList};

use crate::error::raise;

/// Rows of a table that a notebook shows.
const SHOWN: usize = 10;

/// What the interface for Arrow in Python calls a stream.
const STREAM: &std::ffi::CStr = c"arrow_array_stream";

/// A table in Arrow's format: columns with names.
///
/// Anything that knows the Arrow PyCapsule interface takes it without a copy: `polars.DataFrame(table)`,
/// `pyarrow.table(table)`, `pandas.DataFrame.from_arrow(table)` (pandas 3), DuckDB. `Table(other)` takes theirs.
#[pyclass(frozen, mapping, module = "evenkeel")]
pub struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    /// Of one batch.
    pub fn of(batch: RecordBatch) -> Self {
        Self { schema: batch.schema(), batches: vec![batch] }
    }

    /// Of a Parquet file.
    pub fn of_parquet(file: impl ChunkReader + 'static) -> Result<Self, ParquetError> {
        let reader = ParquetRecordBatchReaderBuilder::try_new(file)?.build()?;
        let schema = reader.schema();
        Ok(Self { schema, batches: reader.collect::<Result<_, _>>()? })
    }
}

/// A table that is made when it is first wanted, and kept: scripts take a column after the other.
pub struct Once(PyOnceLock<Py<Table>>);

impl Default for Once {
    fn default() -> Self {
        Self(PyOnceLock::new())
    }
}

impl Once {
    /// The table.
    pub fn get(&self, py: Python<'_>, make: impl FnOnce() -> PyResult<Table>) -> PyResult<Py<Table>> {
        self.0.get_or_try_init(py, || Py::new(py, make()?)).map(|table| table.clone_ref(py))
    }
}

#[pymethods]
impl Table {
    /// A table of what another package has.
    #[new]
    fn new(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let Ok(method) = data.getattr("__arrow_c_stream__") else {
            let found = data.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "expected a table in Arrow's format (with __arrow_c_stream__), found {found}"
            )));
        };
        let capsule = method.call0()?;
        let capsule = capsule.cast::<PyCapsule>()?;
        let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: a capsule of this name holds a stream that nothing else reads (Arrow PyCapsule interface, "Lifetime
        // semantics"); `from_raw` moves it out and leaves a released one, which the capsule then need not release.
        let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) }.map_err(|error| raise(&error))?;
        let schema = reader.schema();
        // A producer may have threads of its own that want the interpreter.
        let batches = data.py().detach(|| reader.collect::<Result<Vec<_>, _>>()).map_err(|error| raise(&error))?;
        Ok(Self { schema, batches })
    }

    /// The table as a stream of the Arrow PyCapsule interface. It shares its memory.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer give what it has, whatever was requested.
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
    }

    /// How many rows it has.
    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Whether it has a column of this name.
    fn __contains__(&self, column: &str) -> bool {
        self.schema.index_of(column).is_ok()
    }

    /// The names of its columns, one after the other.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.column_names())?.try_iter()
    }

    /// The names of its columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// A column, as a list.
    fn __getitem__<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Bound<'py, PyList>> {
        let Ok(at) = self.schema.index_of(column) else {
            let known = self.column_names().join(", ");
            return Err(PyKeyError::new_err(format!("no column {column:?}: expected one of {known}")));
        };
        let values = PyList::empty(py);
        for batch in &self.batches {
            let array = batch.column(at);
            for row in 0..array.len() {
                values.append(value(py, array.as_ref(), row)?)?;
            }
        }
        Ok(values)
    }

    /// All columns, as lists.
    fn to_pydict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        for field in self.schema.fields() {
            columns.set_item(field.name(), self.__getitem__(py, field.name())?)?;
        }
        Ok(columns)
    }

    /// What a notebook shows: its first rows.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let count = self.__len__();
        let names = self.column_names();
        let columns = names.iter().map(|name| self.first(py, name)).collect::<PyResult<Vec<Vec<String>>>>()?;
        let rest = count.saturating_sub(SHOWN);
        let page = html! {
            table {
                thead { tr { @for name in &names { th { (name) } } } }
                tbody {
                    @for row in 0..count.min(SHOWN) {
                        tr { @for column in &columns { td { (column[row]) } } }
                    }
                }
            }
            @if rest > 0 { p { "and " (rest) " more rows" } }
        };
        Ok(page.into_string())
    }

    fn __repr__(&self) -> String {
        format!("<evenkeel.Table: {} rows; {}>", self.__len__(), self.column_names().join(", "))
    }
}

impl Table {
    /// The first values of a column, as texts.
    fn first(&self, py: Python<'_>, column: &str) -> PyResult<Vec<String>> {
        let mut texts = Vec::new();
        for batch in &self.batches {
            let Some(array) = batch.column_by_name(column) else { continue };
            for row in 0..array.len().min(SHOWN - texts.len()) {
                let value = value(py, array.as_ref(), row)?;
                texts.push(if value.is_none() { String::new() } else { value.str()?.to_string() });
            }
        }
        Ok(texts)
    }
}

/// A value of a column as Python has it.
fn value<'py>(py: Python<'py>, array: &dyn Array, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if array.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    Ok(match array.data_type() {
        DataType::Null => py.None().into_bound(py),
        DataType::Utf8 => array.as_string::<i32>().value(row).into_pyobject(py)?.into_any(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).into_pyobject(py)?.into_any(),
        DataType::Utf8View => array.as_string_view().value(row).into_pyobject(py)?.into_any(),
        DataType::Boolean => array.as_boolean().value(row).into_pyobject(py)?.to_owned().into_any(),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::Float32 => array.as_primitive::<Float32Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::Int8 => array.as_primitive::<Int8Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::List(_) => list(py, array.as_list::<i32>().value(row).as_ref())?.into_any(),
        DataType::LargeList(_) => list(py, array.as_list::<i64>().value(row).as_ref())?.into_any(),
        DataType::Struct(fields) => {
            let (of, values) = (array.as_struct(), PyDict::new(py));
            for (field, column) in fields.iter().zip(of.columns()) {
                values.set_item(field.name(), value(py, column.as_ref(), row)?)?;
            }
            values.into_any()
        }
        other => {
            let how = "use pyarrow.table(table) or polars.DataFrame(table) for it";
            return Err(PyTypeError::new_err(format!("a column of type {other} has no Python values here: {how}")));
        }
    })
}

fn list<'py>(py: Python<'py>, items: &dyn Array) -> PyResult<Bound<'py, PyList>> {
    let values = PyList::empty(py);
    for row in 0..items.len() {
        values.append(value(py, items, row)?)?;
    }
    Ok(values)
}
