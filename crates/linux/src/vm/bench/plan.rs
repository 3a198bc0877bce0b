//! What is measured, and what the measurements need of their caller.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::error::Error;
use super::estimate::Size;
use super::programs::Bench;
use super::result::Measured;
use crate::spec::Spec;
use crate::vm;

/// The guest's own scheduler.
pub const STOCK: &str = "stock";

/// What is measured, and how often.
#[derive(Debug)]
pub struct Plan {
    /// The machines.
    pub specs: Vec<Spec>,
    /// What runs on each.
    pub benches: Vec<&'static Bench>,
    /// Policies to compare with the guest's own scheduler.
    pub policies: Vec<String>,
    /// How often each bench runs under each scheduler.
    pub repeat: u32,
    /// How long a run takes at best.
    pub seconds: f64,
    /// The guests' kernel.
    pub kernel: PathBuf,
}

/// What the measurements need of the program that makes them.
pub trait Caller {
    /// Why it failed.
    type Error: From<Error> + From<vm::Error>;

    /// The command that records a command, inside the guest, into a file.
    ///
    /// # Errors
    /// There is none.
    fn recording(&self, spec: &Spec, file: &Path, command: &[String]) -> Result<Vec<String>, Self::Error>;

    /// The command that runs a command under a policy, inside the guest.
    ///
    /// # Errors
    /// There is none.
    fn under(&self, spec: &Spec, policy: &str, command: &[String]) -> Result<Vec<String>, Self::Error>;

    /// How long the recorded command would take under each scheduler, in seconds. Its programs say that they took `took` seconds.
    ///
    /// # Errors
    /// The recording is unusable.
    fn predict(&self, recording: &Path, took: f64, schedulers: &[&str]) -> Result<Vec<f64>, Self::Error>;

    /// A run begins; what it is.
    fn begins(&mut self, what: &str);

    /// One of [`Plan::runs`] is done.
    fn done(&mut self);

    /// What the user should know.
    fn warn(&mut self, text: &str);

    /// A machine is done.
    ///
    /// # Errors
    /// That cannot be printed.
    fn measured(&mut self, machine: &Measured) -> Result<(), Self::Error>;
}

impl Plan {
    /// How many runs all machines take.
    pub fn runs(&self) -> usize {
        self.specs.len() * self.size().runs()
    }

    /// About how many seconds they take.
    pub fn estimate(&self) -> f64 {
        self.size().estimate(&self.specs)
    }

    fn size(&self) -> Size {
        let programs: BTreeSet<&str> = self.benches.iter().flat_map(|bench| bench.programs).copied().collect();
        Size {
            benches: self.benches.len(),
            programs: programs.len(),
            schedulers: 1 + self.policies.len(),
            repeat: self.repeat as usize,
            seconds: self.seconds,
        }
    }
}
