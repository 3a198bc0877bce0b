//! Sweeps.

use std::fs::File;
use std::path::PathBuf;

use anstream::adapter::strip_str;
use arrow_array::Float64Array;
use evenkeel_experiment::Progress;
use evenkeel_model::Difference;
use evenkeel_report::{headline, json, page, text};
use evenkeel_sim::MAX_EVENTS;
use evenkeel_sweep as sweeps;
use evenkeel_sweep::{Request, Summary};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::conditions::plain;
use crate::error::{Error, raise};
use crate::files;
use crate::history::{batch, column, texts};
use crate::table::{Once, Table};
use crate::work::{How, work};

/// A grid: what is combined in a sweep. `text` is that of a grid's file; errors call it `file`. `progress` is called with the stage and
/// how much of it is done and how much there is.
#[pyclass(frozen, module = "evenkeel")]
pub struct Grid {
    grid: sweeps::Grid,
}

impl Grid {
    fn read(
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
        read: impl FnOnce(&dyn Progress) -> Result<sweeps::Grid, sweeps::Error> + Send,
    ) -> PyResult<Self> {
        let how = How { progress, ..How::default() };
        let grid = work(py, &how, |control| read(control.progress))?.map_err(|error| raise(&error))?;
        Ok(Self { grid })
    }
}

#[pymethods]
impl Grid {
    #[new]
    #[pyo3(signature = (text, file="grid.toml", *, progress=None))]
    fn new(py: Python<'_>, text: &str, file: &str, progress: Option<Py<PyAny>>) -> PyResult<Self> {
        Self::read(py, progress, |progress| sweeps::Grid::parse(text, file, None, progress))
    }

    /// A grid from a dict, as its file would have it: `{"machines": ["2B2S"], ..., "machine": {"costs.tick_us": [1000, 4000]}}`.
    #[staticmethod]
    #[pyo3(signature = (grid, *, progress=None))]
    fn from_dict(py: Python<'_>, grid: &Bound<'_, PyDict>, progress: Option<Py<PyAny>>) -> PyResult<Self> {
        let plain = plain("grid", grid.as_any())?;
        let mut nested = toml::Table::new();
        for (key, value) in plain.as_table().into_iter().flatten() {
            nested.insert(key.clone(), below(value));
        }
        Self::read(py, progress, |progress| sweeps::Grid::of_table(&nested, "grid", None, progress))
    }

    /// The text of its file.
    #[getter]
    fn text(&self) -> &str {
        self.grid.text()
    }

    /// What is varied, by the names of its columns.
    #[getter]
    fn varied(&self) -> std::collections::BTreeMap<String, Vec<String>> {
        self.grid.varied().into_iter().collect()
    }

    /// How many runs it has.
    fn __len__(&self) -> usize {
        self.grid.runs() as usize
    }

    /// What it is known by: two grids with the same are the same, and what they name is.
    #[getter]
    fn hash(&self) -> String {
        self.grid.hash()
    }

    fn __repr__(&self) -> String {
        format!("<evenkeel.Grid: {} runs>", self.grid.runs())
    }
}

/// Keys with dots are places: `{"costs.tick_us": 1}` is `{"costs": {"tick_us": 1}}`.
fn below(value: &toml::Value) -> toml::Value {
    let toml::Value::Table(table) = value else { return value.clone() };
    let mut nested = toml::Table::new();
    for (key, value) in table {
        let mut at = &mut nested;
        let (above, last) = key.rsplit_once('.').map_or((None, key.as_str()), |(above, last)| (Some(above), last));
        for part in above.into_iter().flat_map(|above| above.split('.')) {
            let next = at.entry(part).or_insert_with(|| toml::Value::Table(toml::Table::new()));
            if !next.is_table() {
                *next = toml::Value::Table(toml::Table::new());
            }
            let toml::Value::Table(next) = next else { unreachable!("it was made one") };
            at = next;
        }
        at.insert(last.to_owned(), below(value));
    }
    toml::Value::Table(nested)
}

