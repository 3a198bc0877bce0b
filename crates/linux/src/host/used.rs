//! The CPU time that a program has used by the kernel's own account, which has also what no sample saw: threads that began
//! and ended between two samples, and the last moments of others.

use std::collections::BTreeSet;
use std::fs;

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
        /// What the kernel had added by then although it was used before.
        added: Ns,
    },
}

/// A process that was there before it was followed.
pub(super) struct Earlier {
    process: Tid,
    /// As it was last seen to be.
    parent: Tid,
    /// What it had used before.
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
        Self::Process { process, before, last: before, earlier, added: Ns::ZERO }
    }

    /// To be called after all living threads were sampled, while the process may still be there.
    pub fn update(&mut self, samples: &[Sample]) {
        if let Self::Process { process, last, earlier, added, .. } = self
            && let Some(now) = stat(*process)
        {
            *last = now;
            let living = samples.iter().map(|sample| sample.process).collect();
            *added = waited_for(*process, earlier, &living);
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
                Self::Process { before, last, added, .. } => last.since(*before + *added),
            }
    }
}

/// What the kernel has added to the account of a process although it was used before: that of earlier processes that have ended and were
/// waited for, with all between them and it. One whose parent ends first gets another, which waits for it. Only where a process does not live
/// can that be otherwise than before.
fn waited_for(process: Tid, earlier: &mut [Earlier], living: &BTreeSet<Tid>) -> Ns {
    let (mut waited_for, mut sum) = (BTreeSet::from([process]), Ns::ZERO);
    for child in earlier {
        if living.contains(&child.process) && living.contains(&child.parent) {
            continue;
        }
        match process::parent(child.process) {
            Some(parent) => child.parent = parent,
            None if waited_for.contains(&child.parent) => {
                waited_for.insert(child.process);
                sum += child.used;
            }
            None => {}
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

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    const BUSY: Ns = Ns::from_ms(200);

    /// What is added for a shell whose child has a busy child of its own. The child ends, and the busy one later or, if the child waits for
    /// it, before.
    fn added(waits: bool) -> Ns {
        let line = "ulimit -t 60; sh -c 'sh -c \"while :; do :; done\" & echo $!; read go; $0' $0; echo; read go";
        let mut command = Command::new("sh");
        command.args(["-c", line, if waits { "wait" } else { ":" }]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = command.spawn().unwrap();
        let (mut go, mut said) = (shell.stdin.take().unwrap(), BufReader::new(shell.stdout.take().unwrap()));
        let mut next = || {
            let mut line = String::new();
            said.read_line(&mut line).unwrap();
            line
        };
        let busy: Tid = next().trim().parse().unwrap();
        let pause = || std::thread::sleep(Duration::from_millis(5));
        while stat(busy).unwrap() < BUSY {
            pause();
        }
        let mut used = Used::of_process(shell.id());
        let end = || {
            kill_process(Pid::from_raw(busy as i32).unwrap(), Signal::KILL).unwrap();
            while process::runs(busy) {
                pause();
            }
        };
        if waits {
            end();
        }
        go.write_all(b"\n").unwrap();
        next();
        used.update(&[]);
        if !waits {
            end();
            used.update(&[]);
        }
        drop(go);
        shell.wait().unwrap();
        let Used::Process { added, .. } = used else { panic!("it is one that ran") };
        added
    }

    #[test]
    fn only_what_was_waited_for_is_added() {
        let (all, rest) = (added(true), added(false));
        assert!(all >= BUSY && rest < BUSY, "{all}, and {rest} where the busy one's parent had ended");
    }
}
