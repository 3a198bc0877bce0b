//! What stands for machines, workloads and policies in calls: an object, or the name of one.

use std::ffi::CString;
use std::path::PathBuf;

use evenkeel_experiment::catalog;
use evenkeel_model as model;
use evenkeel_sched::Setup;
use evenkeel_workload as workload;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::error::{Error, raise};
use crate::machine::Machine;
use crate::policy;
use crate::work::Faults;
use crate::workload::Workload;

/// A machine, or its name.
pub fn machine(given: &Bound<'_, PyAny>) -> PyResult<model::Machine> {
    if let Ok(machine) = given.cast::<Machine>() {
        return Ok(model::Machine::clone(&machine.get().machine));
    }
    Ok(catalog::machine(&name(given, "a Machine or the name of one")?).map_err(|error| raise(&error))?.machine)
}

/// A workload, or its name, with the machine that it was recorded on.
pub fn workload(given: &Bound<'_, PyAny>) -> PyResult<(workload::Workload, Option<model::Machine>)> {
    if let Ok(workload) = given.cast::<Workload>() {
        let Workload { workload, recorded_on, .. } = workload.get();
        return Ok((workload::Workload::clone(workload), recorded_on.as_deref().cloned()));
    }
    let found = catalog::workload(&name(given, "a Workload or the name of one")?).map_err(|error| raise(&error))?;
    warn(given.py(), &found.warnings)?;
    Ok((found.workload, found.recorded_on))
}

/// Says what a file has and a workload cannot.
pub fn warn(py: Python<'_>, warnings: &[String]) -> PyResult<()> {
    for warning in warnings {
        let text = CString::new(warning.as_str()).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)?;
    }
    Ok(())
}

/// A policy: its name with its knobs, or what makes one in Python.
pub fn policy(given: &Bound<'_, PyAny>, faults: &Faults) -> PyResult<Setup> {
    match given.cast::<PyString>() {
        Ok(name) => catalog::policy(&name.to_cow()?).map_err(|error| raise(&error)),
        Err(_) => policy::setup(given, faults),
    }
}

/// One of something, or several.
pub fn several<'py>(given: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let one = given.is_instance_of::<PyString>()
        || given.is_instance_of::<Machine>()
        || given.is_instance_of::<Workload>()
        || given.is_instance_of::<policy::Policy>()
        || given.is_callable()
        || given.hasattr("__fspath__")?;
    if one { Ok(vec![given.clone()]) } else { given.try_iter()?.collect() }
}

/// The core orders of these names.
pub fn orders(names: Option<Vec<String>>) -> PyResult<Vec<model::CoreOrder>> {
    let order = |name: String| match name.as_str() {
        "declared" => Ok(model::CoreOrder::Declared),
        "big-first" => Ok(model::CoreOrder::BigFirst),
        "little-first" => Ok(model::CoreOrder::LittleFirst),
        other => Err(Error::new_err(format!("order {other:?}: expected declared, big-first or little-first"))),
    };
    names.into_iter().flatten().map(order).collect()
}

/// A name, or the path of a file.
pub fn name(given: &Bound<'_, PyAny>, expected: &str) -> PyResult<String> {
    let path: PathBuf = given.extract().map_err(|_| unexpected(given, expected))?;
    path.into_os_string().into_string().map_err(|path| Error::new_err(format!("{path:?}: expected a name in UTF-8")))
}

fn unexpected(given: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let found = given.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    Error::new_err(format!("expected {expected}, found {found}"))
}
