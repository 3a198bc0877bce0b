//! Instructions that threads retire, and what they stall on, where the machine has a PMU.
//!
//! From instructions the speedup of a thread is measured rather than predicted ([`Rates`](super::Rates)); stalls are what `bias` reads
//! ([`super::stalls`]). Machines with several core types have a PMU for each, which counts only while the thread runs on its cores.

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::rc::Rc;

use evenkeel_model::Instructions;
use evenkeel_sched::{Description, Reads, Scheduler};
use perf_event::{Counter, ReadFormat};
use rustix::process::{Resource, getrlimit};

use super::stalls::StallEvents;
use crate::counts::{Counts, StallCounts};
use crate::event::Tid;
use crate::pmu::{self, Event, Pmu};

/// Counts for one thread.
pub trait Read {
    /// All that has been counted since this was opened.
    ///
    /// # Errors
    /// Nothing is counted any more.
    fn read(&mut self) -> io::Result<Counts>;
}

/// Where counters come from.
pub trait Source {
    /// Begins to count what is read of a thread.
    ///
    /// # Errors
    /// It cannot be counted: `ESRCH` if there is no such thread, `EMFILE` if too many are, anything else if no more are to be
    /// opened.
    fn open(&mut self, tid: Tid, reads: Reads) -> io::Result<Box<dyn Read>>;
}

/// The counters of threads, of what a policy reads.
pub struct ThreadCounters {
    source: Box<dyn Source>,
    policy: &'static Description,
    /// Threads that cannot be counted have nothing to read.
    open: BTreeMap<Tid, Option<Box<dyn Read>>>,
    /// A thread has been counted.
    counted: bool,
    /// Why a thread is not counted.
    refused: Option<String>,
    /// Nothing more is opened.
    barred: bool,
}

impl ThreadCounters {
    /// Those of a source, for a scheduler; `None` if counting changes nothing of what it does.
    pub fn new(source: Box<dyn Source>, scheduler: &Scheduler) -> Option<Self> {
        let policy = scheduler.counts_for()?;
        Some(Self { source, policy, open: BTreeMap::new(), counted: false, refused: None, barred: false })
    }

    /// All that has been counted of a living thread since the first call for it; `None` if it cannot be counted.
    pub fn count(&mut self, tid: Tid) -> Option<Counts> {
        let mut reader = match self.open.remove(&tid) {
            Some(reader) => reader,
            None if self.barred => None,
            None => self.source.open(tid, self.policy.reads).map_err(|error| self.refuse(&error)).ok(),
        };
        let read =
            |reader: &mut Box<dyn Read>| reader.read().map_err(|error| self.refused = Some(error.to_string())).ok();
        let counts = reader.as_mut().and_then(read);
        self.counted |= counts.is_some();
        self.open.insert(tid, reader.filter(|_| counts.is_some()));
        counts
    }

    fn refuse(&mut self, error: &io::Error) {
        // The thread has gone meanwhile.
        if error.raw_os_error() != Some(libc::ESRCH) {
            self.barred = error.raw_os_error() != Some(libc::EMFILE);
            self.refused = Some(error.to_string());
        }
    }

    /// A thread is gone.
    pub fn gone(&mut self, tid: Tid) {
        self.open.remove(&tid);
    }

    /// Whether threads can be counted, as far as is known.
    pub fn able(&self) -> bool {
        !self.barred
    }

    /// What is not counted, why, and what the policy does without.
    pub fn missing(&self) -> Option<String> {
        let why = self.refused.as_ref()?;
        let (what, without) = match self.policy.reads {
            Reads::Stalls { without } => ("counters of stalls", format!("{} {without}", self.policy.name)),
            Reads::Speedups | Reads::Nothing => {
                ("hardware counters", "a thread counts as gaining from a big core what capacities say".into())
            }
        };
        let what = if self.counted { format!("There are {what} for some threads only") } else { format!("No {what}") };
        Some(format!("{what}: {why}. Without them {without}."))
    }
}

/// The machine's PMUs.
pub struct Perf {
    pmus: Vec<Events>,
    /// How many more files may be opened.
    files: Rc<Cell<usize>>,
}

/// The events of a PMU.
struct Events {
    instructions: Event,
    /// Or what it lacks.
    stalls: Result<StallEvents, String>,
}

