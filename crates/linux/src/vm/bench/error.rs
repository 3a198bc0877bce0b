//! What can go wrong beside the guest.

use std::io;

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No folder for the programs.
    #[error("cannot write to /tmp: {0}")]
    Folder(io::Error),
    /// Signals cannot be received.
    #[error("cannot listen to signals: {0}")]
    Signals(io::Error),
    /// No compiler.
    #[error("there is no C compiler, which the measuring programs need; on Debian: apt install gcc libc6-dev: {0}")]
    NoCompiler(io::Error),
    /// A program does not compile.
    #[error("the C compiler refuses {program}: {why}")]
    Refused {
        /// The program.
        program: String,
        /// What the compiler wrote.
        why: String,
    },
    /// A command failed in the guest.
    #[error("{command} failed with {code}: {errors}")]
    Failed {
        /// The command.
        command: String,
        /// Its exit code.
        code: u8,
        /// What it wrote to standard error.
        errors: String,
    },
    /// A program failed in the guest.
    #[error("{program} failed in the guest with exit status {code}{}", end(errors))]
    Program {
        /// The program.
        program: String,
        /// Its exit status, as shells have it.
        code: u8,
        /// The last lines that it wrote to standard error.
        errors: String,
    },
    /// What was measured of switches is no machine file.
    #[error("what a switch takes cannot be read: {0}")]
    Switches(String),
    /// A program ended without a time.
    #[error("{0} did not write its time")]
    NoTime(String),
}

fn end(errors: &str) -> String {
    if errors.is_empty() {
        "; it wrote nothing to standard error".into()
    } else {
        format!("; the end of its standard error:\n{errors}")
    }
}
