//! Files that are whole or not there, whatever ends the process that writes them.

mod destination;
mod unfinished;

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, OFlags, access, linkat};
use rustix::io::Errno;
use tempfile::NamedTempFile;

use destination::{Destination, folder};

/// A file that is going to be written, whole or not at all: without a name, so that nothing is left if this process is
/// killed, or under another one where a file system cannot do that; then it gets its own. Links are followed first, so that
/// what they lead to is replaced. What is no regular file, such as a pipe or a terminal, or is open already and named
/// through `/proc` (`/dev/stdout`), is written as it is.
///
/// ```
/// use std::io::Write;
///
/// use evenkeel_experiment::files::NewFile;
///
/// # fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("result.txt");
/// let mut file = NewFile::create(&path)?;
/// file.write_all(b"all of it")?;
/// assert!(!path.exists());
/// file.keep()?;
/// assert_eq!(std::fs::read(&path)?, b"all of it");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct NewFile {
    /// Where the links lead.
    destination: Destination,
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    Unnamed(File),
    Renamed(NamedTempFile),
    Direct(File),
}

impl NewFile {
    /// Makes sure that a file can be written, and begins it. What writers that were killed have left in its folder is removed.
    ///
    /// # Errors
    /// The folder does not exist, no file can be written there, or the one that is there cannot.
    pub fn create(path: &Path) -> io::Result<Self> {
        let destination = destination::of(path)?;
        let sink = match &destination {
            Destination::Descriptor(number) => Sink::Direct(destination::own(*number)?),
            Destination::Other => Sink::Direct(OpenOptions::new().append(true).open(path)?),
            Destination::Name(name) => {
                // Replacing a file needs its folder only, and would pass over who may write it.
                match access(name, Access::WRITE_OK) {
                    Err(Errno::NOENT) => {}
                    may => may?,
                }
                unfinished::clear(folder(name));
                match unnamed(folder(name))? {
                    Some(file) => Sink::Unnamed(file),
                    None => Sink::Renamed(unfinished::file(folder(name)).map_err(without_name)?),
                }
            }
        };
        Ok(Self { destination, sink })
    }

    /// Whether only one of the two would be left.
    pub fn replaces(&self, other: &Self) -> bool {
        matches!(self.destination, Destination::Name(_)) && self.destination == other.destination
    }

    /// Gives the file its name, once it is on the disk.
    ///
    /// # Errors
    /// It cannot be written, or its folder has gone.
    pub fn keep(self) -> io::Result<()> {
        let Destination::Name(name) = self.destination else { return Ok(()) };
        match self.sink {
            Sink::Direct(_) => Ok(()),
            Sink::Renamed(file) => {
                finish(file.as_file(), &name)?;
                file.persist(&name).map(drop).map_err(|error| error.error)
            }
            Sink::Unnamed(file) => {
                finish(&file, &name)?;
                match link(&file, &name) {
                    // Only renaming replaces a file.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => rename(&file, &name),
                    linked => linked,
                }
            }
        }
    }

