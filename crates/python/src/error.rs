//! Errors, as an exception.

use pyo3::exceptions::PyValueError;
use pyo3::{PyErr, create_exception};

create_exception!(
    evenkeel,
    Error,
    PyValueError,
    "Something does not exist, does not fit the rest, or could not be carried to its end."
);

/// An error with its causes, in one message.
pub fn raise(error: &dyn std::error::Error) -> PyErr {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    Error::new_err(text)
}
