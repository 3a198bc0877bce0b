//! Arguments of the commands that work with real programs.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use evenkeel_linux::host::PERIODS;
use evenkeel_linux::record::BUFFER;
use evenkeel_linux::vm::bench::Program;
use evenkeel_model::Ns;

use super::scx::Path;
use super::values::{Output, duration_within, positive, whole};

/// Which of the machine's cores are fast.
#[derive(Clone, Debug, Default, Args)]
pub struct Cores {
    /// The big cores, as a CPU list (0-3,6), or how many to use of each kind (4c:big,2c:little)
    #[arg(long, value_name = "CPUS")]
    pub big: Option<String>,
    /// The little cores, as a CPU list
    #[arg(long, value_name = "CPUS")]
    pub little: Option<String>,
    /// How many times faster a big core is than a little one
    #[arg(long, value_name = "TIMES", value_parser = ratio)]
    pub ratio: Option<f64>,
}

/// What the commands that schedule real programs take this machine for.
#[derive(Clone, Debug, Default, Args)]
pub struct ThisMachine {
    #[command(flatten)]
    pub cores: Cores,
    /// What this machine is: a machine file, as `evenkeel topology --save` writes one, or a name. Its cores are the CPUs in their order
    #[arg(long, short, value_name = "MACHINE", conflicts_with_all = ["big", "little", "ratio"])]
    pub machine: Option<String>,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(override_usage = "evenkeel run [OPTIONS] COMMAND...\n       evenkeel run [OPTIONS] --pid PID")]
