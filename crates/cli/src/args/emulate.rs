//! Arguments of `emulate`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use evenkeel_linux::emulate::{PERIOD, PERIODS};
use evenkeel_model::Ns;

use super::live::Cores;
use super::values::{Output, duration_within};

/// What follows the help of `emulate`.
pub const EXAMPLES: &str = "\
Examples:
  evenkeel emulate 1B1L:3 -- ./app --threads 2
  evenkeel emulate 2B2L:3 --policy pfs -- ./app --threads 4
  evenkeel emulate --big 0-3 --little 4-7 --ratio 2.5 -o speeds.json --format json -- make -j8
  evenkeel emulate 1B1L --dvfs -- ./app
  evenkeel emulate 1B1L --dvfs=odroid-xu3 -- sh -c \
    'echo 800000 > $EVENKEEL_SYSFS/sys/devices/system/cpu/cpu0/cpufreq/scaling_setspeed; ./app'

1B1L:3 is one big and one little core, the big one 3 times as fast; 1B1S:3 says the same.
With --dvfs, EVENKEEL_SYSFS names a folder with the files of cpufreq, for the command and what it
starts. A core is as fast there as one of the machine's biggest type (of its smallest, if it is
little) at the frequency that scaling_setspeed says, and begins at the operating point nearest to
1 V. Writing to the file changes that at once. The account says what the cores would have used.
Exit code: the command's own; 125 if Evenkeel itself failed (it may not slow cores down, or cannot
write the account), 126 if the command cannot be executed, 127 if there is none, 2 if the request is
wrong.
Read on: docs/emulation.md.";

/// Whose cores frequencies are of where nothing else is said: the first-order model's, at the leakage with which its published optima follow.
const DVFS: &str = "aaws-4B4L";

/// Arguments of `emulate`.
#[derive(Debug, Args)]
pub struct Emulate {
    /// The machine: the first CPUs that this process may use become big, the next ones little
    #[arg(value_name = "MACHINE", conflicts_with_all = ["big", "little", "ratio"])]
    pub machine: Option<String>,
    #[command(flatten)]
    pub cores: Cores,
    /// Let the command set frequencies: cores are those of this machine, or of a machine file
    #[arg(long, value_name = "MACHINE", num_args = 0..=1, require_equals = true, default_missing_value = DVFS, conflicts_with = "ratio")]
    pub dvfs: Option<String>,
    /// Schedule the command by this policy, with `evenkeel run`; without, the kernel does
    #[arg(long, short)]
    pub policy: Option<String>,
    /// In each such span a little core is away once; shorter is finer, and less exact
    #[arg(long, value_name = "TIME", value_parser = period, default_value_t = PERIOD, hide_default_value = true)]
    pub period: Ns,
    /// Write the account of the little cores to this file instead of standard error
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print no account
    #[arg(long, short, conflicts_with = "output")]
    pub quiet: bool,
    #[command(flatten)]
    pub format: Output,
    /// The command, with its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

fn period(text: &str) -> Result<Ns, String> {
    duration_within(text, &PERIODS)
}