    fn file(&mut self) -> &mut File {
        match &mut self.sink {
            Sink::Renamed(file) => file.as_file_mut(),
            Sink::Unnamed(file) | Sink::Direct(file) => file,
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

/// Writes a file, all of it or nothing.
///
/// # Errors
/// As those of [`NewFile`].
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = NewFile::create(path)?;
    file.write_all(content)?;
    file.keep()
}

/// A file without a name in a folder, if there are such and it can get one later.
fn unnamed(folder: &Path) -> io::Result<Option<File>> {
    match OpenOptions::new().write(true).custom_flags(OFlags::TMPFILE.bits() as i32).open(folder) {
        Ok(file) => Ok(opened(&file).exists().then_some(file)),
        // The file system has none, or the kernel is older than they are.
        Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::OPNOTSUPP | Errno::ISDIR)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Gives a file a name that nothing has.
fn link(file: &File, name: &Path) -> io::Result<()> {
    Ok(linkat(CWD, opened(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
}

/// Gives a file a name that another one may have, by way of a name that none has.
fn rename(file: &File, name: &Path) -> io::Result<()> {
    unfinished::lock(file);
    let named = unfinished::name().make_in(folder(name), |path| link(file, path)).map_err(without_name)?;
    named.into_temp_path().persist(name).map_err(|error| error.error)
}

/// Where an open file is found without a name.
fn opened(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// A result is as readable as the file that it replaces, or as any other that is new. And a name that is on the disk before its
/// content would be that of a broken file after a power failure.
fn finish(file: &File, name: &Path) -> io::Result<()> {
    if let Ok(old) = std::fs::metadata(name) {
        file.set_permissions(Permissions::from_mode(old.permissions().mode() & 0o777))?;
    }
    file.sync_all()
}

/// What went wrong with a file whose name says nothing to the user.
fn without_name(error: io::Error) -> io::Error {
    error.kind().into()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// How a file is replaced, where files can be without a name and where not.
    fn replaced(create: impl Fn(&Path) -> NewFile) {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("out.html"), folder.path().join("other"));
        fs::write(&other, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        for text in ["first and longer", "second"] {
            let mut file = create(&path);
            file.write_all(text.as_bytes()).unwrap();
            assert_ne!(fs::read(&path).unwrap_or_default(), text.as_bytes(), "not before it is whole");
            file.keep().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(mode(&path), mode(&other), "as any other");
        }
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let mut file = create(&path);
        file.write_all(b"second").unwrap();
        file.keep().unwrap();
        assert_eq!(mode(&path), 0o640, "as what it replaces");
        drop(create(&path));
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        replaced(|path| NewFile::create(path).unwrap());
    }

    #[test]
    fn who_may_read_a_file_may_read_what_replaces_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        fs::write(&path, "before").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        write(&path, b"after").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
        // Root may write everything.
        if OpenOptions::new().append(true).open(&path).is_err() {
            assert_eq!(write(&path, b"never").unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        }
    }

    #[test]
    fn where_files_need_names_the_result_is_the_same() {
        replaced(|path| NewFile {
            destination: Destination::Name(path.to_path_buf()),
            sink: Sink::Renamed(unfinished::file(folder(path)).unwrap()),
        });
    }

    #[test]
    fn what_a_killed_writer_left_is_removed_beside_one_at_work() {
        let folder = tempfile::tempdir().unwrap();
        let at_work = unfinished::file(folder.path()).unwrap();
        let left = unfinished::file(folder.path()).unwrap().into_temp_path().keep().unwrap();
        let elsewhere = folder.path().join(".evenkeel-of-another-host-x.partial");
        fs::write(&elsewhere, "").unwrap();
        let file = NewFile::create(&folder.path().join("out")).unwrap();
        assert!(at_work.path().exists() && elsewhere.exists() && !left.exists());
        file.keep().unwrap();
        at_work.persist(folder.path().join("other")).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_no_regular_file_is_written_and_never_replaced() {
        use std::os::unix::fs::FileTypeExt;
        assert!(write(Path::new("/dev/full"), b"anything").is_err(), "the device says that it is full");
        assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device(), "and it is still a device");
    }

    #[test]
    fn links_stay_and_what_they_lead_to_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second, file] = ["first", "second", "file"].map(|name| folder.path().join(name));
        symlink("second", &first).unwrap();
        symlink(&file, &second).unwrap();
        // Once where nothing is yet, once over what is there.
        for text in ["one", "two"] {
            write(&first, text.as_bytes()).unwrap();
            assert!(
                fs::symlink_metadata(&first).unwrap().is_symlink()
                    && fs::symlink_metadata(&second).unwrap().is_symlink()
            );
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        let [link, file] = [first, file].map(|path| NewFile::create(&path).unwrap());
        assert!(link.replaces(&file));
        symlink("round", folder.path().join("round")).unwrap();
        assert!(NewFile::create(&folder.path().join("round")).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_open_file_is_written_where_it_stands() {
        let folder = tempfile::tempdir().unwrap();
        let mut open = File::create(folder.path().join("out")).unwrap();
        open.write_all(b"before, ").unwrap();
        let through = folder.path().join("stdout");
        symlink(opened(&open), &through).unwrap();
        write(&through, b"through the link, ").unwrap();
        open.write_all(b"after").unwrap();
        assert!(fs::symlink_metadata(&through).unwrap().is_symlink());
        assert_eq!(fs::read(folder.path().join("out")).unwrap(), b"before, through the link, after");
        let reading = File::open(folder.path().join("out")).unwrap();
        assert!(NewFile::create(&opened(&reading)).is_err());
    }
}
