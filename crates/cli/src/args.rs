//! The command line: commands, their options, and the help that teaches them.

mod emulate;
mod help;
mod live;
mod scx;
mod sweep;
mod tasks;
mod top;
mod topology;
mod trial;
mod values;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use evenkeel_experiment::GivenPredictor;
use evenkeel_linux::host::Simulated;
use evenkeel_model::{CoreOrder, Machine, Ns};
use evenkeel_sched::steering::Steering;
use evenkeel_sched::{Governor, Setup};

pub use emulate::Emulate;
pub use help::{Completions, Help, Man};
pub use live::{Accel, Cores, Peer, Record, Run, ThisMachine, VmBench, VmCommand, VmRun};
pub use scx::{Chosen, Path, Scx};
pub use sweep::{Merge, Sweep};
pub use tasks::Tasks;
pub use top::{Pin, Top};
pub use topology::Topology;
pub use trial::Try;
pub use values::{Format, Output};
use values::{duration, number, positive, whole};

/// A scheduler laboratory for asymmetric multicores.
///
/// Plays a workload on a simulated machine whose cores differ, under a scheduling policy, and reports turnaround times,
/// energy and what the scheduler did. The same inputs and seed always give the same numbers. Real programs are scheduled
/// by the same policies, and recorded, on this machine or on one that is made asymmetric for them.
#[derive(Debug, Parser)]
#[command(name = "evenkeel", version, after_help = ROOT_EXAMPLES, max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Take defaults of options from this file; or let EVENKEEL_CONFIG name it
    ///
    /// Each command has a table of its name, with options by their long names, such as policy = "colab". What stands on the command
    /// line wins.
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

const ROOT_EXAMPLES: &str = "\
Start here:
  evenkeel sim Sync-2 --machine 2B2S --policy colab
  evenkeel compare Sync-2 Rand-7 --machine 2B2S,4B4S --policy cfs,gts,wash,colab
  evenkeel sweep grid.toml
  evenkeel reproduce colab
  evenkeel run --policy colab -- ./app --threads 8
  evenkeel try -- ./app --threads 8
  evenkeel record -o app.ek -- ./app --threads 8
  evenkeel vm --machine 2B2S:3 --policy pfs -- ./app --threads 4

