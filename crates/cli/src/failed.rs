//! Which failures of a command that starts another are Evenkeel's own.

use anyhow::Error;
use evenkeel_linux::{emulate, host, launch};

use crate::files;

/// Something that Evenkeel needs is missing.
#[derive(Debug)]
pub struct Own(pub &'static str);

impl std::fmt::Display for Own {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Own {}

/// Standard output does not take results: why.
#[derive(Debug)]
pub struct Unprinted(pub String);

impl std::fmt::Display for Unprinted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot write the result: {}", self.0)
    }
}

impl std::error::Error for Unprinted {}

/// The exit status for a failure of Evenkeel's own; `None` for a mistake in the request.
pub fn code(error: &Error) -> Option<u8> {
    if let Some(error) = error.downcast_ref::<launch::Error>() {
        return Some(error.code());
    }
    let followed = error.downcast_ref::<host::Error>().map(|error| match error {
        host::Error::NotStarted(error) => Some(error.code()),
        host::Error::NoProcess(_) | host::Error::Ended(_) | host::Error::Claimed(_) => None,
        host::Error::Unseen { .. } | host::Error::Unguarded(_) | host::Error::Wait(_) => Some(launch::OWN_FAILURE),
    });
    let emulated = error.downcast_ref::<emulate::Error>().map(|error| match error {
        emulate::Error::Files(_)
        | emulate::Error::Forbade { .. }
        | emulate::Error::Thread { .. }
        | emulate::Error::Affinity(_) => Some(launch::OWN_FAILURE),
        _ => None,
    });
    let scheduled = error.downcast_ref::<evenkeel_scx::Error>().map(|error| match error {
        evenkeel_scx::Error::NotStarted(error) => Some(error.code()),
        evenkeel_scx::Error::NotAdopted { .. } => None,
        _ => Some(launch::OWN_FAILURE),
    });
    let own = error.is::<Own>() || error.is::<Unprinted>() || error.is::<files::Unwritten>();
    followed.or(emulated).or(scheduled).unwrap_or_else(|| own.then_some(launch::OWN_FAILURE))
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind};

    use super::*;

    #[test]
    fn a_machine_that_cannot_be_emulated_is_a_mistake_and_files_that_cannot_be_made_are_a_failure() {
        let full = io::Error::from(ErrorKind::StorageFull);
        assert_eq!(code(&emulate::Error::Files(full).into()), Some(launch::OWN_FAILURE));
        assert_eq!(code(&emulate::Error::NoLittle.into()), None);
    }
}
