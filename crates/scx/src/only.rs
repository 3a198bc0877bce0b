//! Scheduling a process or a control group, while the rest stays with the kernel's own scheduler.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::{fmt, io};

use evenkeel_linux::event::Tid;
use evenkeel_linux::realtime::Ordinary;
use evenkeel_linux::{cgroup, process, realtime};

/// What is scheduled, if not all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Only {
    /// A process, and all that it starts.
    Process(Tid),
    /// A control group, and all groups in it: its folder.
    Group(PathBuf),
}

impl fmt::Display for Only {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(process) => write!(f, "process {process}"),
            Self::Group(folder) => write!(f, "the control group {}", folder.display()),
        }
    }
}

/// Threads that were made those of the class SCHED_EXT, with what they start. They are ordinary ones again when this is dropped.
#[derive(Debug)]
pub(crate) struct Chosen<'a> {
    only: &'a Only,
    /// Those that were of the class before, for another reason or since this was killed: the kernel has them scheduled, too.
    others: BTreeSet<Tid>,
    /// Those that were chosen, with what is known of what they were before.
    classes: BTreeMap<Tid, Ordinary>,
}

impl<'a> Chosen<'a> {
    /// # Errors
    /// There is none, or this user may not.
    pub fn of(only: &'a Only) -> io::Result<Self> {
        let mut chosen = Self { only, others: of_class().collect(), classes: BTreeMap::new() };
        chosen.join()?;
        Ok(chosen)
    }

    /// Adds what is there now. What they start is of the class from the beginning; what joins a group later is when this is called again.
    pub fn join(&mut self) -> io::Result<()> {
        // Threads that start meanwhile are started by threads that are in it already, or are found in the next round.
        let mut seen = BTreeSet::new();
        loop {
            let threads = match self.only {
                Only::Process(process) => process::family(*process)?,
                Only::Group(folder) => cgroup::threads(folder)?,
            };
            let new: Vec<Tid> = threads.into_iter().filter(|tid| seen.insert(*tid)).collect();
            if new.is_empty() {
                return Ok(());
            }
            for tid in new {
                match realtime::ext(tid) {
                    Ok(class) => {
                        self.others.remove(&tid);
                        self.classes.entry(tid).or_insert(class.unwrap_or_default());
                    }
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }

    /// Whether there is nothing left to schedule, with so many threads that are scheduled, and nothing can come.
    pub fn gone(&self, living: u64) -> bool {
        match self.only {
            Only::Process(process) => {
                !process::runs(*process) && (living == 0 || of_class().all(|tid| self.other(tid)))
            }
            Only::Group(folder) => !folder.exists(),
        }
    }

    /// Whether a thread of the class has it from those that had it before, and not from one that was chosen: it, its process, and what
    /// started that, from the nearest on.
    fn other(&self, tid: Tid) -> bool {
        let parent = |process: &Tid| process::parent(*process).filter(|parent| *parent > 1);
        let before = std::iter::successors(process::of(tid), parent);
        let mut known = std::iter::once(tid).chain(before).filter_map(|tid| {
            if self.classes.contains_key(&tid) { Some(false) } else { self.others.contains(&tid).then_some(true) }
        });
        known.next().unwrap_or(false)
    }
}

impl Drop for Chosen<'_> {
    fn drop(&mut self) {
        let mut seen = BTreeSet::new();
        loop {
            // What they start meanwhile is of the class, if they still are.
            let new: Vec<Tid> = of_class().filter(|tid| !self.other(*tid) && seen.insert(*tid)).collect();
            if new.is_empty() {
                return;
            }
            for tid in new {
                // It may end meanwhile.
                let _ = realtime::ordinary(tid, self.classes.get(&tid).copied().unwrap_or_default());
            }
        }
    }
}

/// The threads of the class SCHED_EXT.
fn of_class() -> impl Iterator<Item = Tid> {
    let threads = process::all().into_iter().flat_map(|process| process::threads(process).unwrap_or_default());
    threads.filter(|tid| realtime::is_ext(*tid))
}