/// What a sweep has come to.
#[pyclass(frozen, module = "evenkeel")]
pub struct Sweep {
    path: PathBuf,
    runs: u64,
    computed: Option<u64>,
    summary: Summary,
    table: Once,
}

impl Sweep {
    fn of(py: Python<'_>, path: PathBuf, runs: u64, computed: Option<u64>) -> PyResult<Self> {
        let summary = py.detach(|| Summary::read(&path)).map_err(|error| raise(&error))?;
        Ok(Self { path, runs, computed, summary, table: Once::default() })
    }
}

#[pymethods]
impl Sweep {
    /// The Parquet file.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// How many runs it has.
    fn __len__(&self) -> usize {
        self.runs as usize
    }

    /// How many of them were done now; `None` if that is not known.
    #[getter]
    fn computed(&self) -> Option<u64> {
        self.computed
    }

    /// How many of them could not be carried to their end.
    #[getter]
    fn failed(&self) -> u64 {
        self.summary.failed
    }

    /// The policy that the others are compared with.
    #[getter]
    fn baseline(&self) -> &str {
        &self.summary.baseline
    }

    /// What was found, in a sentence.
    #[getter]
    fn headline(&self) -> String {
        headline::of_sweep(&self.summary)
    }

    /// The runs, a row each. For a table that does not fit into memory use `polars.scan_parquet(sweep.path)`.
    #[getter]
    fn runs(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        let read = || {
            // Only of a sweep, which says what is wrong with another file.
            sweeps::rows(&self.path).map_err(|error| raise(&error))?;
            let file = File::open(&self.path)
                .map_err(|error| PyOSError::new_err(format!("{}: {error}", self.path.display())))?;
            Table::of_parquet(file).map_err(|error| raise(&error))
        };
        self.table.get(py, || py.detach(read))
    }

    /// How each policy differs from the baseline at each value of what has several: `varied`, `value` (a text), `policy`, `metric`
    /// (`h_antt`, `h_stp`, `energy`), `effect`, `low`, `high` (its 95 % interval), as a share: -0.1 is 10 % less. Each effect is the
    /// geometric mean over everything else that was varied.
    #[getter]
    fn effects(&self) -> PyResult<Table> {
        let mut rows: Vec<([&str; 4], Difference)> = Vec::new();
        for varied in &self.summary.varied {
            for at in &varied.values {
                for (of, effects) in self.summary.policies.iter().zip(&at.policies) {
                    let metrics = [("h_antt", effects.h_antt), ("h_stp", effects.h_stp), ("energy", effects.energy)];
                    let found = metrics.into_iter().filter_map(|(metric, effect)| Some((metric, effect?)));
                    let row = |metric| [varied.name.as_str(), &at.value, &of.policy, metric];
                    rows.extend(found.map(|(metric, effect)| (row(metric), effect)));
                }
            }
        }
        let name = |at: usize| texts(rows.iter().map(|(names, _)| names[at]));
        let end = |of: fn((f64, f64)) -> f64| {
            column(Float64Array::from_iter(rows.iter().map(|(_, effect)| effect.interval.map(of))))
        };
        let columns = [
            ("varied", name(0)),
            ("value", name(1)),
            ("policy", name(2)),
            ("metric", name(3)),
            ("effect", column(Float64Array::from_iter_values(rows.iter().map(|(_, effect)| effect.value)))),
            ("low", end(|interval| interval.0)),
            ("high", end(|interval| interval.1)),
        ];
        batch(columns).map(Table::of)
    }

    /// Writes the page that `evenkeel sweep --html` writes.
    fn save_html(&self, path: PathBuf) -> PyResult<()> {
        let file = self.path.display().to_string();
        files::write(&path, page::sweep(&file, self.runs, &self.summary, "evenkeel.sweep in Python"))
    }

    /// The document that `evenkeel sweep --format json` prints, but for the time that it took.
    fn to_json(&self) -> PyResult<String> {
        let file = self.path.display().to_string();
        let document = json::Swept::of(file.into(), self.runs, self.computed, &self.summary, 0.0);
        json::print(&document).map_err(|error| raise(&error))
    }

