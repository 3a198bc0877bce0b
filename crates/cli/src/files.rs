//! Reading and writing files, with messages that name them.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rustix::fs::{AtFlags, CWD, OFlags, linkat};
use rustix::io::Errno;
use tempfile::{Builder, NamedTempFile, TempPath};

/// A file that is going to be written, whole or not at all: without a name, so that nothing is left if this process is
/// killed, or under another one where a file system cannot do that; then it gets its own. Links are followed first, so that
/// what they lead to is replaced. What is no regular file, such as a pipe or a terminal, or is open already and named
/// through `/proc` (`/dev/stdout`), is written as it is. It is opened before the work begins, so that a folder that does
/// not exist is no surprise at its end.
pub struct Target {
    /// As the user wrote it.
    path: PathBuf,
    /// Where the links lead.
    destination: Destination,
    file: Sink,
}

/// Where a path leads.
#[derive(Debug, PartialEq, Eq)]
enum Destination {
    /// A name in a folder, where a file is or can be.
    Name(PathBuf),
    /// A descriptor of this process.
    Descriptor(RawFd),
    /// Anything else that is there.
    Other,
}

enum Sink {
    Unnamed(fs::File),
    Renamed(NamedTempFile),
    Direct(fs::File),
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
    /// Makes sure that the file can be written.
    pub fn open(path: &Path) -> Result<Self> {
        let open = || -> io::Result<(Destination, Sink)> {
            let destination = destination(path)?;
            let file = match &destination {
                Destination::Descriptor(number) => Sink::Direct(own(*number)?),
                Destination::Other => Sink::Direct(fs::OpenOptions::new().append(true).open(path)?),
                Destination::Name(name) => match unnamed(folder(name))? {
                    Some(file) => Sink::Unnamed(file),
                    None => Sink::Renamed(partial().tempfile_in(folder(name)).map_err(without_name)?),
                },
            };
            Ok((destination, file))
        };
        let (destination, file) = open().with_context(|| cannot_write(path))?;
        Ok(Self { path: path.to_path_buf(), destination, file })
    }

    /// As [`Self::open`], for a path that may not be given.
    pub fn open_some(path: Option<&PathBuf>) -> Result<Option<Self>> {
        path.map(|path| Self::open(path)).transpose()
    }

