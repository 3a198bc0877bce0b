//! Reading and writing files, with messages that name them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::NamedTempFile;

/// The text of a file.
pub fn read(path: &str) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {path}"))
}

/// A file that is going to be written, whole or not at all: under another name in the same folder, then renamed. It is
/// opened before the work begins, so that a folder that does not exist is no surprise at its end.
pub struct Target {
    path: PathBuf,
    file: NamedTempFile,
}

impl Target {
    /// Makes sure that the file can be written.
    pub fn open(path: &Path) -> Result<Self> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let file = NamedTempFile::new_in(folder).with_context(|| cannot_write(path))?;
        Ok(Self { path: path.to_path_buf(), file })
    }

    /// As [`Self::open`], for a path that may not have been asked for.
    pub fn open_some(path: Option<&PathBuf>) -> Result<Option<Self>> {
        path.map(|path| Self::open(path)).transpose()
    }

    /// Where to write what is too long to be held in memory. Ends with [`Self::keep`].
    pub fn writer(&mut self) -> impl Write {
        self.file.as_file_mut()
    }

    /// What to say when writing fails.
    pub fn cannot_write(&self) -> String {
        cannot_write(&self.path)
    }

    /// Gives the file its name.
    pub fn keep(self) -> Result<()> {
        readable(self.file.as_file()).with_context(|| cannot_write(&self.path))?;
        self.file.persist(&self.path).map_err(|error| error.error).with_context(|| cannot_write(&self.path))?;
        Ok(())
    }

    /// Writes the file.
    pub fn write(mut self, content: &[u8]) -> Result<()> {
        self.file.write_all(content).with_context(|| cannot_write(&self.path))?;
        self.keep()
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// A temporary file can be read by its owner only; a result should be as readable as any other file.
#[cfg(unix)]
fn readable(file: &fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_file: &fs::File) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.html");
        Target::open(&path).unwrap().write(b"first and longer").unwrap();
        Target::open(&path).unwrap().write(b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_error_names_the_file() {
        let error = Target::open(Path::new("/nowhere/at/all.html")).err().unwrap();
        assert!(error.to_string().contains("/nowhere/at/all.html"), "{error}");
    }
}
