//! How many files this process may have open at once.

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::Error;

/// From now on as many as the hard limit allows: the soft one is often 1024, for the sake of programs that call `select`. Where the
/// system refuses, it stays as it is.
pub fn as_many_as_allowed() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let _refused = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    }
}

/// What a merge of so many parts ended with; where it is that they cannot all be open, it says so.
pub fn explained(error: Error, parts: usize) -> Error {
    let (Error::Unreadable { source, .. } | Error::Unwritable { source, .. }) = &error else { return error };
    match getrlimit(Resource::Nofile).current {
        Some(limit) if Errno::from_io_error(source) == Some(Errno::MFILE) => Error::TooMany { parts, limit },
        _ => error,
    }
}
