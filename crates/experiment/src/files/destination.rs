//! Where a path leads.

use std::fs::{self, File};
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

/// Where a path leads.
#[derive(Debug, PartialEq, Eq)]
pub enum Destination {
    /// A name in a folder, where a file is or can be.
    Name(PathBuf),
    /// A descriptor of this process.
    Descriptor(RawFd),
    /// Anything else that is there.
    Other,
}

/// As many links as Linux follows.
const LINKS: usize = 40;

/// Follows links to where a file is, or would be. Those of `/proc` name open files and lead nowhere.
pub fn of(path: &Path) -> io::Result<Destination> {
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
pub fn own(number: RawFd) -> io::Result<File> {
    // SAFETY: the descriptor is borrowed for this call only, which fails if it is not open.
    #[allow(unsafe_code)]
    let copy = rustix::io::fcntl_dupfd_cloexec(unsafe { BorrowedFd::borrow_raw(number) }, 3)?;
    match rustix::fs::fcntl_getfl(&copy)? & OFlags::RWMODE {
        OFlags::RDONLY => Err(io::Error::other("it is open for reading only")),
        _ => Ok(copy.into()),
    }
}

/// The folder of a path.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