Units: seconds, joules, and joule seconds for EDP. H_ANTT is turnaround against a machine of big
cores only: lower is better. H_STP is throughput against it: higher is better.
Exit codes: 0 done, 2 the request cannot be carried out (an output file that cannot be opened
included: nothing was done), 1 the result cannot be written in the end, 130 interrupted (a
simulation prints what it reached). Where a program is started, its own; then 125 says that Evenkeel
itself failed (a result that cannot be written in the end included), 126 that the program cannot be
executed, 127 that there is none.
Read on: docs/commands.md (commands), docs/json.md (JSON fields), docs/ARCHITECTURE.md (the code).";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the machines that come with Evenkeel
    ///
    /// The name goes to --machine of the other commands. A path works there too: of a TOML file of your own, of
    /// hwloc's XML (.xml), or of a devicetree (.dtb). `odroid-xu3:2+1` is the machine with two of its big cores and one
    /// of its others, the rest switched off.
    #[command(after_help = "Examples:\n  evenkeel machines\n  evenkeel machines --format json\n\n\
        Capacity counts as Linux does: 1024 is the biggest core at its highest frequency.")]
    Machines(Output),
    /// List the scheduling policies, governors of frequencies and techniques of the runtime
    ///
    /// The name goes to --policy or --governor of the other commands. Techniques are named by programs that use the
    /// runtime.
    #[command(after_help = "Examples:\n  evenkeel policies\n  evenkeel policies --format json")]
    Policies(Output),
    /// List the programs and mixes that come with Evenkeel
    ///
    /// A program may be given a number of threads: `ferret:8`. A path to an rt-app file (.json), to a native
    /// workload (.toml) or to a recording of a real run (.ek) works as a WORKLOAD too.
    #[command(after_help = "Examples:\n  evenkeel workloads\n  evenkeel sim ferret:8 --machine 2B2S --policy cfs\n  \
        evenkeel sim ./browser.json --machine odroid-xu3 --policy gts")]
    Workloads(Output),
    /// Run one workload on one machine under one policy
    ///
    /// Besides the run itself, every program runs alone on a machine with as many cores, all of them big, under CFS:
    /// the reference of H_ANTT and H_STP.
    #[command(after_help = SIM_EXAMPLES)]
    Sim(Sim),
    /// Run workloads on machines under several policies and compare
    ///
    /// Every combination of workload, machine, policy, core order and seed is one run. The first line says what can be told
    /// from chance. Tables show means over core orders and seeds, their deviation from seed to seed, and effects with their
    /// 95 % intervals; the best value of each group is bold.
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(Compare),
    /// Run every combination of a grid, and write a table of all runs
    ///
    /// The table is a Parquet file, a row a run. What is done is kept as it comes: after an end in the middle the same command
    /// continues, and runs that a grid has in common with the table's are not done again. With --shard several machines do a part
    /// each.
    #[command(after_help = sweep::EXAMPLES)]
    Sweep(Sweep),
    /// Put the tables of a sweep's parts together
    ///
    /// The result is the same as from one machine, to the byte, whatever the parts.
    #[command(after_help = sweep::MERGE_EXAMPLES)]
    Merge(Merge),
    /// Run a paper's evaluation and set what it published beside what comes out here
    ///
    /// Every published number is a row: published, simulated, difference. Effects are signed: -11 % means less than
    /// the baseline, which is better for H_ANTT and worse for H_STP. Rows that miss are printed like the others.
    #[command(after_help = REPRODUCE_EXAMPLES)]
    Reproduce(Reproduce),
    /// Train the speedup predictor of a machine, and find its thresholds for bias scheduling
    ///
    /// Runs every bundled program on a machine of big cores only and on one of little cores only, and learns from the
    /// hardware counters how much faster a thread is on a big core (COLAB 4.1). Prints how well the predictor does on
    /// a program that it has not seen. Then finds, from programs of SPEC CPU2006, when bias scheduling should take a
    /// thread to be better off on a little core of this machine (bias scheduling 7.3).
    #[command(after_help = TRAIN_EXAMPLES)]
    Train(Train),
    /// Show what a machine is: its kinds of cores, and what can be seen and controlled
    ///
    /// What the kernel and the firmware say, the most precise source first. Sources that contradict each other are named,
    /// and --big, --little and --ratio overrule them. A FILE describes another machine.
    #[command(after_help = topology::EXAMPLES)]
    Topology(Topology),
    /// Run a program on this machine, its threads scheduled by a policy
    ///
    /// Follows the program's threads and child processes and moves them between core types, by the same policy code as
    /// in the simulator. Standard streams, signals and the exit status are the program's; the summary goes to standard
    /// error. If Evenkeel is killed, the program runs on and every affinity mask is given back.
    #[command(after_help = RUN_EXAMPLES)]
    Run(Run),
    /// Find out which scheduler a program is fastest under here
    ///
    /// Runs the program under the kernel's own scheduler and under policies, in turns, until what can be told from chance is told, and
    /// says what to use. What the program prints is thrown away, and nothing can be typed into it.
    #[command(after_help = trial::EXAMPLES)]
    Try(Try),
    /// Schedule this machine's threads inside its kernel, by a policy
    ///
    /// Takes over from the kernel's own scheduler, through sched_ext, until COMMAND has ended, the time is over, or Ctrl-C.
    /// What moves threads only now and then under `run` is exact here: which thread a core takes next, preemption,
    /// exchanges. Whatever happens to Evenkeel, the kernel takes the machine back. Needs root, and a kernel with
    /// sched_ext, such as Linux 7.0; `evenkeel vm --scx` boots one.
    #[command(after_help = scx::EXAMPLES)]
    Scx(Scx),
    /// Watch a `run` or `scx` that runs, live, and change what it does
    ///
    /// Shows cores with what they run, and threads with what the policy thinks of them, where they run, how long they wait for a
    /// core, and how much others wait for them. Keys sort and filter, pin a thread, and let another policy decide.
    #[command(after_help = top::EXAMPLES)]
    Top(Top),
    /// Record what a program does, to play it on any machine
    ///
    /// Writes down how much each thread and child process computes, what it wakes, what it waits for and how long it
    /// sleeps. `evenkeel sim` and `evenkeel compare` play it. Standard streams, signals and the exit status are the
    /// program's. Needs eBPF, and so root.
    #[command(after_help = RECORD_EXAMPLES)]
    Record(Record),
    /// Run a program on an asymmetric machine that exists only for it
    ///
    /// QEMU boots a Linux kernel on this machine's own files, and each virtual core gets a share of a real one: a large
    /// share is a big core, a small one a little core. The command may read everything and write to the current folder
    /// and to /tmp. Its output and its exit status come back. Needs root.
    #[command(after_help = VM_EXAMPLES)]
    Vm(VmRun),
    /// Make this machine asymmetric while a command runs
    ///
    /// A real-time thread on each little core takes as much of the time as makes the core as slow as it should be, and
    /// corrects itself by what the core really gave to others. Standard streams, signals and the exit status are the
    /// command's. Needs CAP_SYS_NICE (root has it) or a limit of real-time priority (`ulimit -r`) above 0. Whatever
    /// happens to Evenkeel, its threads end with it.
    #[command(after_help = emulate::EXAMPLES)]
    Emulate(Emulate),
    /// Show the help of a command, or a page of the guide
    #[command(after_help = help::EXAMPLES)]
    Help(Help),
    /// Print completions for a shell
    #[command(after_help = help::COMPLETIONS_EXAMPLES)]
    Completions(Completions),
    /// Write manual pages
    #[command(after_help = help::MAN_EXAMPLES)]
    Man(Man),
    #[command(name = evenkeel_linux::guard::COMMAND, hide = true)]
    Guard,
    #[command(name = evenkeel_linux::vm::guest::COMMAND, hide = true)]
    Guest {
        /// Its cores, if they differ in speed
        machine: Option<String>,
    },
    #[command(name = evenkeel_linux::launch::TIED, hide = true, disable_help_flag = true)]
    Tied {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    #[command(name = evenkeel_linux::launch::COMMAND, hide = true, disable_help_flag = true)]
    Start {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

const SIM_EXAMPLES: &str = "\
Examples:
  evenkeel sim Sync-2 --machine 2B2S --policy colab
  evenkeel sim ferret:8 --machine ./my-board.toml --policy wash --trace ferret.perfetto-trace
  evenkeel sim ./browser.json --machine odroid-xu3 --policy gts --html browser.html
  evenkeel sim ./browser.json --machine odroid-xu3 --policy gts --seed 7 --noise --format json

Durations take a unit: 500us, 10ms, 60s. A trace opens at https://ui.perfetto.dev.
Read on: docs/commands.md, and docs/json.md for the fields of --format json.";

const COMPARE_EXAMPLES: &str = "\
Examples:
  evenkeel compare Sync-2 --machine 2B2S --policy cfs,wash,colab
  evenkeel compare Sync-2 Rand-7 --machine 2B2S,4B4S --policy cfs,gts,wash,colab --seeds 20
  evenkeel compare ./browser.json --machine odroid-xu3 --policy cfs,gts --html page.html

Percentages are against --baseline, for the same workload and machine: -20 % of H_ANTT means that
programs come to their end in 20 % less time.
Read on: docs/commands.md, and docs/json.md for the fields of --format json.";

const REPRODUCE_EXAMPLES: &str = "\
Examples:
  evenkeel reproduce colab
  evenkeel reproduce colab --html colab.html
  evenkeel reproduce colab --with colab:own=colab
  evenkeel reproduce colab --format json > colab.json

The rows, their sources and what each one averages over: experiments/colab.toml.
Read on: docs/json.md for the fields of --format json.";

const TRAIN_EXAMPLES: &str = "\
Examples:
  evenkeel train
  evenkeel train --machine odroid-xu3 -o odroid.toml
  evenkeel train --machine odroid-xu3 --split 1.5

Speedup is instructions per second on the biggest core type divided by those on the smallest, each
at its highest frequency.";

const RUN_EXAMPLES: &str = "\
Examples:
  evenkeel run -- ./app --threads 8
  evenkeel run --policy colab --big 0-3 --little 4-7 -- make -j8
  evenkeel run --html run.html --trace run.perfetto-trace -- ./app
  evenkeel run --pid 4711

Which thread waited for which is seen only with eBPF, and so by root.
A trace opens at https://ui.perfetto.dev.
Exit code: the program's own; 125 if Evenkeel itself failed, 126 if the program cannot be executed,
127 if there is none, 2 if the request is wrong.
Read on: docs/run.md, and docs/json.md for the fields of --format json.";

const RECORD_EXAMPLES: &str = "\
Examples:
  evenkeel record -o app.ek -- ./app --threads 8
  evenkeel sim app.ek --machine i9-13900k --policy colab
  evenkeel record -o build.ek -- make -j4

Exit code: the program's own; 125 if Evenkeel itself failed, 126 if the program cannot be executed,
127 if there is none, 2 if the request is wrong. If FILE cannot be written,
the error says where the recording is instead.
Read on: docs/recording.md.";

const VM_EXAMPLES: &str = "\
Examples:
  evenkeel vm -- nproc
  evenkeel vm --machine 2B4S:3 --policy pfs -- ./app --threads 6
  evenkeel vm bench --machine 2B2S:3 --policy pfs,colab

Exit code: the command's own; 124 after --timeout, 125 if the guest failed, 126 if the
command cannot be executed, 127 if there is none, 2 if the request is wrong.
Read on: docs/emulation.md.";

/// How a run is carried out, the same for `sim` and `compare`.
#[derive(Clone, Debug, Args)]
pub struct Conditions {
    /// Let every action of the scheduler take effect this much later, as an asynchronous host would: 500us
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true, default_value = "0s", hide_default_value = true)]
    pub delay: Ns,
    /// What carries policies out: they schedule, as `evenkeel scx` does, or move the threads of Linux' own scheduler (eevdf), as
    /// `evenkeel run` does
    #[arg(long, value_enum, default_value_t = SimulatedHost::Scx)]
    pub host: SimulatedHost,
    /// Add background noise: short kernel work and interrupts, drawn from the seed, which also decides from which core
    /// programs are started
    #[arg(long)]
    pub noise: bool,
    /// What sets the clusters' frequencies: performance, powersave, userspace:800MHz or schedutil
    #[arg(long, value_name = "GOVERNOR", value_parser = Governor::parse, default_value = "performance")]
    pub governor: Governor,
    /// Show policies the true speedup of every thread instead of the predicted one
    #[arg(long)]
    pub oracle: bool,
    /// Predict speedups with this file of `evenkeel train` instead of training afresh
    #[arg(long, value_name = "FILE", conflicts_with = "oracle")]
    pub predictor: Option<PathBuf>,
    /// Stop with an error when a run takes longer than this in simulated time
    #[arg(long, value_name = "TIME", value_parser = positive, allow_hyphen_values = true, default_value = "10h")]
    pub max_time: Ns,
    #[command(flatten)]
    pub limit: Limit,
    #[command(flatten)]
    pub tasks: Tasks,
}

