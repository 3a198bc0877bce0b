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

/// A file that is going to be written, whole or not at all: under another name in the same folder, then renamed. What is
/// no regular file, such as a pipe or a terminal, is written as it is. It is opened before the work begins, so that a
/// folder that does not exist is no surprise at its end.
pub struct Target {
    path: PathBuf,
    file: Sink,
}

enum Sink {
    Renamed(NamedTempFile),
    Direct(fs::File),
}

impl Target {
    /// Makes sure that the file can be written.
    pub fn open(path: &Path) -> Result<Self> {
        let special = fs::metadata(path).is_ok_and(|found| !found.is_file());
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let file = if special {
            fs::OpenOptions::new().write(true).open(path).map(Sink::Direct)
        } else {
            tempfile::Builder::new().prefix(".evenkeel-").suffix(".partial").tempfile_in(folder).map(Sink::Renamed)
        };
        Ok(Self { path: path.to_path_buf(), file: file.with_context(|| cannot_write(path))? })
    }

    /// As [`Self::open`], for a path that may not have been asked for.
    pub fn open_some(path: Option<&PathBuf>) -> Result<Option<Self>> {
        path.map(|path| Self::open(path)).transpose()
    }

    /// Where to write what is too long to be held in memory. Ends with [`Self::keep`].
    pub fn writer(&mut self) -> impl Write {
        match &mut self.file {
            Sink::Renamed(file) => file.as_file_mut(),
            Sink::Direct(file) => file,
        }
    }

    /// What to say when writing fails.
    pub fn cannot_write(&self) -> String {
        cannot_write(&self.path)
    }

    /// Gives the file its name.
    pub fn keep(self) -> Result<()> {
        let Sink::Renamed(file) = self.file else { return Ok(()) };
        readable(file.as_file()).with_context(|| cannot_write(&self.path))?;
        file.persist(&self.path).map_err(|error| error.error).with_context(|| cannot_write(&self.path))?;
        Ok(())
    }

    /// Writes the file.
    pub fn write(mut self, content: &[u8]) -> Result<()> {
        let written = self.writer().write_all(content);
        written.with_context(|| self.cannot_write())?;
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

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_no_regular_file_is_written_and_never_replaced() {
        use std::os::unix::fs::FileTypeExt;
        let full = Target::open(Path::new("/dev/full")).unwrap();
        assert!(full.write(b"anything").is_err(), "the device says that it is full");
        assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device(), "and it is still a device");
    }

    #[test]
    fn an_error_names_the_file() {
        let error = Target::open(Path::new("/nowhere/at/all.html")).err().unwrap();
        assert!(error.to_string().contains("/nowhere/at/all.html"), "{error}");
    }
}
