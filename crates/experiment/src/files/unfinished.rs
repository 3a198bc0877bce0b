//! Files that have a name before they are whole: `.evenkeel-HOST-x1y2z3.partial`. Each is locked by its writer, so that the next
//! writer on the same machine can tell, and removes, what a killed one has left. Those of other machines are left alone: where a
//! folder is shared, locks may not be.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::LazyLock;

use rustix::fs::{FlockOperation, OFlags, flock};
use tempfile::{Builder, NamedTempFile};

/// How names of this machine begin.
static PREFIX: LazyLock<String> = LazyLock::new(|| {
    let host = rustix::system::uname().nodename().to_string_lossy().replace('/', "-");
    format!(".evenkeel-{host}-")
});

const SUFFIX: &str = ".partial";

/// Makes such names.
pub fn name() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    // Less what the user's mask takes away, as other files.
    builder.prefix(PREFIX.as_str()).suffix(SUFFIX).permissions(Permissions::from_mode(0o666));
    builder
}

/// A new one in a folder.
pub fn file(folder: &Path) -> io::Result<NamedTempFile> {
    loop {
        let file = name().tempfile_in(folder)?;
        lock(file.as_file());
        // Before it was locked, another writer may have taken it for one that was left.
        if file.as_file().metadata()?.nlink() > 0 {
            return Ok(file);
        }
    }
}

/// Says that a file has a writer, as long as it is open. Waits for one that is about to remove it.
pub fn lock(file: &File) {
    // Where there are no locks, nothing is removed either.
    let _ = flock(file, FlockOperation::LockExclusive);
}

/// Removes those of a folder that have no writer.
pub fn clear(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX.as_str()) && name.ends_with(SUFFIX));
        if ours {
            // What cannot be removed is not in the way.
            let _ = remove_if_left(&entry.path());
        }
    }
}

fn remove_if_left(path: &Path) -> io::Result<()> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new().write(true).custom_flags(flags.bits() as i32).open(path)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    fs::remove_file(path)
}