/// What carries policies out in a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SimulatedHost {
    /// Policies schedule.
    #[default]
    Scx,
    /// Policies move the threads of Linux' own scheduler.
    Run,
}

/// `evenkeel run`, simulated.
pub fn beside(machine: &Machine, policy: &Setup) -> Box<dyn Steering> {
    Box::new(Simulated::new(machine, policy, Simulated::SAMPLE))
}

/// How much a run may cost.
#[derive(Clone, Copy, Debug, Args)]
pub struct Limit {
    /// Stop with an error when a run has more simulator events than this; ten million take about a second
    #[arg(long, value_name = "NUMBER", default_value = "10000000000", allow_negative_numbers = true, value_parser = |text: &str| whole::<u64>(text, 1..=u64::MAX))]
    pub max_events: u64,
}

impl Conditions {
    /// The conditions of a plan. Reads the predictor.
    pub fn plan(&self) -> anyhow::Result<evenkeel_experiment::Conditions> {
        if self.host == SimulatedHost::Run && (self.oracle || self.predictor.is_some()) {
            anyhow::bail!(
                "--host run sees no speedups but those of capacities: expected it without --oracle and --predictor"
            );
        }
        Ok(evenkeel_experiment::Conditions {
            delay: self.delay,
            beside: match self.host {
                SimulatedHost::Scx => None,
                SimulatedHost::Run => Some(beside),
            },
            noise: self.noise,
            governor: self.governor,
            oracle: self.oracle,
            predictor: self.predictor.as_deref().map(GivenPredictor::read).transpose()?,
            max_time: self.max_time,
            tasks: self.tasks.into(),
            ..evenkeel_experiment::Conditions::default()
        })
    }
}

