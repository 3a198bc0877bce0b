//! `evenkeel vm`: an asymmetric machine on any Linux box.

use std::io::{self, Write};

use anyhow::{Context, Result, bail};
use evenkeel_linux::launch::{self, Signals};
use evenkeel_linux::spec::Spec;
use evenkeel_linux::vm::{Error, Options, Stream, Vm, kernel};

use serde::Serialize;

use crate::args::{Accel, Format, VmRun};
use crate::clock::Stopwatch;
use crate::{catalog, json, live, messages};

/// What `timeout` answers.
const TIMED_OUT: u8 = 124;

/// Runs the command and answers the exit status.
pub fn run(args: &VmRun) -> Result<u8> {
    let spec: Spec = args.machine.parse().map_err(anyhow::Error::msg)?;
    let policy = args.policy.as_deref().map(catalog::live_policy).transpose()?;
    let policy = policy.as_ref().map(|policy| policy.name());
    let format = args.format.format;
    let command = match policy {
        None => words(&args.command)?,
        Some(policy) => under(&spec, policy, format, &words(&args.command)?)?,
    };
    live::find(&args.command[0])?;
    let directory = std::env::current_dir().context("there is no working directory")?;
    let signals = Signals::new().context("cannot listen to signals")?;
    let mut guest = None;
    let ended = boot(args, spec, &signals).and_then(|mut vm| {
        let watch = Stopwatch::start();
        let mut forward = |stream: Stream, bytes: &[u8]| match stream {
            Stream::Output => io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()),
            Stream::Errors => io::stderr().write_all(bytes),
        };
        let ended = vm.run(&command, &directory, args.timeout, &signals, &mut forward);
        guest = Some((vm.accelerator(), vm.shares(), watch.seconds()));
        ended
    });
    if let (Some((accelerator, shares, elapsed)), Ok(ended), Format::Json, false) = (guest, &ended, format, args.quiet)
    {
        messages::plain(&json::print(&Account {
            machine: spec.to_string(),
            accelerator: format!("{accelerator:?}").to_lowercase(),
            big_share: shares.map(|shares| shares.big),
            little_share: shares.map(|shares| shares.little),
            policy,
            status: ended.code,
            elapsed_s: elapsed,
        })?);
    }
    match ended {
        Ok(ended) => Ok(ended.code),
        Err(Error::Interrupted(signal)) => Ok(launch::killed_by(signal)),
        Err(Error::Timeout(time)) => {
            messages::error(format_args!("the command did not end within {time}"));
            Ok(TIMED_OUT)
        }
        Err(error) if error.emulators_fault() => Err(anyhow::Error::new(error).context(
            "the guest died of a known race between the emulator and kernels that patch their own code, not of the \
             command; please start it again",
        )),
        Err(error) => Err(error.into()),
    }
}

/// What became of a command in a guest.
#[derive(Serialize)]
struct Account<'a> {
    machine: String,
    accelerator: String,
    big_share: Option<f64>,
    little_share: Option<f64>,
    policy: Option<&'a str>,
    status: u8,
    elapsed_s: f64,
}

/// Boots a guest as the options say, and says what the user should know of it.
fn boot(args: &VmRun, spec: Spec, signals: &Signals) -> Result<Vm, Error> {
    let options = Options {
        spec,
        kernel: kernel::find(args.kernel.as_deref())?,
        memory_mb: args.memory,
        accelerator: args.accel.map(Accel::into),
        shares: !args.symmetric,
    };
    let vm = Vm::boot(&options, signals, &mut |text| messages::warning(text))?;
    if let Some(shares) = vm.shares().filter(|_| !args.quiet && args.format.format == Format::Table) {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        messages::note(format_args!(
            "{spec} under {:?}: a big core has {} of a real one, a little core {}",
            vm.accelerator(),
            percent(shares.big),
            percent(shares.little)
        ));
    }
    Ok(vm)
}

/// A command under a policy, inside the guest.
pub fn under(spec: &Spec, policy: &str, format: Format, command: &[String]) -> Result<Vec<String>> {
    let format = if format == Format::Json { "json" } else { "table" };
    inside(spec, &["run", "--policy", policy, "--format", format], command)
}

/// A command under this program, inside the guest, which is told what the cores are.
pub fn inside(spec: &Spec, this: &[&str], command: &[String]) -> Result<Vec<String>> {
    let cpus = |range: std::ops::Range<u16>| range.collect::<Vec<_>>();
    let mut words = live::told(this, &cpus(0..spec.big), &cpus(spec.big..spec.cores()), spec.ratio)?;
    words.push("--".into());
    words.extend(command.iter().cloned());
    Ok(words)
}

fn words(command: &[std::ffi::OsString]) -> Result<Vec<String>> {
    let word = |word: &std::ffi::OsString| match word.to_str() {
        Some(word) => Ok(word.to_owned()),
        None => bail!("{}: only commands in UTF-8 can be sent to the guest", word.to_string_lossy()),
    };
    command.iter().map(word).collect()
}
