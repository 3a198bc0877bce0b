//! What is measured, and what the measurements need of their caller.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use evenkeel_model::Ns;

use super::benches::{Bench, Member};
use super::error::Error;
use super::estimate::Size;
use super::predicted::Played;
use super::result::Measured;
use super::scheduler::{Host, Scheduler};
use crate::spec::Spec;
use crate::vm;

/// What is measured, and how often.
#[derive(Debug)]
pub struct Plan {
    /// The machines.
    pub specs: Vec<Spec>,
    /// What runs on each.
    pub benches: Vec<Bench>,
    /// The schedulers, the guest's own first.
    pub schedulers: Vec<Scheduler>,
    /// How often each machine is booted. How fast its cores and its emulator are differs between boots.
    pub boots: u32,
    /// How often each bench runs under each scheduler in each boot.
    pub repeat: u32,
    /// How long a run takes at best, beside the user's own programs.
    pub seconds: f64,
    /// Where the user's own programs run, which they may write to; `None` if there are none.
    pub directory: Option<PathBuf>,
    /// The guests' kernel.
    pub kernel: PathBuf,
}

/// What the measurements need of the program that makes them.
pub trait Caller {
    /// Why it failed.
    type Error: From<Error> + From<vm::Error> + Display;

    /// The command that records a command, inside the guest, into a file.
    ///
    /// # Errors
    /// There is none.
    fn recording(&self, spec: &Spec, file: &Path, command: &[String]) -> Result<Vec<String>, Self::Error>;

    /// The command that runs a command under a scheduler that is not the guest's own, inside the guest.
    ///
    /// # Errors
    /// There is none.
    fn under(&self, spec: &Spec, scheduler: &Scheduler, command: &[String]) -> Result<Vec<String>, Self::Error>;

    /// The command that measures what switching threads costs, inside the guest, into a machine file.
    ///
    /// # Errors
    /// There is none.
    fn measuring(&self, file: &Path) -> Result<Vec<String>, Self::Error>;

    /// Plays the recorded programs of a bench several times under each scheduler, in its order.
    /// A switch between two threads takes as long as the recording says, unless it was measured under the scheduler. Everything takes
    /// longer in a guest that is emulated. The recording's file will be replaced.
    ///
    /// # Errors
    /// The recording is unusable.
    fn predict(
        &self,
        recording: &Path,
        bench: &Bench,
        schedulers: &[(&Scheduler, Option<Ns>)],
        emulated: bool,
    ) -> Result<Vec<Vec<Played>>, Self::Error>;

    /// Whether to continue with other runs after one that ended with this error.
    fn continues_after(&self, error: &Self::Error) -> bool;

    /// A run begins; what it is.
    fn begins(&mut self, what: &str);

    /// One of [`Plan::runs`] is done.
    fn done(&mut self);

    /// What the user should know.
    fn warn(&mut self, text: &str);

    /// A machine is done, or as much of it as there is before [`Plan::measure`] fails.
    ///
    /// # Errors
    /// That cannot be printed.
    fn measured(&mut self, machine: Measured) -> Result<(), Self::Error>;
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

    /// Every program of the benches with each of its numbers of threads, once.
    pub(super) fn members(&self) -> BTreeSet<Member> {
        self.benches.iter().flat_map(|bench| &bench.members).cloned().collect()
    }

    /// The schedulers that the simulator knows.
    pub(super) fn known(&self) -> Vec<&Scheduler> {
        self.schedulers.iter().filter(|scheduler| scheduler.host != Host::Peer).collect()
    }

    /// Whether there is anything that the simulator plays.
    pub(super) fn predicts(&self) -> bool {
        self.benches.iter().any(Bench::computes)
    }

    fn size(&self) -> Size {
        let loads = |scheduler: &Scheduler| !matches!(scheduler.host, Host::Stock | Host::Run);
        let known = if self.predicts() { self.known() } else { Vec::new() };
        Size {
            known: known.len(),
            known_loaded: known.iter().filter(|scheduler| loads(scheduler)).count(),
            loaded: self.schedulers.iter().filter(|scheduler| loads(scheduler)).count(),
            benches: self.benches.len(),
            members: self.members().len(),
            schedulers: self.schedulers.len(),
            boots: self.boots as usize,
            repeat: self.repeat as usize,
            seconds: self.seconds,
        }
    }
}
