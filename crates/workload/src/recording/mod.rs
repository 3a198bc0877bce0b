//! Recordings: what the threads of a real run did, as a workload that any machine can play. `docs/recording.md` describes
//! the format (`.ek`) and what a recording can and cannot tell.
//!
//! Every thread has a semaphore of its own, and so has every item that threads took from a queue. A wake-up of the recorded run is a post of the
//! woken one's semaphore, the wait before it an acquire. So cause comes before effect on every machine, and a thread does not wait for a wake-up
//! that has already come. An item whose result is waited for posts a second semaphore once it is done, as often as it is waited for.

mod advance;
mod check;
mod division;
mod groups;
mod limits;
mod lower;
mod read;
mod recorded;
mod step;
mod write;

use evenkeel_model::Machine;

pub use division::Division;
pub use limits::{MAX_AMOUNT, RATES, VERSION, rate};
pub use recorded::{RecordedItem, RecordedThread, Recording};
pub use step::Step;

use crate::program::Workload;

/// Why a recording cannot be loaded: where, what was found and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct RecordingError {
    /// The file, as the caller named it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, what was expected, and what to do.
    pub message: String,
}

impl Recording {
    /// Reads the text of a recording. `file` stands in messages; nothing is opened. A recording that loads comes to its
    /// end on every machine: no thread waits for a wake-up that never comes.
    ///
    /// # Errors
    /// Text in another format, a thread that refers to one that is not there, a wait without end.
    pub fn from_text(text: &str, file: &str) -> Result<Self, RecordingError> {
        let error = |(line, message)| RecordingError { file: file.to_owned(), line, message };
        let (recording, lines) = read::read(text).map_err(error)?;
        check::check(&recording).map_err(|(thread, message)| error((lines.of(thread), message)))?;
        Ok(recording)
    }

    /// The text of the file.
    pub fn to_text(&self) -> String {
        write::write(self)
    }

    /// The run as a workload of one program. `name` names both. With the machine that it ran on, time on that machine
    /// becomes instructions, of which a faster machine does more; without, the biggest cores of all machines count as
    /// equally fast. Instructions that were counted become code that is as fast there as it was.
    pub fn workload(&self, name: &str, ran_on: Option<&Machine>) -> Workload {
        lower::lower(self, name, ran_on)
    }
}