pub struct Run {
    /// Scheduling policy
    #[arg(long, short, default_value = "pfs")]
    pub policy: String,
    #[command(flatten)]
    pub this: ThisMachine,
    /// Give slow cores less of the loops of an OpenMP program to do
    #[arg(long, conflicts_with = "pid")]
    pub openmp: bool,
    /// Run the command so often under the policy, and as often without, in turns, and say how much time that makes; see `evenkeel try`
    #[arg(long, value_name = "N", conflicts_with_all = ["pid", "trace", "quiet"], value_parser = |text: &str| whole::<u32>(text, 2..=10_000))]
    pub ab: Option<u32>,
    /// Follow a process that runs already, until it ends or Ctrl-C
    #[arg(long, value_name = "PID", conflicts_with = "command", value_parser = |text: &str| whole::<u32>(text, 1..=4_194_304))]
    pub pid: Option<u32>,
    /// Time from one sample of the threads to the next; stretched if sampling costs over 0.5 % of the machine
    #[arg(long, value_name = "TIME", value_parser = period, default_value = "10ms")]
    pub period: Ns,
    /// Write the summary to this file instead of standard error
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write a page to this file: which threads ran where and waited for which, and a timeline; with --ab what it has found
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write what ran where when, and what was moved, as a Perfetto trace
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Print no summary
    #[arg(long, short, conflicts_with = "output")]
    pub quiet: bool,
    #[command(flatten)]
    pub format: Output,
    /// The command, with its arguments
    #[arg(trailing_var_arg = true, required_unless_present = "pid", value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

fn period(text: &str) -> Result<Ns, String> {
    duration_within(text, &PERIODS)
}

/// Arguments of `record`.
#[derive(Debug, Args)]
pub struct Record {
    /// The recording
    #[arg(long = "output", short = 'o', value_name = "FILE", default_value = "app.ek")]
    pub file: PathBuf,
    #[command(flatten)]
    pub cores: Cores,
    /// Memory for events that were not read yet, in MB; more of it, if `record` says that events were lost
    #[arg(long, value_name = "MB", default_value_t = BUFFER >> 20, value_parser = |text: &str| whole::<u32>(text, 1..=1024))]
    pub buffer: u32,
    /// Say nothing at the end
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub format: Output,
    /// The command, with its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Arguments of `vm`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct VmRun {
    #[command(subcommand)]
    pub measure: Option<VmCommand>,
    /// The guest's cores: 2B2S:3 is two big and two little ones, a big one 3 times as fast
    #[arg(long, short, value_name = "MACHINE", default_value = "2B2S:3")]
    pub machine: String,
    /// Schedule the command by this policy inside the guest, with `evenkeel run`; without, the guest's kernel does
    #[arg(long, short)]
    pub policy: Option<String>,
    /// Let the policy schedule inside the guest's kernel, with `evenkeel scx`, not through affinity masks
    #[arg(long)]
    pub scx: bool,
    /// Where decisions are made, as for `evenkeel scx`
    #[arg(long, value_enum, value_name = "WHERE")]
    pub path: Option<super::Path>,
    /// The guest's kernel; by default the one that scripts/kernel has fetched, else this machine's
    #[arg(long, value_name = "FILE")]
    pub kernel: Option<PathBuf>,
    /// What runs the guest's code; by default KVM where it works, else TCG
    #[arg(long, value_enum)]
    pub accel: Option<Accel>,
    /// The guest's memory in MB
    #[arg(long, value_name = "MB", default_value_t = 1024, value_parser = |text: &str| whole::<u32>(text, 128..=1_000_000))]
    pub memory: u32,
    /// Leave all cores equally fast; needs no privileges for CPU time
    #[arg(long)]
    pub symmetric: bool,
    /// Give up if the command takes longer than this
    #[arg(long, value_name = "TIME", value_parser = positive)]
    pub timeout: Option<Ns>,
    /// Let the command write to this directory, too; it may write to the current one and to /tmp
    #[arg(long, value_name = "DIR")]
    pub writable: Vec<PathBuf>,
    /// Say nothing about the guest
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub format: Output,
    /// The command, with its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// What runs a guest's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Accel {
    /// The processor itself
    Kvm,
    /// QEMU's translator, which works everywhere
    Tcg,
}

impl From<Accel> for evenkeel_linux::vm::Accelerator {
    fn from(accel: Accel) -> Self {
        match accel {
            Accel::Kvm => Self::Kvm,
            Accel::Tcg => Self::Tcg,
        }
    }
}

const BENCH_EXAMPLES: &str = "\
Examples:
  evenkeel vm bench
  evenkeel vm bench --machine 2B2S:3 --policy pfs --programs static,barrier --repeat 5
  evenkeel vm bench --scx --machine 2B2S:3 --policy pfs,colab --programs equal,messages,wakeup,lu+xz
  evenkeel vm bench --scx --machine 2B2S:3 --policy colab --all --repeat 8 --format json > bench.json
  evenkeel vm bench --machine 2B2S:3 --own 'app=./app -j{threads}' --programs app,app:2+xz

Read on: docs/emulation.md.";

/// Commands of `vm`.
#[derive(Debug, clap::Subcommand)]
pub enum VmCommand {
    /// Measure small real programs under the guest's kernel and under each policy
    ///
    /// Equal threads, barriers, OpenMP loops, a pipeline, a lock, and two and four of these together, as many threads as
    /// cores each; `--all` has more, with messages between processes, wake-up latency and programs that are installed.
    /// Policies take turns in one guest, so that a noisy machine is noisy for all of them. Each is also recorded under the
    /// guest's kernel, in each repetition, and the simulator predicts what it takes under each policy.
    #[command(after_help = BENCH_EXAMPLES)]
    Bench(VmBench),
}

/// Arguments of `vm bench`.
#[derive(Debug, Args)]
pub struct VmBench {
    /// The guests' cores
    #[arg(long, short, value_name = "MACHINE", value_delimiter = ',', default_values_t = ["2B2S:3", "1B3S:3", "2B4S:3"].map(String::from))]
    pub machine: Vec<String>,
    /// Policies to compare with the guest's own kernel
    #[arg(long, short, value_name = "POLICY,POLICY,...", value_delimiter = ',', default_values_t = ["pfs", "gts", "static", "wash", "colab"].map(String::from))]
    pub policy: Vec<String>,
    /// Measure each policy inside the guest's kernel, too (`evenkeel scx`)
    #[arg(long)]
    pub scx: bool,
    /// Of policies that can decide in the kernel and in a process measure only this; by default both
    #[arg(long, value_enum, value_name = "WHERE")]
    pub path: Option<Path>,
    /// Compare with another scheduler: a program that runs `NAME -- COMMAND` under it, such as bench/peers/sched_ext
    #[arg(long, value_name = "NAME=PROGRAM", value_delimiter = ',', value_parser = peer)]
    pub peer: Vec<Peer>,
    /// Programs, mixes, and programs joined by `+`, which start together; `lu:2` is `lu` with two threads
    #[arg(long, value_name = "PROGRAM,...", value_delimiter = ',', conflicts_with = "all")]
    pub programs: Vec<String>,
    /// Every program and mix that this machine has
    #[arg(long)]
    pub all: bool,
    /// Measure a program of your own: a shell command, by this name in --programs, else alone
    ///
    /// It runs in the guest, in the current folder, which it may write to. `{threads}` in the command becomes its number of
    /// threads: that of the cores, or 2 for `NAME:2`. Its time is from start to end, and it always does all of its work:
    /// --seconds is for other programs. Without --programs and --all nothing else is measured.
    #[arg(long, value_name = "NAME=COMMAND", value_parser = Program::own)]
    pub own: Vec<Program>,
    /// How often each is measured in each boot
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = |text: &str| whole::<u32>(text, 1..=1000))]
    pub repeat: u32,
    /// How often each machine is booted
    ///
    /// How fast its cores are differs more between boots than between the runs of one boot. With several boots, the spread
    /// shown is that between boots.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = |text: &str| whole::<u32>(text, 1..=1000))]
    pub boots: u32,
    /// How long a program takes at best; not one of --own
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, value_parser = seconds)]
    pub seconds: f64,
    /// The guests' kernel; by default the one that scripts/kernel has fetched, else this machine's
    #[arg(long, value_name = "FILE")]
    pub kernel: Option<PathBuf>,
    /// Write a page to this file: schedulers against the guest's own, measured and predicted
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Keep the recordings that predictions are made from: MACHINE-PROGRAM-1.ek and so on, for `sim` and `compare`
    #[arg(long, value_name = "DIR")]
    pub recordings: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

/// Another program's scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its name in reports, and the first argument of the program.
    pub name: String,
    /// What runs a command under it.
    pub program: PathBuf,
}

fn peer(text: &str) -> Result<Peer, String> {
    let (name, program) = text
        .split_once('=')
        .filter(|(name, program)| !name.is_empty() && !program.is_empty())
        .ok_or("expected NAME=PROGRAM")?;
    Ok(Peer { name: name.into(), program: program.into() })
}

fn ratio(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| "expected a number, such as 2.5".into())
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.01..=3600.0).contains(seconds));
    seconds.ok_or_else(|| format!("{text:?}: expected seconds, 0.01 to 3600"))
}
