//! Arguments of the commands that work with real programs.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use evenkeel_model::Ns;

use super::{Output, duration};

/// Which of the machine's cores are fast.
#[derive(Clone, Debug, Default, Args)]
pub struct Cores {
    /// The big cores, as a CPU list: 0-3,6
    #[arg(long, value_name = "CPUS")]
    pub big: Option<String>,
    /// The little cores, as a CPU list
    #[arg(long, value_name = "CPUS")]
    pub little: Option<String>,
    /// How many times faster a big core is than a little one
    #[arg(long, value_name = "TIMES", requires = "little")]
    pub ratio: Option<f64>,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct Run {
    /// Scheduling policy
    #[arg(long, short, default_value = "pfs")]
    pub policy: String,
    #[command(flatten)]
    pub cores: Cores,
    /// Follow a process that runs already, until it ends or Ctrl-C
    #[arg(long, value_name = "PID", conflicts_with = "command")]
    pub pid: Option<u32>,
    /// Time from one look at the threads to the next; stretched when looking costs more than 1 % of the machine
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10ms")]
    pub period: Ns,
    /// Write the summary to this file instead of standard error
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print no summary
    #[arg(long, short, conflicts_with = "output")]
    pub quiet: bool,
    #[command(flatten)]
    pub format: Output,
    /// The command, with its arguments
    #[arg(last = true, required_unless_present = "pid", value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