    /// What `evenkeel sweep` prints.
    fn __str__(&self) -> String {
        strip_str(&text::sweep(&self.summary)).to_string()
    }

    fn __repr__(&self) -> String {
        format!("<evenkeel.Sweep {}: {} runs; {}>", self.path.display(), self.runs, self.headline())
    }
}

/// Does the runs of a grid that are not done yet, and writes the table.
#[pyfunction]
#[pyo3(signature = (grid, path, *, fresh, drop, threads, progress, max_events))]
#[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub fn sweep(
    py: Python<'_>,
    grid: &Grid,
    path: PathBuf,
    fresh: bool,
    drop: bool,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
    max_events: Option<u64>,
) -> PyResult<Sweep> {
    let request = Request { fresh, drop, ..Request::into(&path) };
    let how = How { threads, progress, max_events, ..How::default() };
    let done = work(py, &how, |control| sweeps::sweep(&grid.grid, &request, control))?;
    let done = done.map_err(|error| raise(&error))?;
    Sweep::of(py, path, done.runs, Some(done.computed))
}

/// Does a part of a grid, `number` of `of` from 1, and returns its table, a Parquet file.
#[pyfunction]
#[pyo3(signature = (grid, number, of, *, threads, max_events))]
pub fn part<'py>(
    py: Python<'py>,
    grid: &Grid,
    number: u64,
    of: u64,
    threads: Option<usize>,
    max_events: Option<u64>,
) -> PyResult<Bound<'py, PyBytes>> {
    let folder = tempfile::tempdir().map_err(|error| raise(&error))?;
    let path = folder.path().join("part.parquet");
    let shard = format!("{number}/{of}").parse().map_err(Error::new_err)?;
    let request = Request { shard, ..Request::into(&path) };
    let how = How { threads, max_events, ..How::default() };
    let done = work(py, &how, |control| sweeps::sweep(&grid.grid, &request, control))?;
    done.map_err(|error| raise(&error))?;
    let bytes = std::fs::read(&path).map_err(|error| raise(&error))?;
    Ok(PyBytes::new(py, &bytes))
}

/// Writes the table of a part, all of it or nothing.
#[pyfunction]
pub fn write(py: Python<'_>, path: PathBuf, table: &[u8]) -> PyResult<()> {
    py.detach(|| files::write(&path, table))
}

/// Makes one table of the tables of parts: what one machine would have written.
#[pyfunction]
#[pyo3(signature = (parts, path, *, incomplete=false, drop=false))]
pub fn merge(py: Python<'_>, parts: Vec<PathBuf>, path: PathBuf, incomplete: bool, drop: bool) -> PyResult<Sweep> {
    let wanted = sweeps::Merging { incomplete, drop };
    let runs = py.detach(|| sweeps::merge(&parts, &path, wanted)).map_err(|error| raise(&error))?;
    Sweep::of(py, path, runs, None)
}

/// Whether a file has every run of a grid and nothing else, and none that another limit of events ended. `drop`: what else it has is
/// no error; that a sweep of this machine is at work there, or was interrupted, is one.
#[pyfunction]
#[pyo3(signature = (grid, path, *, drop, max_events))]
pub fn is_done(py: Python<'_>, grid: &Grid, path: PathBuf, drop: bool, max_events: Option<u64>) -> PyResult<bool> {
    let max_events = max_events.unwrap_or(MAX_EVENTS);
    let done = || {
        if sweeps::journals(&path).iter().any(|journal| journal.exists()) {
            sweeps::at_its_end(&path)?;
        }
        sweeps::is_done(&grid.grid, &path, drop, max_events)
    };
    py.detach(done).map_err(|error| raise(&error))
}

/// Whether a file is the whole table of a sweep: one that was being written when the power failed is not.
#[pyfunction]
pub fn is_whole(path: PathBuf) -> bool {
    sweeps::rows(&path).is_ok()
}

/// The table of a sweep that was done before.
#[pyfunction]
pub fn read(py: Python<'_>, path: PathBuf) -> PyResult<Sweep> {
    let runs = sweeps::rows(&path).map_err(|error| raise(&error))?;
    Sweep::of(py, path, runs, None)
}
