//! Recordings of real programs: read, taken apart into tables, changed, written.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{StringArray, UInt32Array, UInt64Array};
use evenkeel_experiment::catalog;
use evenkeel_model::ThreadKind;
use evenkeel_workload as workload;
use evenkeel_workload::program::Start;
use evenkeel_workload::recording::Step;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::Value;

use crate::error::{Error, raise};
use crate::files;
use crate::history::{batch, column, texts};
use crate::machine::Machine;
use crate::table::Table;
use crate::workload::Workload;

/// A recording of a real program, as `evenkeel record` writes it (`.ek`): what each of its threads did, step by step.
///
/// Its steps are a table. One that was changed is put back by `with_steps`; `workload` is what `simulate` plays, `save` writes the
/// file.
#[pyclass(frozen, module = "evenkeel")]
pub struct Recording {
    name: String,
    recording: Arc<workload::recording::Recording>,
}

#[pymethods]
impl Recording {
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(&path).map_err(|error| PyOSError::new_err(format!("{file}: {error}")))?;
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Self::from_text(&text, name, &file)
    }

    /// A recording from the text of its file. Errors call it `file`.
    #[staticmethod]
    #[pyo3(signature = (text, name, file="recording.ek"))]
    fn from_text(text: &str, name: String, file: &str) -> PyResult<Self> {
        let recording = workload::recording::Recording::from_text(text, file).map_err(|error| raise(&error))?;
        Ok(Self { name, recording: Arc::new(recording) })
    }

    /// Its name: that of its file.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The command with its arguments; empty if it is not known.
    #[getter]
    fn command(&self) -> Vec<String> {
        self.recording.command.clone()
    }

    /// The machine that it was recorded on, if it says so.
    #[getter]
    fn machine(&self) -> PyResult<Option<Machine>> {
        Ok(self.found(&self.name)?.recorded_on.map(Machine::of))
    }

    /// How long the program ran there, in seconds.
    #[getter]
    fn makespan_s(&self) -> f64 {
        self.recording.makespan.as_secs_f64()
    }

    /// Whether steps of computing count instructions. Else they count nanoseconds on the biggest core of `machine`.
    #[getter]
    fn counted(&self) -> bool {
        self.recording.counted
    }

    /// What a reader should know, such as events that were lost. A sentence each.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.recording.notes.clone()
    }

    /// Its threads: `thread`, `process`, `name`, `kind` (application or service), `start_ns` (missing if another thread starts it).
    #[getter]
    fn threads(&self) -> PyResult<Table> {
        let threads = &self.recording.threads;
        let kind = |kind| match kind {
            ThreadKind::Application => "application",
            ThreadKind::Service => "service",
        };
        let start = |start| match start {
            Start::At(at) | Start::About(at, _) => Some(at.0),
            Start::Spawned => None,
        };
        batch([
            ("thread", column(UInt32Array::from_iter_values(0..threads.len() as u32))),
            ("process", column(UInt32Array::from_iter_values(threads.iter().map(|thread| thread.process)))),
            ("name", texts(threads.iter().map(|thread| thread.name.as_str()))),
            ("kind", texts(threads.iter().map(|thread| kind(thread.kind)))),
            ("start_ns", column(UInt64Array::from_iter(threads.iter().map(|thread| start(thread.start))))),
        ])
        .map(Table::of)
    }

    /// What threads did, in order, and what was done of items that threads took from a list: `thread` or `item`, `step` (run, wait,
    /// wake, ...), `of` (the thread, item, barrier, pool or list, by its number), `amount` (of run and share as `counted` says; of
    /// sleep and io in ns). What a step does not have is missing.
    #[getter]
    fn steps(&self, py: Python<'_>) -> PyResult<Table> {
        let rows = py.detach(|| self.rows());
        batch([
            ("thread", column(UInt32Array::from_iter(rows.iter().map(|row| row.thread)))),
            ("item", column(UInt32Array::from_iter(rows.iter().map(|row| row.item)))),
            ("step", column(StringArray::from_iter_values(rows.iter().map(|row| row.step)))),
            ("of", column(UInt32Array::from_iter(rows.iter().map(|row| row.of)))),
            ("amount", column(UInt64Array::from_iter(rows.iter().map(|row| row.amount)))),
        ])
        .map(Table::of)
    }

    /// The same threads with other steps: a table like `steps`, of any package that has Arrow's format. It must come to its end: no
    /// thread may wait for a wake-up that never comes.
    fn with_steps(&self, steps: &Bound<'_, PyAny>) -> PyResult<Self> {
        let table = steps.py().get_type::<Table>().call1((steps,))?;
        let threads: Vec<Option<u32>> = values(&table, "thread", "numbers of threads, or none")?;
        let items: Vec<Option<u32>> = values(&table, "item", "numbers of items, or none")?;
        let names: Vec<String> = values(&table, "step", "names of steps")?;
        let of: Vec<Option<u32>> = values(&table, "of", "numbers, or none")?;
        let amounts: Vec<Option<u64>> = values(&table, "amount", "whole amounts from 0, or none")?;
        let mut changed = workload::recording::Recording::clone(&self.recording);
        changed.threads.iter_mut().for_each(|thread| thread.steps.clear());
        changed.items.iter_mut().for_each(|item| item.steps.clear());
        for row in 0..names.len() {
            let wrong = |message: String| Error::new_err(format!("row {row} of the steps: {message}"));
            let parts = [Some(names[row].clone().into()), of[row].map(Value::from), amounts[row].map(Value::from)];
            let step = Step::deserialize(Value::from_iter(parts.into_iter().flatten()));
            let step = step.map_err(|error| wrong(error.to_string()))?;
            let of_which = match (threads[row], items[row]) {
                (Some(thread), None) => changed.threads.get_mut(thread as usize).map(|thread| &mut thread.steps),
                (None, Some(item)) => changed.items.get_mut(item as usize).map(|item| &mut item.steps),
                _ => return Err(wrong("expected either a thread or an item".into())),
            };
            let there_are = (self.recording.threads.len(), self.recording.items.len());
            let expected = || wrong(format!("expected one of {} threads or {} items", there_are.0, there_are.1));
            of_which.ok_or_else(expected)?.push(step);
        }
        // What is read is also checked.
        Self::from_text(&changed.to_text(), self.name.clone(), "the recording with these steps")
    }

    /// The workload that it is. `called` is its name in results.
    #[pyo3(signature = (*, called=None))]
    fn workload(&self, called: Option<&str>) -> PyResult<Workload> {
        self.found(called.unwrap_or(&self.name)).map(Workload::of)
    }

    /// The text of its file.
    fn to_text(&self) -> String {
        self.recording.to_text()
    }

    /// Writes its file, which `evenkeel sim` and `Workload` read.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        files::write(&path, self.recording.to_text())
    }

    fn __repr__(&self) -> String {
        let (threads, seconds) = (self.recording.threads.len(), self.makespan_s());
        format!("<evenkeel.Recording {}: {threads} threads, {seconds:.3} s>", self.name)
    }
}

