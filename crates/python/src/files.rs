//! Files that are whole or not there.

use std::io;
use std::path::Path;

use evenkeel_experiment::files::{self, NewFile};
use pyo3::PyErr;
use pyo3::PyResult;
use pyo3::exceptions::PyOSError;

/// A file that has its name once it is whole.
pub struct Partial<'a> {
    path: &'a Path,
    file: NewFile,
}

impl<'a> Partial<'a> {
    /// A file that is going to be written.
    pub fn create(path: &'a Path) -> PyResult<Self> {
        let file = NewFile::create(path).map_err(|error| unwritten(path, &error))?;
        Ok(Self { path, file })
    }

    /// Where its content goes.
    pub fn writer(&mut self) -> &mut NewFile {
        &mut self.file
    }

    /// Gives it its name.
    pub fn keep(self) -> PyResult<()> {
        self.file.keep().map_err(|error| unwritten(self.path, &error))
    }

    /// The exception for what went wrong in writing.
    pub fn unwritten(&self, error: &io::Error) -> PyErr {
        unwritten(self.path, error)
    }
}

/// Writes a file, all of it or nothing.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> PyResult<()> {
    files::write(path, content.as_ref()).map_err(|error| unwritten(path, &error))
}

fn unwritten(path: &Path, error: &io::Error) -> PyErr {
    PyOSError::new_err(format!("{}: {error}", path.display()))
}
