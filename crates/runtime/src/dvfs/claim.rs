//! A clock is set by one pool at a time, of all processes: another one would take what the first has set for the moment for what the user had set, and put
//! that back in the end.

use std::fs::File;
use std::io;

#[cfg(target_os = "linux")]
use rustix::fs::{FlockOperation, flock};
#[cfg(target_os = "linux")]
use rustix::io::Errno;

/// What no other pool has, until this is dropped.
#[derive(Debug)]
pub(super) struct Claim(#[cfg(target_os = "linux")] File);

#[cfg(target_os = "linux")]
impl Claim {
    /// To the clock that a file sets.
    ///
    /// # Errors
    /// Another pool has it.
    pub fn to(file: File) -> io::Result<Self> {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self(file)),
            Err(Errno::WOULDBLOCK) => Err(io::Error::other("another pool sets this clock")),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(target_os = "linux")]
impl Drop for Claim {
    fn drop(&mut self) {
        // A process that was forked meanwhile has the file open, too, and closing it here alone would leave it locked.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

#[cfg(not(target_os = "linux"))]
impl Claim {
    /// Other systems have no such files.
    pub fn to(_: File) -> io::Result<Self> {
        Ok(Self())
    }
}