impl Recording {
    fn found(&self, name: &str) -> PyResult<catalog::FoundWorkload> {
        catalog::recording(&self.name, name, &self.recording).map_err(|error| raise(&error))
    }

    fn rows(&self) -> Vec<Row> {
        let threads = self.recording.threads.iter().map(|thread| &thread.steps).enumerate();
        let threads = threads.map(|(number, steps)| (Some(number as u32), None, steps));
        let items = self.recording.items.iter().map(|item| &item.steps).enumerate();
        let items = items.map(|(number, steps)| (None, Some(number as u32), steps));
        let mut rows = Vec::new();
        for (thread, item, steps) in threads.chain(items) {
            for step in steps {
                let (of, amount) = match *step {
                    Step::Run(amount) => (None, Some(amount)),
                    Step::Sleep(span) | Step::Io(span) => (None, Some(span.0)),
                    Step::Share { pool, amount } => (Some(pool), Some(amount)),
                    Step::Wait => (None, None),
                    Step::Wake(number)
                    | Step::Spawn(number)
                    | Step::Barrier(number)
                    | Step::Take(number)
                    | Step::Result(number)
                    | Step::Lock(number)
                    | Step::Unlock(number) => (Some(number), None),
                };
                rows.push(Row { thread, item, step: step.name(), of, amount });
            }
        }
        rows
    }
}

/// A row of the table of steps.
struct Row {
    thread: Option<u32>,
    item: Option<u32>,
    step: &'static str,
    of: Option<u32>,
    amount: Option<u64>,
}

/// The values of a column of a table.
fn values<T: for<'a, 'py> FromPyObject<'a, 'py>>(table: &Bound<'_, PyAny>, name: &str, what: &str) -> PyResult<Vec<T>> {
    let column = table.get_item(name)?;
    column.extract().map_err(|_| Error::new_err(format!("column {name:?} of the steps: expected {what}")))
}
