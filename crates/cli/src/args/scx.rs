//! Arguments of `scx`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use evenkeel_model::Ns;

use super::live::ThisMachine;
use super::values::{Output, positive, whole};

pub(super) const EXAMPLES: &str = "\
Examples:
  evenkeel scx --policy colab
  evenkeel scx --policy pfs -- ./app --threads 8
  evenkeel topology --save this.toml && evenkeel scx --policy eas --machine this.toml
  evenkeel scx --policy colab --only 4711 --for 10s --stats 1s --format json
  evenkeel scx --policy pfs --only system.slice/build.service
  evenkeel vm --machine 2B2S:3 --scx --policy colab -- ./app --threads 4

Exit code: the command's own, if there is one; 125 if Evenkeel itself failed or the kernel took the
machine back, 126 if the command cannot be executed, 127 if there is none, 2 if the request is wrong.
Read on: docs/kernel.md.";

/// Arguments of `scx`.
#[derive(Debug, Args)]
pub struct Scx {
    /// Scheduling policy
    #[arg(long, short, default_value = "pfs")]
    pub policy: String,
    #[command(flatten)]
    pub this: ThisMachine,
    /// Where decisions are made; by default in the kernel, under the policies that it has (`--list`), else in this process
    #[arg(long, value_enum, value_name = "WHERE")]
    pub path: Option<Path>,
    /// List the policies, and where each can decide
    #[arg(long, conflicts_with_all = ["policy", "machine", "big", "little", "ratio", "path", "only", "time", "stats", "html", "quiet", "command"])]
    pub list: bool,
    /// Schedule this process and what it starts, or this control group, only, until it is gone; the rest stays with the kernel's
    /// own scheduler
    #[arg(long, value_name = "PID|CGROUP", conflicts_with = "command", value_parser = chosen)]
    pub only: Option<Chosen>,
    /// Give the machine back after this time; a command runs on without
    #[arg(long = "for", value_name = "TIME", value_parser = positive)]
    pub time: Option<Ns>,
    /// Print what has been done this often, to standard output
    #[arg(long, value_name = "TIME", value_parser = positive, num_args = 0..=1, default_missing_value = "1s")]
    pub stats: Option<Ns>,
    /// Write a page to this file: what was done over time, and which thread ran where
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print no summary
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub format: Output,
    /// A command: the machine is given back when it has ended
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// What `--only` names.
#[derive(Clone, Debug)]
pub enum Chosen {
    /// A process.
    Process(u32),
    /// A control group, which may or may not be there.
    Group(String),
}

fn chosen(text: &str) -> Result<Chosen, String> {
    if text.is_empty() {
        return Err("expected a process's number or a control group".into());
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return whole(text, 1..=4_194_304).map(Chosen::Process);
    }
    Ok(Chosen::Group(text.to_owned()))
}

/// Where decisions are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Path {
    /// In the kernel; what takes longer, such as labels, in this process once a period
    Kernel,
    /// In this process
    Daemon,
}
