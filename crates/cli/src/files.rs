//! Writing files, with messages that name them.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{env, fmt, fs};

use anyhow::{Context, Result, bail};
use evenkeel_experiment::files::NewFile;
use evenkeel_topology::POWERS;
use tempfile::Builder;

use crate::config;

/// A file that is going to be written, whole or not at all. It is opened before the work begins, so that a folder that does
/// not exist is no surprise at its end.
pub struct Target {
    /// As the user wrote it.
    path: PathBuf,
    file: NewFile,
}

/// A result that cannot be written, after all the work. Its place is wrong, not the request.
#[derive(Debug)]
pub struct Unwritten {
    path: PathBuf,
    error: io::Error,
    /// Where it is instead.
    instead: Option<PathBuf>,
    /// The command's report, which is printed all the same.
    pub report: String,
}

impl Unwritten {
    /// A report that is printed whether or not a file that belongs to it could be written.
    pub fn report(written: Result<(), Self>, report: String) -> Result<String, Self> {
        match written {
            Ok(()) => Ok(report),
            Err(unwritten) => Err(Self { report, ..unwritten }),
        }
    }
}

impl fmt::Display for Unwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", cannot_write(&self.path), self.error)?;
        self.instead.as_ref().map_or(Ok(()), |path| write!(f, "; it is in {} instead", path.display()))
    }
}

impl std::error::Error for Unwritten {}

impl Target {
    /// Makes sure that the file can be written, and is none that the command reads, nor its own.
    pub fn open(path: &Path) -> Result<Self> {
        if named_in(path, config::values()) > 1 {
            bail!(
                "{}: it is named twice, as what is read or as what is written: expected a file of its own for what is written",
                path.display()
            );
        }
        if env::var_os(POWERS).is_some_and(|powers| named_in(path, &[powers]) > 0) {
            bail!("{}: {POWERS} names it: expected a file of its own for what is written", path.display());
        }
        let own = identity(Path::new("/proc/self/exe"));
        if own.is_some() && own == identity(path) {
            bail!("{}: it is this program: expected a file of its own for what is written", path.display());
        }
        if config::read().is_some_and(|read| identity(read).is_some() && identity(read) == identity(path)) {
            bail!(
                "{}: the defaults of options are read from it: expected a file of its own for what is written",
                path.display()
            );
        }
        let file = NewFile::create(path).with_context(|| cannot_write(path))?;
        Ok(Self { path: path.to_path_buf(), file })
    }

    /// As [`Self::open`], for a path that may not be given.
    pub fn open_some(path: Option<&PathBuf>) -> Result<Option<Self>> {
        path.map(|path| Self::open(path)).transpose()
    }

    /// Makes sure that no two of them are the same file, of which only the last would be left.
    pub fn distinct(targets: &[&Option<Self>]) -> Result<()> {
        let targets: Vec<_> = targets.iter().filter_map(|target| target.as_ref()).collect();
        for (position, target) in targets.iter().enumerate() {
            if let Some(same) = targets[..position].iter().find(|other| other.file.replaces(&target.file)) {
                bail!(
                    "{} and {} are the same file: expected one for each output",
                    same.path.display(),
                    target.path.display()
                );
            }
        }
        Ok(())
    }

    /// Where to write what is too long to be held in memory. Ends with [`Self::keep`].
    pub fn writer(&mut self) -> impl Write {
        &mut self.file
    }

    /// What went wrong while writing.
    pub fn unwritten(&self) -> impl Fn(io::Error) -> Unwritten + use<> {
        let path = self.path.clone();
        move |error| Unwritten { path: path.clone(), error, instead: None, report: String::new() }
    }

    /// Gives the file its name.
    pub fn keep(self) -> Result<(), Unwritten> {
        let unwritten = self.unwritten();
        self.file.keep().map_err(unwritten)
    }

    /// Writes the file.
    pub fn write(mut self, content: &[u8]) -> Result<(), Unwritten> {
        let written = self.writer().write_all(content);
        written.map_err(self.unwritten())?;
        self.keep()
    }

    /// Writes the file, or, if that fails, another one in the folder for temporary files, which the error names: for
    /// what cannot be had again.
    pub fn write_somewhere(self, content: &[u8]) -> Result<(), Unwritten> {
        let suffix = self.path.extension().map_or(String::new(), |suffix| format!(".{}", suffix.to_string_lossy()));
        self.write(content).map_err(|mut error| {
            let elsewhere = Builder::new().prefix("evenkeel-").suffix(&suffix).tempfile().ok().and_then(|mut file| {
                file.write_all(content).ok()?;
                Some(file.keep().ok()?.1)
            });
            error.instead = elsewhere;
            error
        })
    }
}

/// Which file is at a path, if there is one.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|file| (file.dev(), file.ino()))
}

/// In how many values a file is named that is there: as a whole, or as one of several (`a.toml,b.toml`, `a.toml:2+2`).
fn named_in(path: &Path, values: &[OsString]) -> usize {
    let Some(wanted) = identity(path) else { return 0 };
    let is_it = |name: &str| !name.is_empty() && identity(Path::new(name)) == Some(wanted);
    let names_it = |value: &&OsString| {
        let whole = identity(Path::new(value)) == Some(wanted);
        whole || value.to_str().is_some_and(|value| value.split([',', '+', ':', '=']).any(is_it))
    };
    values.iter().filter(names_it).count()
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_named_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("my.toml");
        let name = file.display().to_string();
        let count = |values: &[&str]| {
            let values: Vec<OsString> = values.iter().map(|value| value.replace("FILE", &name).into()).collect();
            named_in(&file, &values)
        };
        assert_eq!(count(&["FILE", "FILE"]), 0, "it is not there");
        fs::write(&file, "").unwrap();
        assert_eq!(count(&["FILE", "FILE", "other", ""]), 2);
        assert_eq!(count(&["2B2S,FILE:2+2", "machine=FILE"]), 2);
    }

    #[test]
    fn two_outputs_need_two_files() {
        let folder = tempfile::tempdir().unwrap();
        let [link, file] = ["link", "file"].map(|name| folder.path().join(name));
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let open = |path: &Path| Some(Target::open(path).unwrap());
        let error = Target::distinct(&[&open(&link), &None, &open(&file)]).unwrap_err().to_string();
        assert!(error.contains("link and ") && error.contains("the same file"), "{error}");
        Target::distinct(&[&open(&file), &open(folder.path().join("other").as_path())]).unwrap();
        let null = || open(Path::new("/dev/null"));
        Target::distinct(&[&null(), &null()]).unwrap();
    }

    #[test]
    fn what_cannot_be_had_again_is_kept_elsewhere() {
        let full = Target::open(Path::new("/dev/full")).unwrap();
        let error = full.write_somewhere(b"recording").unwrap_err();
        let text = error.to_string();
        let kept = text.strip_prefix("cannot write /dev/full: ").unwrap().split_once("; it is in ").unwrap().1;
        let kept = kept.strip_suffix(" instead").unwrap();
        assert_eq!(fs::read(kept).unwrap(), b"recording");
        fs::remove_file(kept).unwrap();
    }

    #[test]
    fn the_program_does_not_replace_itself() {
        let error = Target::open(&env::current_exe().unwrap()).err().unwrap().to_string();
        assert!(error.contains("it is this program"), "{error}");
    }

    #[test]
    fn an_error_names_the_file() {
        let error = Target::open(Path::new("/nowhere/at/all.html")).err().unwrap();
        assert!(error.to_string().contains("/nowhere/at/all.html"), "{error}");
        assert!(!format!("{error:#}").contains("partial"), "{error:#}");
    }
}
