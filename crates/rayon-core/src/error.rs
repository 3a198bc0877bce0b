//! Why there is no pool.

use std::error::Error;
use std::fmt;
use std::io;

/// Why a pool was not made.
#[derive(Debug)]
pub struct ThreadPoolBuildError {
    kind: ErrorKind,
}

#[derive(Debug)]
enum ErrorKind {
    GlobalExists,
    AlreadyWorker,
    Io(io::Error),
}

impl ThreadPoolBuildError {
    pub(crate) fn global_exists() -> ThreadPoolBuildError {
        ThreadPoolBuildError { kind: ErrorKind::GlobalExists }
    }

    pub(crate) fn already_worker() -> ThreadPoolBuildError {
        ThreadPoolBuildError { kind: ErrorKind::AlreadyWorker }
    }

    pub(crate) fn io_kind(&self) -> Option<io::ErrorKind> {
        match &self.kind {
            ErrorKind::Io(error) => Some(error.kind()),
            _ => None,
        }
    }
}

impl From<io::Error> for ThreadPoolBuildError {
    fn from(error: io::Error) -> ThreadPoolBuildError {
        ThreadPoolBuildError { kind: ErrorKind::Io(error) }
    }
}

/// With Rayon's words: programs may compare them.
impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::GlobalExists => f.write_str("The global thread pool has already been initialized."),
            ErrorKind::AlreadyWorker => f.write_str("The current thread is already part of another thread pool."),
            ErrorKind::Io(error) => error.fmt(f),
        }
    }
}

impl Error for ThreadPoolBuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            ErrorKind::GlobalExists | ErrorKind::AlreadyWorker => None,
            ErrorKind::Io(error) => Some(error),
        }
    }
}
