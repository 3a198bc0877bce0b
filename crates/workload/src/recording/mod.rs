//! Recordings: what the threads of a real run did, as a workload that any machine can play. `docs/recording.md` describes
//! the format (`.ek`) and what a recording can and cannot tell.
//!
//! Every thread has a semaphore of its own. A wake-up of the recorded run is a post of the woken thread's semaphore, the
//! wait before it an acquire. So cause comes before effect on every machine, and a thread does not wait for a wake-up
//! that has already come.

mod check;
mod lower;
mod read;
mod step;
mod write;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use evenkeel_model::{Machine, Ns};

pub use step::Step;

use crate::program::{Start, ThreadKind, Workload};

/// The version of the format that is written, and the only one that is read.
pub const VERSION: u32 = 1;

/// No amount of time or work is larger: 11 days in nanoseconds.
pub const MAX_AMOUNT: u64 = 1_000_000_000_000_000;

/// How fast code can be, in instructions per ns.
pub const RATES: RangeInclusive<f64> = 1e-3..=1e3;

/// A rate as a recording has it: in millionths, since no two runs agree on more, and one of [`RATES`].
pub fn rate(measured: f64) -> f64 {
    ((1e6 * measured).round() / 1e6).clamp(*RATES.start(), *RATES.end())
}

/// A recorded run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// The command with its arguments; empty if it is not known.
    pub command: Vec<String>,
    /// The machine that it ran on: the text of a machine file.
    pub machine: Option<String>,
    /// How long the recorded run took.
    pub makespan: Ns,
    /// How long it took there from a wake-up until the thread ran on a CPU that was idle, if that was measured.
    pub wake: Option<Ns>,
    /// Whether [`Step::Run`] counts instructions. Else it counts nanoseconds on the biggest core of `machine` at its
    /// highest frequency.
    pub counted: bool,
    /// What a reader should know, such as events that were lost. A sentence each.
    pub notes: Vec<String>,
    /// The threads, in the order in which they appeared.
    pub threads: Vec<RecordedThread>,
}

/// What one thread did.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedThread {
    /// Its name, which others may share.
    pub name: String,
    /// The process that it belongs to, counted from 0.
    pub process: u32,
    /// Whether it does the program's work or serves the runtime system.
    pub kind: ThreadKind,
    /// When it began: after so much of the recording, or when another thread spawned it.
    pub start: Start,
    /// Instructions per ns on each core type of the recording's machine, biggest first; `None` where it hardly ran. Empty
    /// where instructions are not counted, or their rate is unknown.
    pub rates: Vec<Option<f64>>,
    /// What it did, in order; then it exited, or the recording ended.
    pub steps: Vec<Step>,
}

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

/// The threads that come to each barrier, by its number; both ascending.
fn barriers(threads: &[RecordedThread]) -> BTreeMap<u32, Vec<usize>> {
    let mut parties: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (position, thread) in threads.iter().enumerate() {
        for step in &thread.steps {
            let Step::Barrier(barrier) = step else { continue };
            let parties = parties.entry(*barrier).or_default();
            if parties.last() != Some(&position) {
                parties.push(position);
            }
        }
    }
    parties
}

/// What the threads of each pool share out, by its number.
fn pools(threads: &[RecordedThread]) -> BTreeMap<u32, Pool> {
    let mut pools: BTreeMap<u32, Pool> = BTreeMap::new();
    for (position, thread) in threads.iter().enumerate() {
        for step in &thread.steps {
            let Step::Share { pool, amount } = *step else { continue };
            let pool = pools.entry(pool).or_default();
            pool.threads.push(position);
            pool.work = pool.work.saturating_add(amount);
        }
    }
    pools
}

/// Work that several threads do, each as much as it comes to.
#[derive(Debug, Default)]
struct Pool {
    /// Who takes part, ascending; a thread that does so twice stands there twice.
    threads: Vec<usize>,
    /// All of it, in units of [`Step::Run`].
    work: u64,
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
