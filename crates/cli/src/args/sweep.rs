//! `evenkeel sweep` and `evenkeel merge`.

use std::path::PathBuf;

use clap::Args;
use evenkeel_sweep::Shard;

use super::{Limit, Output};

/// The help's end of `sweep`.
pub const EXAMPLES: &str = "\
Examples:
  evenkeel sweep grid.toml
  evenkeel sweep grid.toml --dry-run
  evenkeel sweep grid.toml --html sweep.html
  evenkeel sweep grid.toml --shard 3/8 -o part-3.parquet

A grid:
  machines = [\"2B2S\", \"4B4S\"]
  workloads = [\"Sync-2\", \"ferret:8\"]
  policies = [\"cfs\", \"gts\", \"colab\"]
  seeds = 20
  machine.costs.migrate_across_clusters_us = [0, 60, 600]
  policy.colab.takeover = [\"any\", \"none\"]
  conditions.noise = [false, true]

Any value of a machine's or a workload's file, any knob of a policy, and any condition of
`evenkeel sim` can be varied.
Read on: docs/sweeps.md, and docs/json.md for the fields of --format json.";

/// The help's end of `merge`.
pub const MERGE_EXAMPLES: &str = "\
Examples:
  evenkeel merge -o results.parquet part-*.parquet
  evenkeel merge -o so-far.parquet --incomplete part-1.parquet part-2.parquet

Read on: docs/sweeps.md, and docs/json.md for the fields of --format json.";

/// Arguments of `sweep`.
#[derive(Debug, Args)]
pub struct Sweep {
    /// What is combined (TOML)
    #[arg(value_name = "GRID")]
    pub grid: PathBuf,
    /// Write the table to this file [default: the grid's name, in this folder, with .parquet]
    #[arg(long = "output", short = 'o', value_name = "FILE")]
    pub table: Option<PathBuf>,
    /// Write a page to this file: how policies differ, over everything and at each value
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Do one part of how many, such as 3/8; `evenkeel merge` puts them together
    #[arg(long, value_name = "I/N", default_value = "1/1", hide_default_value = true)]
    pub shard: Shard,
    /// Say what would be run, and run nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Run everything anew, as after a change of Evenkeel's own code
    #[arg(long)]
    pub fresh: bool,
    /// Drop runs of FILE that the grid does not have any more
    #[arg(long)]
    pub drop: bool,
    #[command(flatten)]
    pub limit: Limit,
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `merge`.
#[derive(Debug, Args)]
pub struct Merge {
    /// Tables of `evenkeel sweep --shard`
    #[arg(value_name = "PART", required = true)]
    pub parts: Vec<PathBuf>,
    /// Write the table to this file
    #[arg(long = "output", short = 'o', value_name = "FILE")]
    pub table: PathBuf,
    /// Write a page to this file: how policies differ, over everything and at each value
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Merge although runs are missing
    #[arg(long)]
    pub incomplete: bool,
    /// Drop runs of FILE that no part has
    #[arg(long)]
    pub drop: bool,
    #[command(flatten)]
    pub output: Output,
}