/// Arguments of `sim`.
#[derive(Debug, Args)]
pub struct Sim {
    /// Program (`ferret`, `ferret:8`), mix (`Sync-2`), or path of an rt-app file (.json), a native workload (.toml) or a
    /// recording (.ek)
    pub workload: String,
    /// Machine, or path of a machine file (.toml, .xml, .dtb); a recording may do without, and is played where it was made
    #[arg(long, short)]
    pub machine: Option<String>,
    /// Scheduling policy
    #[arg(long, short)]
    pub policy: String,
    /// Order in which the operating system numbers the cores
    #[arg(long, value_enum, default_value_t = Order::Declared)]
    pub order: Order,
    /// Seed of every random draw [default: 1]; refused where nothing is drawn
    #[arg(long, allow_negative_numbers = true, value_parser = |text: &str| whole::<u64>(text, 0..=u64::MAX))]
    pub seed: Option<u64>,
    /// Write every decision to this file, as a Perfetto trace
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Write a page to this file: a timeline to look into, who waited for whom, latencies, power
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub conditions: Conditions,
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub struct Compare {
    /// Programs, mixes, or paths of rt-app files (.json), native workloads (.toml) or recordings (.ek)
    #[arg(value_name = "WORKLOAD")]
    pub workloads: Vec<String>,
    /// Machines, or paths of machine files (.toml, .xml, .dtb); takes all words up to the next option
    #[arg(long, short, required = true, value_name = "MACHINE", value_delimiter = ',', num_args = 1..)]
    pub machine: Vec<String>,
    /// Scheduling policies
    #[arg(long, short, required = true, value_name = "POLICY,POLICY,...", value_delimiter = ',')]
    pub policy: Vec<String>,
    /// The policy that percentages are against; it runs even if --policy does not name it
    #[arg(long, default_value = "cfs")]
    pub baseline: String,
    /// How many seeds: 1, 2, ... N. Effects are from pairs with the same seed; what draws nothing from it is run once
    #[arg(long, value_name = "N", default_value_t = 5, allow_negative_numbers = true, value_parser = |text: &str| whole::<u64>(text, 1..=1000))]
    pub seeds: u64,
    /// Orders in which the operating system numbers the cores [default: big-first,little-first; declared for
    /// workloads that bind threads to cores by number, as rt-app files may]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub orders: Vec<Order>,
    /// Write a page with bars and timelines to this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub conditions: Conditions,
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `reproduce`.
#[derive(Debug, Args)]
pub struct Reproduce {
    /// The paper: colab, odroid, wash, bias or aaws; or all
    pub experiment: String,
    /// Run another policy for one of the evaluation: what comes out if the paper is read otherwise, such as colab:own=colab.
    /// Can be given several times
    #[arg(long, value_name = "NAME=POLICY")]
    pub with: Vec<String>,
    /// Show policies the true speedup of every thread: what perfect knowledge would give, not what was published
    #[arg(long)]
    pub oracle: bool,
    #[command(flatten)]
    pub limit: Limit,
    /// Write a page with bars and timelines to this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `train`.
#[derive(Debug, Args)]
pub struct Train {
    /// Machine whose core types the predictor is for, or path of a machine file (.toml, .xml, .dtb)
    #[arg(long, short, default_value = "2B2S")]
    pub machine: String,
    /// Write the predictor to this file, as TOML
    #[arg(long = "output", short = 'o', value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Thresholds of bias scheduling put programs on little cores that a big core makes fewer times faster than this;
    /// without it, than the middle of what there is
    #[arg(long, value_name = "SPEEDUP", allow_negative_numbers = true, value_parser = |text: &str| number(text, 1.0..=1000.0))]
    pub split: Option<f64>,
    #[command(flatten)]
    pub limit: Limit,
    #[command(flatten)]
    pub output: Output,
}

/// Core orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// As the machine file lists them
    Declared,
    /// Fastest type first
    BigFirst,
    /// Slowest type first
    LittleFirst,
}

impl From<Order> for CoreOrder {
    fn from(order: Order) -> Self {
        match order {
            Order::Declared => Self::Declared,
            Order::BigFirst => Self::BigFirst,
            Order::LittleFirst => Self::LittleFirst,
        }
    }
}

/// What the user typed, without the path of this program.
pub fn command_line() -> String {
    evenkeel_linux::quote::line(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Every whole command in a code block of the documentation.
    #[test]
    fn commands_in_the_documentation_are_understood() {
        let root = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let pages =
            ["docs", "docs/policies"].into_iter().flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
        let pages = pages
            .map(|page| page.unwrap().path())
            .chain(["README.md", "crates/cli/README.md"].map(|page| root.join(page)));
        let mut checked = 0;
        for page in pages.filter(|page| page.extension().is_some_and(|ending| ending == "md")) {
            let text = std::fs::read_to_string(&page).unwrap().replace("\\\n", " ");
            for line in text.lines().filter(|line| line.starts_with("evenkeel ")) {
                // Without a comment, and what the shell does with the output.
                let command =
                    line.split(" #").next().unwrap().split(" > ").next().unwrap().split(" | ").next().unwrap();
                // Without placeholders, and what a shell expands.
                if command.contains(['<', '[', '{', '$', '`', '"', '\'', '|']) || command.contains("...") {
                    continue;
                }
                checked += 1;
                if let Err(error) = Cli::try_parse_from(command.split_whitespace()) {
                    assert!(!error.use_stderr(), "{}: {line}\n{error}", page.display());
                }
            }
        }
        assert!(checked > 30, "only {checked}");
    }
}
