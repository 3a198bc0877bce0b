//! Reading and writing files, with messages that name them.

use std::fs;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::fs::{AtFlags, CWD, OFlags, linkat};
use tempfile::{Builder, NamedTempFile, TempPath};

/// The text of a file.
pub fn read(path: &str) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {path}"))
}

/// A file that is going to be written, whole or not at all: without a name, so that nothing is left if this process is
/// killed, or under another one where a file system cannot do that; then it gets its own. What is no regular file, such
/// as a pipe or a terminal, is written as it is. It is opened before the work begins, so that a folder that does not
/// exist is no surprise at its end.
pub struct Target {
    path: PathBuf,
    file: Sink,
}

enum Sink {
    Unnamed(fs::File),
    Renamed(NamedTempFile),
    Direct(fs::File),
}

impl Target {
    /// Makes sure that the file can be written.
    pub fn open(path: &Path) -> Result<Self> {
        let special = fs::metadata(path).is_ok_and(|found| !found.is_file());
        let file = if special {
            fs::OpenOptions::new().write(true).open(path).map(Sink::Direct)
        } else if let Some(file) = unnamed(folder(path)) {
            Ok(Sink::Unnamed(file))
        } else {
            partial().tempfile_in(folder(path)).map(Sink::Renamed)
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
            Sink::Unnamed(file) | Sink::Direct(file) => file,
        }
    }

    /// What to say when writing fails.
    pub fn cannot_write(&self) -> String {
        cannot_write(&self.path)
    }

    /// Gives the file its name.
    pub fn keep(self) -> Result<()> {
        let path = self.path;
        let named = match self.file {
            Sink::Direct(_) => return Ok(()),
            Sink::Renamed(file) => readable(file.as_file()).map(|()| file.into_temp_path()),
            Sink::Unnamed(file) => readable(&file).and_then(|()| name(&file, folder(&path))),
        };
        named.and_then(|named| Ok(named.persist(&path)?)).with_context(|| cannot_write(&path))
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

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn partial() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".evenkeel-").suffix(".partial");
    builder
}

/// A file without a name in a folder, if it can get one later.
fn unnamed(folder: &Path) -> Option<fs::File> {
    let file = fs::OpenOptions::new().write(true).custom_flags(OFlags::TMPFILE.bits() as i32).open(folder).ok()?;
    opened(&file).exists().then_some(file)
}

/// Gives a file a name that is not the final one, since only renaming replaces a file.
fn name(file: &fs::File, folder: &Path) -> io::Result<TempPath> {
    let link = |path: &Path| Ok(linkat(CWD, opened(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?);
    Ok(partial().make_in(folder, link)?.into_temp_path())
}

/// Where an open file is found without a name.
fn opened(file: &fs::File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// A temporary file can be read by its owner only; a result should be as readable as any other file.
fn readable(file: &fs::File) -> io::Result<()> {
    file.set_permissions(fs::Permissions::from_mode(0o644))
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
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn where_files_need_names_the_result_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.html");
        let file = Sink::Renamed(partial().tempfile_in(folder.path()).unwrap());
        Target { path: path.clone(), file }.write(b"text").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"text");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    /// As after `kill -9`: nothing is dropped.
    #[test]
    fn what_is_not_kept_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        if unnamed(folder.path()).is_none() {
            eprintln!("skipped: this file system has no files without names");
            return;
        }
        let mut target = Target::open(&folder.path().join("out.html")).unwrap();
        target.writer().write_all(b"half of").unwrap();
        std::mem::forget(target);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
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
