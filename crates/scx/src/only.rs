//! Scheduling a process or a control group, while the rest stays with the kernel's own scheduler.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use evenkeel_linux::event::Tid;
use evenkeel_linux::{cgroup, process, realtime};

/// What is scheduled, if not all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Only {
    /// A process, and all that it starts.
    Process(Tid),
    /// A control group, and all groups in it: its folder.
    Group(PathBuf),
}

impl Only {
    /// Whether there is nothing left to schedule, with so many threads that are scheduled, and nothing can come.
    pub(crate) fn gone(&self, living: u64) -> bool {
        match self {
            Self::Process(process) => living == 0 && !Path::new(&format!("/proc/{process}")).exists(),
            Self::Group(folder) => !folder.exists(),
        }
    }
}

impl fmt::Display for Only {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(process) => write!(f, "process {process}"),
            Self::Group(folder) => write!(f, "the control group {}", folder.display()),
        }
    }
}

/// Makes threads those of the class SCHED_EXT. What they start is so from the beginning; what joins a group later is when this is
/// called again.
pub(crate) fn adopt(only: &Only) -> io::Result<()> {
    // Threads that start meanwhile are started by threads that are adopted already, or are found in the next round.
    let mut adopted = BTreeSet::new();
    loop {
        let threads = match only {
            Only::Process(process) => process::family(*process)?,
            Only::Group(folder) => cgroup::threads(folder)?,
        };
        let new: Vec<Tid> = threads.into_iter().filter(|tid| adopted.insert(*tid)).collect();
        if new.is_empty() {
            return Ok(());
        }
        for tid in new {
            match realtime::ext(tid) {
                Err(error) if error.raw_os_error() != Some(libc::ESRCH) => return Err(error),
                _ => {}
            }
        }
    }
}
