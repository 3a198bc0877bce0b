//! Arguments of `top`.

use clap::Args;
use evenkeel_linux::monitor::PERIODS;
use evenkeel_model::Ns;
use evenkeel_top::Sort;

use super::values::{Output, duration_within, whole};

pub(super) const EXAMPLES: &str = "\
Examples:
  evenkeel top
  evenkeel top 4711 --every 500ms --sort blame --filter worker
  evenkeel top --format json --count 10 > ten-moments.jsonl
  evenkeel top 4711 --policy colab
  evenkeel top 4711 --pin 4718=0-1

In a terminal: ? shows the keys, among them p, which pins a thread, and P, which lets another policy
decide. Without a terminal, or with --count, it prints and ends.
A host is watched by the user that it runs as, or by root.
Read on: docs/top.md, and docs/json.md for the fields of --format json.";

/// Arguments of `top`.
#[derive(Debug, Args)]
pub struct Top {
    /// The process of the `evenkeel run` or `evenkeel scx` to watch; not needed if there is only one
    #[arg(value_name = "PID", value_parser = |text: &str| whole::<u32>(text, 1..=4_194_304))]
    pub pid: Option<u32>,
    /// Time from one snapshot to the next
    #[arg(long, short, value_name = "TIME", value_parser = |text: &str| duration_within(text, &PERIODS), default_value = "1s")]
    pub every: Ns,
    /// Sort threads by this: tid, name, on, run, big, ready, blame, speedup, label or pinned
    #[arg(long, short, value_name = "COLUMN", value_parser = sort, default_value = "run")]
    pub sort: Sort,
    /// Show only threads whose name, number or process's number has this in it
    #[arg(long, short, value_name = "TEXT", default_value = "")]
    pub filter: String,
    /// Print so many snapshots and end; by default one, unless there is a terminal
    #[arg(long, short = 'n', value_name = "N", value_parser = |text: &str| whole::<u64>(text, 1..=1_000_000_000))]
    pub count: Option<u64>,
    /// Let another policy decide, and end
    #[arg(long, value_name = "POLICY", conflicts_with_all = ["count", "pin", "every", "sort", "filter", "format"])]
    pub policy: Option<String>,
    /// Keep a thread to these CPUs, and end; without CPUs (`4718=`) no longer
    #[arg(long, value_name = "TID=CPUS", value_parser = pin, conflicts_with_all = ["count", "every", "sort", "filter", "format"])]
    pub pin: Option<Pin>,
    #[command(flatten)]
    pub format: Output,
}

/// A thread, and where it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The thread.
    pub tid: u32,
    /// The CPUs; none if it is to be pinned no longer.
    pub cpus: Vec<u16>,
}

fn sort(text: &str) -> Result<Sort, String> {
    Sort::by_name(text).ok_or_else(|| {
        let known: Vec<&str> = Sort::ALL.iter().map(|sort| sort.name()).collect();
        format!("expected one of {}", known.join(", "))
    })
}

fn pin(text: &str) -> Result<Pin, String> {
    let (tid, cpus) = text.split_once('=').ok_or("expected TID=CPUS, such as 4718=0-1")?;
    Ok(Pin { tid: whole(tid, 1..=4_194_304)?, cpus: evenkeel_topology::list::parse(cpus)? })
}
