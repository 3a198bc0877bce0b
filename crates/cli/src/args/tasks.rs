//! How a task-parallel program is run: what the command line puts in place of what the program says.

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use evenkeel_workload::Workload;
use evenkeel_workload::program::{MainThread, ReadyQueue};
use serde::Deserialize;

/// `--tasks` and `--main`.
#[derive(Clone, Debug, Default, Args)]
pub struct Tasks {
    /// Which ready task a worker takes, of programs made of tasks; else as the program says
    #[arg(long = "tasks", value_name = "QUEUE", value_enum)]
    pub ready: Option<Queue>,
    /// Where the thread runs that creates the tasks; else as the program says
    #[arg(long, value_name = "WHERE", value_enum)]
    pub main: Option<Main>,
}

/// Ready queues, on the command line and in experiment files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Queue {
    /// The oldest, from one queue with a lock
    Fifo,
    /// The newest of its own queue, else the oldest of another's
    Steal,
    /// Critical tasks on big cores
    Cats,
    /// Each task where it ends first, with all costs known
    Heft,
}

/// Places of the main thread, likewise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Main {
    /// On whichever worker is free first
    Default,
    /// On a big core
    Big,
    /// On a little core
    Little,
}

impl Tasks {
    /// Changes a workload.
    ///
    /// # Errors
    /// There is something to change, but no task in it.
    pub fn apply(&self, workload: &mut Workload) -> Result<()> {
        if self.ready.is_none() && self.main.is_none() {
            return Ok(());
        }
        let mut found = false;
        for tasking in workload.programs.iter_mut().filter_map(|program| program.tasking.as_mut()) {
            found = true;
            tasking.ready = self.ready.map_or(tasking.ready, Into::into);
            tasking.main = self.main.map_or(tasking.main, Into::into);
        }
        if !found {
            let option = if self.ready.is_some() { "--tasks" } else { "--main" };
            bail!("{option} is for programs made of tasks, and {} has none: leave it out", workload.name);
        }
        Ok(())
    }
}

impl From<Queue> for ReadyQueue {
    fn from(queue: Queue) -> Self {
        match queue {
            Queue::Fifo => Self::Fifo,
            Queue::Steal => Self::Steal,
            Queue::Cats => Self::Cats,
            Queue::Heft => Self::Heft,
        }
    }
}

impl From<Main> for MainThread {
    fn from(main: Main) -> Self {
        match main {
            Main::Default => Self::Default,
            Main::Big => Self::Big,
            Main::Little => Self::Little,
        }
    }
}
