//! Values and conditions as Python names them.

use std::path::PathBuf;

use evenkeel_experiment::variation::{self, Setting};
use evenkeel_experiment::{Conditions, GivenPredictor};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use toml::Value;

use crate::error::{Error, raise};

/// The conditions of a run: `delay="50us"`, `noise=True`, `governor="schedutil"`, as the options of `evenkeel sim`; `predictor` is a file
/// of `evenkeel train`.
pub fn conditions(given: Option<&Bound<'_, PyDict>>, predictor: Option<PathBuf>) -> PyResult<Conditions> {
    let mut settings = Vec::new();
    for (name, value) in given.into_iter().flatten() {
        let name: String = name.extract()?;
        settings.push((vec![name.replace('_', "-")], plain(&name, &value)?));
    }
    // The host that steers Linux' scheduler from beside it needs libraries of the system, which a wheel cannot bring.
    let conditions = variation::conditions(settings, None).map_err(|error| raise(&error))?;
    if conditions.oracle && predictor.is_some() {
        return Err(Error::new_err("oracle and predictor: expected one of them, since an oracle predicts nothing"));
    }
    let predictor = predictor.map(|path| GivenPredictor::read(&path)).transpose().map_err(|error| raise(&error))?;
    Ok(Conditions { predictor, ..conditions })
}

/// Values of a machine or a workload, by their place: `{"costs.tick_us": 4000}`.
pub fn settings(given: &Bound<'_, PyDict>) -> PyResult<Vec<Setting>> {
    let mut settings = Vec::new();
    for (place, value) in given {
        let place: String = place.extract()?;
        settings.push((place.split('.').map(str::to_owned).collect(), plain(&place, &value)?));
    }
    Ok(settings)
}

/// A value as files have it.
pub fn plain(place: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_instance_of::<PyBool>() {
        return Ok(Value::Boolean(value.extract()?));
    }
    if value.is_instance_of::<PyInt>() {
        let wrong = |_| Error::new_err(format!("{place} = {value}: expected a whole number from -2^63 to 2^63 - 1"));
        return value.extract().map(Value::Integer).map_err(wrong);
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(value.extract()?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Value::String(value.extract()?));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.map(|item| plain(place, &item?));
        return Ok(Value::Array(items.collect::<PyResult<_>>()?));
    }
    if let Ok(table) = value.cast::<PyDict>() {
        let mut values = toml::Table::new();
        for (key, value) in table {
            let key: String = key.extract()?;
            let value = plain(&format!("{place}.{key}"), &value)?;
            values.insert(key, value);
        }
        return Ok(Value::Table(values));
    }
    // Numbers of other packages, such as numpy's.
    if let Ok(whole) = value.call_method0("__index__").and_then(|whole| whole.extract()) {
        return Ok(Value::Integer(whole));
    }
    if let Ok(number) = value.call_method0("__float__").and_then(|number| number.extract()) {
        return Ok(Value::Float(number));
    }
    if value.is_callable() {
        let what = "a policy in Python is for evenkeel.simulate and evenkeel.compare";
        return Err(Error::new_err(format!("{place}: expected a name, found something to call; {what}")));
    }
    let found = value.get_type().name()?;
    Err(Error::new_err(format!("{place}: expected a number, a text, true or false, a list or a dict, found {found}")))
}
