//! Processes of a followed command whose parents have ended. They become children of this process, so that they are found,
//! and what they have used is known when they end.

use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, waitpid};

use crate::event::Tid;
use crate::process;

/// The orphans of a command that this process has started.
#[derive(Debug)]
pub(crate) struct Orphans {
    /// Children that are none: the command, and those that this process had before, if another program of its number started them.
    others: Vec<Tid>,
}

impl Orphans {
    /// From now on orphans of the command become children of this process.
    pub fn of(command: Tid) -> Self {
        // Without it they are not found, as before Linux 3.4.
        let _ = set_child_subreaper(Some(getpid()));
        let mut others = process::children(std::process::id());
        others.push(command);
        Self { others }
    }

    /// The processes that have become children of this one and still run. `other` is a child that is none.
    pub fn living(&self, other: Tid) -> Vec<Tid> {
        let children = process::children(std::process::id());
        // One that has ended is waited for by its parent, which this process is now.
        let runs = |child: &Tid| !matches!(waitpid(Pid::from_raw(*child as i32), WaitOptions::NOHANG), Ok(Some(_)));
        children.into_iter().filter(|child| !self.others.contains(child) && *child != other).filter(runs).collect()
    }
}
