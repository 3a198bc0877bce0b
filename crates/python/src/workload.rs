//! Workloads: programs, mixes, files and recordings.

use std::sync::Arc;

use evenkeel_experiment::{catalog, variation};
use evenkeel_model as model;
use evenkeel_workload as workload;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::conditions::settings;
use crate::error::{Error, raise};
use crate::machine::Machine;
use crate::setups;

/// A workload: programs whose threads compute, wait for each other and sleep.
///
/// `name` is that of a bundled program or mix (`evenkeel.workloads()`), several joined by `+`, or a file: rt-app's (`.json`),
/// Evenkeel's own (`.toml`) or a recording of a real program (`.ek`). `values` are other values than its file has, by their
/// place: `{"program.ferret.phases.rank.ilp": 2.0}`. `called` is its name in results, which tells it from the original.
#[pyclass(frozen, module = "evenkeel")]
pub struct Workload {
    pub workload: Arc<workload::Workload>,
    pub recorded_on: Option<Arc<model::Machine>>,
    warnings: Vec<String>,
}

impl Workload {
    /// One that was found.
    pub fn of(found: catalog::FoundWorkload) -> Self {
        let catalog::FoundWorkload { workload, warnings, recorded_on } = found;
        Self { workload: Arc::new(workload), recorded_on: recorded_on.map(Arc::new), warnings }
    }
}

#[pymethods]
impl Workload {
    #[new]
    #[pyo3(signature = (name, values=None, *, called=None))]
    fn new(
        py: Python<'_>,
        name: &Bound<'_, PyAny>,
        values: Option<&Bound<'_, PyDict>>,
        called: Option<String>,
    ) -> PyResult<Self> {
        let name = &setups::name(name, "the name of a workload")?;
        let settings = values.map_or_else(|| Ok(Vec::new()), settings)?;
        let found = catalog::workload(name).map_err(|error| raise(&error))?;
        setups::warn(py, &found.warnings)?;
        let mut varied = variation::workload(name, &settings).map_err(|error| raise(&error))?;
        if let Some(called) = called {
            varied.name = called;
        }
        Ok(Self::of(catalog::FoundWorkload { workload: varied, ..found }))
    }

    /// A workload from the text of a workload file. Errors call it `file`.
    #[staticmethod]
    #[pyo3(signature = (text, name, file="workload.toml"))]
    fn from_toml(text: &str, name: &str, file: &str) -> PyResult<Self> {
        let found = workload::format::load(name, text, file, None).map_err(|error| raise(&error))?;
        let valid = workload::validate::workload(&found);
        valid.map_err(|problem| Error::new_err(format!("{file}: {problem}")))?;
        Ok(Self::of(found.into()))
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.workload.name
    }

    /// Its programs.
    #[getter]
    fn programs(&self) -> Vec<String> {
        self.workload.programs.iter().map(|program| program.name.clone()).collect()
    }

    /// The machine that it was recorded on, if it is a recording that says so.
    #[getter]
    fn recorded_on(&self) -> Option<Machine> {
        self.recorded_on.as_deref().cloned().map(Machine::of)
    }

    /// What could not be carried over from its file, a sentence each.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    fn __repr__(&self) -> String {
        format!("<evenkeel.Workload {}: {}>", self.name(), self.programs().join(", "))
    }
}
