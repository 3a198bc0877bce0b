//! Arguments of `try`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use evenkeel_model::Ns;

use super::live::ThisMachine;
use super::values::{Output, number, positive, whole};

/// What follows the help of `try`.
pub const EXAMPLES: &str = "\
Examples:
  evenkeel try -- ./app --threads 8
  evenkeel try --policy pfs,colab --prepare 'make clean' -- make -j8
  evenkeel emulate 1B1L:3 -- evenkeel try --big 0 --little 1 --ratio 3 -- ./app --threads 2
  evenkeel try --scx --format json -- ./app
  evenkeel try --html schedulers.html -- ./app

Exit code: 0 measured; 2 the request cannot be carried out, or a run has failed; 130 interrupted,
with what is known by then.
Read on: docs/run.md, and docs/json.md for the fields of --format json.";

/// The policies that are tried if none are named.
const SENSIBLE: [&str; 4] = ["pfs", "gts", "wash", "colab"];

/// Arguments of `try`.
#[derive(Debug, Args)]
pub struct Try {
    /// Policies to try
    #[arg(long, short, value_name = "POLICY,POLICY,...", value_delimiter = ',', default_values_t = SENSIBLE.map(String::from))]
    pub policy: Vec<String>,
    /// Try each inside the kernel, too (`evenkeel scx`)
    #[arg(long)]
    pub scx: bool,
    /// Try `run --openmp` with the first policy, too; without this, where the program is seen to load an OpenMP library
    #[arg(long)]
    pub openmp: bool,
    #[command(flatten)]
    pub this: ThisMachine,
    /// Rounds at most; there are fewer if the answer is clear sooner
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = |text: &str| whole::<u32>(text, 2..=10_000))]
    pub rounds: u32,
    /// Begin no round that would end after this time
    #[arg(long, value_name = "TIME", value_parser = positive, default_value = "10m")]
    pub limit: Ns,
    /// Differences of less time do not matter, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0, value_parser = |text: &str| number(text, 0.0..=100.0))]
    pub margin: f64,
    /// Run this by the shell before each run, such as what removes results; it does not count
    #[arg(long, value_name = "COMMAND")]
    pub prepare: Option<OsString>,
    /// Take the time of runs that fail, too
    #[arg(long)]
    pub ignore_failure: bool,
    /// Show what the command prints, on standard error
    #[arg(long)]
    pub show_output: bool,
    /// Write a page to this file: what to use, and each scheduler against the kernel's own with its interval
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
    /// The command, with its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
