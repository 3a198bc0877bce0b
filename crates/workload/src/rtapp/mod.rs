//! rt-app files: the JSON in which Linux scheduler developers describe a use case, loaded as it is.
//!
//! The reference is rt-app's tutorial and, where that is silent or older than the tool, what the tool does
//! (scheduler-tools/rt-app). `docs/rt-app.md` lists every key and every difference.

mod bare;
mod event;
mod file;
mod fork;
mod json;
mod lower;
mod memory;
mod notes;
mod objects;
mod sched;
mod task;

pub use notes::{RtAppError, Warning};

use crate::program::Workload;
use notes::Notes;

/// What a file says, and what of it could not be taken as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// One program, named after the file.
    pub workload: Workload,
    /// Keys that are not supported or that are played differently from rt-app, in the order of their lines.
    pub warnings: Vec<Warning>,
}

/// Loads the text of an rt-app file. `name` is the file's path: it names the program (without folder and extension)
/// and stands in messages. Nothing is opened.
///
/// # Errors
/// The first thing in the text that rt-app could not run either, or that has no meaning here, with its line.
pub fn load(name: &str, text: &str) -> Result<Imported, RtAppError> {
    let text = bare::completed(text);
    let mut notes = Notes::new(name, &text);
    let file = file::read(&mut notes, &text)?;
    let workload = lower::lower(&file, &mut notes)?;
    Ok(Imported { workload, warnings: notes.into_warnings() })
}
