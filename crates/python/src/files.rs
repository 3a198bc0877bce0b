//! Files that are whole or not there.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use pyo3::PyErr;
use pyo3::PyResult;
use pyo3::exceptions::PyOSError;

/// A file that has its name once it is whole.
pub struct Partial<'a> {
    path: &'a Path,
    file: tempfile::NamedTempFile,
}

impl<'a> Partial<'a> {
    /// A file beside the one that it is going to be.
    pub fn create(path: &'a Path) -> PyResult<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".evenkeel-").suffix(".partial").permissions(PermissionsExt::from_mode(0o644));
        let file = builder.tempfile_in(folder).map_err(|error| unwritten(path, &error))?;
        Ok(Self { path, file })
    }

    /// Where its content goes.
    pub fn writer(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Gives it its name.
    pub fn keep(self) -> PyResult<()> {
        let Self { path, file } = self;
        file.persist(path).map(drop).map_err(|error| unwritten(path, &error.error))
    }

    /// The exception for what went wrong in writing.
    pub fn unwritten(&self, error: &io::Error) -> PyErr {
        unwritten(self.path, error)
    }
}

/// Writes a file, all of it or nothing.
pub fn write(path: &Path, text: &str) -> PyResult<()> {
    let mut file = Partial::create(path)?;
    file.writer().write_all(text.as_bytes()).map_err(|error| file.unwritten(&error))?;
    file.keep()
}

fn unwritten(path: &Path, error: &io::Error) -> PyErr {
    PyOSError::new_err(format!("{}: {error}", path.display()))
}