impl Perf {
    /// Those of this machine.
    pub fn of_this_machine() -> Self {
        Self::of(Path::new("/"))
    }

    /// Those that `/sys` below `root` lists.
    fn of(root: &Path) -> Self {
        let events = |pmu: &Pmu| Events { instructions: pmu.instructions(), stalls: StallEvents::of(pmu) };
        Self { pmus: pmu::of_threads(root).iter().map(events).collect(), files: Rc::new(Cell::new(files())) }
    }
}

/// Half of the files that this process may open; the others are for all else.
fn files() -> usize {
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |most| most as usize) / 2
}

impl Source for Perf {
    fn open(&mut self, tid: Tid, reads: Reads) -> io::Result<Box<dyn Read>> {
        let stalls = matches!(reads, Reads::Stalls { .. });
        let files = Files::of(&self.files, self.pmus.len() * if stalls { 3 } else { 1 })?;
        let groups = self.pmus.iter().map(|events| Group::open(tid, events, stalls));
        Ok(Box::new(Each { groups: groups.collect::<io::Result<_>>()?, _files: files }))
    }
}

/// Files that may be opened, until this is dropped.
struct Files {
    left: Rc<Cell<usize>>,
    count: usize,
}

impl Files {
    fn of(left: &Rc<Cell<usize>>, count: usize) -> io::Result<Self> {
        let rest = left.get().checked_sub(count).ok_or_else(|| io::Error::from_raw_os_error(libc::EMFILE))?;
        left.set(rest);
        Ok(Self { left: Rc::clone(left), count })
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.left.set(self.left.get() + self.count);
    }
}

/// Counters of one PMU that count at the same times, so that their ratios are true.
struct Group {
    instructions: Counter,
    stalls: Option<StallCounters>,
}

struct StallCounters {
    starved: Counter,
    in_a_cycle: u64,
    requests: Counter,
}

impl Group {
    fn open(tid: Tid, events: &Events, stalls: bool) -> io::Result<Self> {
        // Only the program's own code is counted, which needs fewer privileges.
        let of_thread = |event: Event| {
            let mut builder = event.builder();
            builder.observe_pid(tid as libc::pid_t).any_cpu();
            builder
        };
        let mut leader = of_thread(events.instructions);
        // Pinned: what is counted is exact, nothing is extrapolated.
        leader.pinned(true).read_format(ReadFormat::GROUP);
        let mut instructions = leader.build().map_err(pmu::refused)?;
        let mut stall_counters = None;
        if stalls {
            let events = events.stalls.as_ref().map_err(|lacks| io::Error::other(lacks.as_str()))?;
            let mut beside = |event: Event| {
                of_thread(event).enabled(true).build_with_group(&mut instructions).map_err(refused_beside)
            };
            let (starved, requests) = (beside(events.starved)?, beside(events.requests)?);
            stall_counters = Some(StallCounters { starved, in_a_cycle: events.in_a_cycle, requests });
        }
        instructions.enable()?;
        Ok(Self { instructions, stalls: stall_counters })
    }

    fn read(&mut self) -> io::Result<Counts> {
        let counted = self.instructions.read_group()?;
        let count = |counter: &Counter| counted.get(counter).map_or(0, |entry| entry.value());
        let stalls = self.stalls.as_ref().map(|stalls| StallCounts {
            starved: count(&stalls.starved) / stalls.in_a_cycle,
            requests: count(&stalls.requests),
        });
        Ok(Counts { instructions: Instructions(count(&self.instructions)), stalls })
    }
}

/// Why an event of stalls cannot be counted beside instructions.
fn refused_beside(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EINVAL | libc::ENOENT | libc::EOPNOTSUPP) => io::Error::other(format!(
            "the PMU does not count its events of stalls together with instructions ({error})"
        )),
        _ => error,
    }
}

/// A group of each PMU.
struct Each {
    groups: Vec<Group>,
    _files: Files,
}

impl Read for Each {
    fn read(&mut self) -> io::Result<Counts> {
        let mut groups = self.groups.iter_mut().map(Group::read);
        let mut all = groups.next().transpose()?.unwrap_or_default();
        for counts in groups {
            all += counts?;
        }
        Ok(all)
    }
}
