//! Arguments of `topology`.

use std::path::PathBuf;

use clap::Args;

use super::live::Cores;
use super::values::Output;

/// What follows the help of `topology`.
pub const EXAMPLES: &str = "\
Examples:
  evenkeel topology
  evenkeel topology --big 0-3 --little 4-7 --ratio 2.5
  evenkeel topology board.dtb --save board.toml
  evenkeel sim Sync-2 --machine ./board.toml --policy colab

Capacity counts as Linux does: 1024 is the biggest core at its highest frequency.
EVENKEEL_POWERS=FILE says what this machine's cores use, as a machine file has it.
Read on: docs/machines.md, and docs/json.md for the fields of --format json.";

/// Arguments of `topology`.
#[derive(Debug, Args)]
pub struct Topology {
    /// hwloc's XML, a devicetree (.dtb), or a folder with a copy of /sys; without it, this machine
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub cores: Cores,
    /// Write a machine file for --machine of the other commands
    #[arg(long, value_name = "FILE.toml")]
    pub save: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}