    /// Makes sure that no two of them are the same file, of which only the last would be left.
    pub fn distinct(targets: &[&Option<Self>]) -> Result<()> {
        let names = targets.iter().filter_map(|target| target.as_ref());
        let names: Vec<_> = names.filter(|target| matches!(target.destination, Destination::Name(_))).collect();
        for (position, target) in names.iter().enumerate() {
            if let Some(same) = names[..position].iter().find(|other| other.destination == target.destination) {
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
        match &mut self.file {
            Sink::Renamed(file) => file.as_file_mut(),
            Sink::Unnamed(file) | Sink::Direct(file) => file,
        }
    }

    /// What went wrong while writing.
    pub fn unwritten(&self) -> impl Fn(io::Error) -> Unwritten + use<> {
        let path = self.path.clone();
        move |error| Unwritten { path: path.clone(), error, instead: None, report: String::new() }
    }

    /// Gives the file its name.
    pub fn keep(self) -> Result<(), Unwritten> {
        let unwritten = self.unwritten();
        let Destination::Name(name) = self.destination else { return Ok(()) };
        let named = match self.file {
            Sink::Direct(_) => return Ok(()),
            Sink::Renamed(file) => readable(file.as_file()).map(|()| file.into_temp_path()),
            Sink::Unnamed(file) => readable(&file).and_then(|()| named_in(&file, folder(&name))),
        };
        named.and_then(|named| named.persist(&name).map_err(|error| error.error)).map_err(unwritten)
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

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// As many links as Linux follows.
const LINKS: usize = 40;

/// Follows links to where a file is, or would be. Those of `/proc` name open files and lead nowhere.
fn destination(path: &Path) -> io::Result<Destination> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        let Some(name) = path.file_name() else { return Ok(Destination::Other) };
        let folder = fs::canonicalize(folder(&path))?;
        let full = folder.join(name);
        if rustix::fs::statfs(&folder)?.f_type == rustix::fs::PROC_SUPER_MAGIC {
            let own = folder == Path::new(&format!("/proc/{}/fd", std::process::id()));
            let number = name.to_str().and_then(|name| name.parse().ok()).filter(|_| own);
            return Ok(number.map_or(Destination::Other, Destination::Descriptor));
        }
        match fs::read_link(&full) {
            Ok(to) => path = folder.join(to),
            Err(_) if fs::metadata(&full).is_ok_and(|found| !found.is_file()) => return Ok(Destination::Other),
            Err(_) => return Ok(Destination::Name(full)),
        }
    }
    Err(Errno::LOOP.into())
}

/// A second descriptor of what one of this process's is open for, with the same position: opened anew, a file would be
/// written from its beginning, over what others have written there.
fn own(number: RawFd) -> io::Result<fs::File> {
    // SAFETY: the descriptor is borrowed for this call only, which fails if it is not open.
    #[allow(unsafe_code)]
    let copy = rustix::io::fcntl_dupfd_cloexec(unsafe { BorrowedFd::borrow_raw(number) }, 3)?;
    match rustix::fs::fcntl_getfl(&copy)? & OFlags::RWMODE {
        OFlags::RDONLY => Err(io::Error::other("it is open for reading only")),
        _ => Ok(copy.into()),
    }
}

/// What went wrong with a file whose name says nothing to the user.
fn without_name(error: io::Error) -> io::Error {
    error.kind().into()
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn partial() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".evenkeel-").suffix(".partial");
    builder
}

/// A file without a name in a folder, if there are such and it can get one later.
fn unnamed(folder: &Path) -> io::Result<Option<fs::File>> {
    match fs::OpenOptions::new().write(true).custom_flags(OFlags::TMPFILE.bits() as i32).open(folder) {
        Ok(file) => Ok(opened(&file).exists().then_some(file)),
        // The file system has none, or the kernel is older than they are.
        Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::OPNOTSUPP | Errno::ISDIR)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Gives a file a name that is not the final one, since only renaming replaces a file.
fn named_in(file: &fs::File, folder: &Path) -> io::Result<TempPath> {
    let link = |path: &Path| Ok(linkat(CWD, opened(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?);
    Ok(partial().make_in(folder, link).map_err(without_name)?.into_temp_path())
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
        Target { path: path.clone(), destination: Destination::Name(path.clone()), file }.write(b"text").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"text");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
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
    fn links_stay_and_what_they_lead_to_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second, file] = ["first", "second", "file"].map(|name| folder.path().join(name));
        std::os::unix::fs::symlink("second", &first).unwrap();
        std::os::unix::fs::symlink(&file, &second).unwrap();
        // Once where nothing is yet, once over what is there.
        for text in ["one", "two"] {
            Target::open(&first).unwrap().write(text.as_bytes()).unwrap();
            assert!(
                fs::symlink_metadata(&first).unwrap().is_symlink()
                    && fs::symlink_metadata(&second).unwrap().is_symlink()
            );
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        std::os::unix::fs::symlink("round", folder.path().join("round")).unwrap();
        assert!(Target::open(&folder.path().join("round")).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_open_file_is_written_where_it_stands() {
        let folder = tempfile::tempdir().unwrap();
        let mut open = fs::File::create(folder.path().join("out")).unwrap();
        open.write_all(b"before, ").unwrap();
        let link = folder.path().join("stdout");
        std::os::unix::fs::symlink(format!("/proc/self/fd/{}", open.as_raw_fd()), &link).unwrap();
        Target::open(&link).unwrap().write(b"through the link, ").unwrap();
        open.write_all(b"after").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(folder.path().join("out")).unwrap(), b"before, through the link, after");
        let reading = fs::File::open(folder.path().join("out")).unwrap();
        assert!(Target::open(Path::new(&format!("/proc/self/fd/{}", reading.as_raw_fd()))).is_err());
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
    fn an_error_names_the_file() {
        let error = Target::open(Path::new("/nowhere/at/all.html")).err().unwrap();
        assert!(error.to_string().contains("/nowhere/at/all.html"), "{error}");
        assert!(!format!("{error:#}").contains("partial"), "{error:#}");
    }
}
