//! Machines.

use std::sync::Arc;

use evenkeel_experiment::{catalog, variation};
use evenkeel_model as model;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::conditions::settings;
use crate::error::raise;
use crate::setups;

/// A machine: its cores, their types, clusters and power.
///
/// `name` is that of a bundled machine (`evenkeel.machines()`), part of one (`odroid-xu3:2+2`), or a file: Evenkeel's own
/// (`.toml`), hwloc's (`.xml`) or a devicetree (`.dtb`). `values` are other values than its file has, by their place:
/// `{"costs.tick_us": 4000}`. `called` is its name in results, which tells it from the original.
#[pyclass(frozen, module = "evenkeel")]
pub struct Machine {
    pub machine: Arc<model::Machine>,
    notes: Vec<String>,
}

impl Machine {
    pub fn of(machine: model::Machine) -> Self {
        Self { machine: Arc::new(machine), notes: Vec::new() }
    }
}

#[pymethods]
impl Machine {
    #[new]
    #[pyo3(signature = (name, values=None, *, called=None))]
    fn new(name: &Bound<'_, PyAny>, values: Option<&Bound<'_, PyDict>>, called: Option<String>) -> PyResult<Self> {
        let name = &setups::name(name, "the name of a machine")?;
        let settings = values.map_or_else(|| Ok(Vec::new()), settings)?;
        let notes = catalog::machine(name).map_err(|error| raise(&error))?.notes;
        let mut machine = variation::machine(name, &settings).map_err(|error| raise(&error))?;
        if let Some(called) = called {
            machine.name = called;
        }
        Ok(Self { machine: Arc::new(machine), notes })
    }

    /// A machine from the text of a machine file. Errors call it `file`.
    #[staticmethod]
    #[pyo3(signature = (text, file="machine.toml"))]
    fn from_toml(text: &str, file: &str) -> PyResult<Self> {
        model::Machine::from_toml(text, file).map(Self::of).map_err(|error| raise(&error))
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.machine.name
    }

    /// What it is, in a sentence.
    #[getter]
    fn description(&self) -> &str {
        &self.machine.description
    }

    /// What is worth knowing about how it was found: what another tool's description leaves open.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// How many cores it has.
    #[getter]
    fn cores(&self) -> usize {
        self.machine.cores.len()
    }

    /// The cores of the fastest type, by number.
    #[getter]
    fn big(&self) -> Vec<u16> {
        numbers(self.machine.big())
    }

    /// All other cores, by number.
    #[getter]
    fn little(&self) -> Vec<u16> {
        numbers(self.machine.little())
    }

    /// Its core types, the fastest first.
    #[getter]
    fn core_types(&self) -> Vec<String> {
        self.machine.core_types.iter().map(|core_type| core_type.name.clone()).collect()
    }

    /// Its clusters.
    #[getter]
    fn clusters(&self) -> Vec<String> {
        self.machine.clusters.iter().map(|cluster| cluster.name.clone()).collect()
    }

    /// The frequencies of a cluster, by its number, in Hz, the lowest first.
    fn frequencies(&self, cluster: usize) -> PyResult<Vec<u64>> {
        let Some(found) = self.machine.clusters.get(cluster) else {
            let known = self.machine.clusters.len();
            return Err(crate::error::Error::new_err(format!(
                "cluster {cluster}: {} has {known}, from 0",
                self.name()
            )));
        };
        let opps = &self.machine.core_types[found.core_type.index()].opps;
        Ok(opps.iter().map(|opp| opp.frequency.0).collect())
    }

    fn __repr__(&self) -> String {
        format!("<evenkeel.Machine {}: {} cores, {}>", self.name(), self.cores(), self.core_types().join(" and "))
    }
}

/// Cores by number.
pub fn numbers(cores: model::CoreSet) -> Vec<u16> {
    cores.iter().map(|core| core.0).collect()
}
