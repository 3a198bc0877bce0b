//! The CPU time that a program has used by the kernel's own account, which has also what no sample saw: threads that began
//! and ended between two samples, and the last moments of others.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use evenkeel_model::Ns;

use super::proc::started_by;
use crate::clock::children_time;
use crate::event::Tid;
use crate::process;
use crate::sample::Sample;

/// The account of the kernel.
pub(super) enum Used {
    /// Of a child of this process and all that descends from it: exact for all that have ended and were waited for.
    Child {
        /// What other children had used before.
        before: Ns,
    },
    /// Of any process, its ended threads and the children that it has waited for.
    Process {
        /// Which.
        process: Tid,
        /// What it had used before it was followed.
        before: Ns,
        /// What it had used when it was last there.
        last: Ns,
        /// What it had started by then, parents before their children.
        earlier: Vec<Earlier>,
    },
}

/// A process that was there before it was followed.
pub(super) struct Earlier {
    process: Tid,
    parent: Tid,
    /// What it had used by then.
    used: Ns,
}

impl Used {
    /// Of a child that has not begun: what it has used so far is what it took to start it.
    pub fn of_child(child: Tid) -> Self {
        let own = schedstat(child).unwrap_or_default();
        Self::Child { before: children_time() + own }
    }

    /// Of a process that runs.
    pub fn of_process(process: Tid) -> Self {
        let before = stat(process).unwrap_or_default();
        let (mut earlier, mut parents) = (Vec::new(), vec![process]);
        while let Some(parent) = parents.pop() {
            let children = started_by(parent);
            let known = |child: &Tid| Earlier { process: *child, parent, used: stat(*child).unwrap_or_default() };
            earlier.extend(children.iter().map(known));
            parents.extend(children);
        }
        Self::Process { process, before, last: before, earlier }
    }

    /// To be called while the process may still be there.
    pub fn update(&mut self) {
        if let Self::Process { process, last, .. } = self
            && let Some(now) = stat(*process)
        {
            *last = now;
        }
    }

    /// The part of a living thread's time that the kernel's account lacks.
    pub fn of_living(&self, sample: &Sample) -> Ns {
        match self {
            Self::Process { process, .. } if sample.process == *process => Ns::ZERO,
            _ => Ns(sample.run.iter().map(|run| run.0).sum()),
        }
    }

    /// All time since following began, given [`Self::of_living`] of all that live.
    pub fn total(&self, living: Ns) -> Ns {
        living
            + match self {
                Self::Child { before } => children_time().since(*before),
                Self::Process { process, before, last, earlier } => last.since(*before + added(*process, earlier)),
            }
    }
}

/// What the kernel has added to the account of a process although it was used before: that of earlier processes that have ended and were
/// waited for, with all between them and it.
fn added(process: Tid, earlier: &[Earlier]) -> Ns {
    let (mut waited_for, mut sum) = (BTreeSet::from([process]), Ns::ZERO);
    for child in earlier {
        if waited_for.contains(&child.parent) && !Path::new(&format!("/proc/{}", child.process)).exists() {
            waited_for.insert(child.process);
            sum += child.used;
        }
    }
    sum
}

/// The time that the only thread of a process has run.
fn schedstat(process: Tid) -> Option<Ns> {
    let text = fs::read_to_string(format!("/proc/{process}/schedstat")).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok().map(Ns)
}

/// The time of a process, its ended threads, and the children that it has waited for, in clock ticks.
fn stat(process: Tid) -> Option<Ns> {
    let text = process::text(format!("/proc/{process}/stat")).ok()?;
    // `utime`, `stime`, `cutime` and `cstime` are the fields 14 to 17; field 3 is the first after the name.
    let fields = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace().skip(11).take(4);
    let ticks: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
    Some(Ns(ticks * (1_000_000_000 / rustix::param::clock_ticks_per_second().max(1))))
}
