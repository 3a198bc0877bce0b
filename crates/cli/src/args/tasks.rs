//! How a task-parallel program is run: what the command line puts in place of what the program says.

use clap::{Args, ValueEnum};
use evenkeel_workload::program::{MainThread, ReadyQueue};

/// `--tasks` and `--main`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Tasks {
    /// Which ready task a worker takes, of programs made of tasks; else as the program says
    #[arg(long = "tasks", value_name = "QUEUE", value_enum)]
    pub ready: Option<Queue>,
    /// Where the thread runs that creates the tasks; else as the program says
    #[arg(long, value_name = "WHERE", value_enum)]
    pub main: Option<Main>,
}

/// Ready queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
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

/// Places of the main thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Main {
    /// On whichever worker is free first
    Default,
    /// On a big core
    Big,
    /// On a little core
    Little,
}

impl From<Tasks> for evenkeel_experiment::Tasks {
    fn from(tasks: Tasks) -> Self {
        Self { ready: tasks.ready.map(Into::into), main: tasks.main.map(Into::into) }
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
