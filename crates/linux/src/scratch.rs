//! Folders in `/tmp` for as long as this process lives. What a process that was killed has left is removed by the next.
//!
//! The process that makes such a folder holds a lock on a file in there, which the kernel gives up when it ends. Numbers
//! of processes would not do: they are used again.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tempfile::{Builder, TempDir};

/// In `/tmp`, which the guest of `evenkeel vm` may write to.
const PLACE: &str = "/tmp";
/// All names begin like this.
const PREFIX: &str = "evenkeel-";
const LOCK: &str = "lock";

/// A folder that is removed when this is dropped.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    /// Held until this process ends.
    _lock: File,
}

impl Scratch {
    /// A new folder for something; those whose processes have ended are removed.
    ///
    /// # Errors
    /// `/tmp` cannot be written to.
    pub fn new(what: &str) -> io::Result<Self> {
        Self::within(Path::new(PLACE), what)
    }

    fn within(place: &Path, what: &str) -> io::Result<Self> {
        sweep(place);
        let folder = Builder::new().prefix(&format!("{PREFIX}{what}-")).tempdir_in(place)?;
        // Locked before it has its name: without that, it would look like one whose process has ended.
        let unnamed = folder.path().join("lock.new");
        let lock = File::create(&unnamed)?;
        flock(&lock, FlockOperation::LockExclusive)?;
        fs::write(&unnamed, boot_id())?;
        fs::rename(&unnamed, folder.path().join(LOCK))?;
        Ok(Self { folder, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders of this user whose processes have ended. Nothing depends on it.
fn sweep(place: &Path) {
    let own = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let is_own = |found: fs::Metadata| found.is_dir() && found.uid() == own;
        if named && entry.metadata().is_ok_and(is_own) && abandoned(&entry.path().join(LOCK)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether no process holds a lock any more.
fn abandoned(lock: &Path) -> bool {
    // Of another kernel, such as the host of a guest that shares its /tmp, locks are not seen here.
    let here = fs::read_to_string(lock).is_ok_and(|boot| boot == boot_id());
    let held = |file: File| flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK);
    here && File::open(lock).is_ok_and(|file| !held(file))
}

/// Tells one run of a kernel from all others.
pub(crate) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_process_has_any_more_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let exist = |folders: &[&Path]| folders.iter().map(|folder| folder.exists()).collect::<Vec<_>>();
        let kept = Scratch::within(place.path(), "test").unwrap();
        let other = Scratch::within(place.path(), "test").unwrap();
        assert_eq!(exist(&[kept.path(), other.path()]), [true, true], "they are in use");
        // As `kill -9` leaves one: the lock is given up, and the folder is there.
        let Scratch { folder, _lock } = other;
        let left = folder.keep();
        drop(_lock);
        let elsewhere = place.path().join("evenkeel-elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join(LOCK), "of another kernel").unwrap();
        let begun = place.path().join("evenkeel-begun");
        fs::create_dir(&begun).unwrap();
        let new = Scratch::within(place.path(), "test").unwrap();
        let folders = [kept.path(), &left, &elsewhere, &begun, new.path()];
        assert_eq!(exist(&folders), [true, false, true, true, true]);
        drop(new);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 3, "nothing is left of one that is dropped");
    }
}
