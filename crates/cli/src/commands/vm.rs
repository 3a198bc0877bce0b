//! `evenkeel vm`: an asymmetric machine on any Linux box.

use std::io::{self, Write};

use anyhow::{Context, Result, bail};
use evenkeel_linux::launch::{self, Signals};
use evenkeel_linux::spec::Spec;
use evenkeel_linux::vm::{Error, Options, Stream, Vm, kernel};

use crate::args::{Accel, VmRun};
use crate::{catalog, live, messages};

/// What `timeout` answers.
const TIMED_OUT: u8 = 124;

/// Runs the command and answers the exit status.
pub fn run(args: &VmRun) -> Result<u8> {
    let spec: Spec = args.machine.parse().map_err(anyhow::Error::msg)?;
    let command = match &args.policy {
        None => words(&args.command)?,
        Some(policy) => under(&spec, catalog::live_policy(policy)?.name(), &words(&args.command)?)?,
    };
    live::find(&args.command[0])?;
    let directory = std::env::current_dir().context("there is no working directory")?;
    let signals = Signals::new().context("cannot listen to signals")?;
    let ended = boot(args, spec, &signals).and_then(|mut vm| {
        let mut forward = |stream: Stream, bytes: &[u8]| match stream {
            Stream::Output => io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()),
            Stream::Errors => io::stderr().write_all(bytes),
        };
        vm.run(&command, &directory, args.timeout, &signals, &mut forward)
    });
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
    if let Some(shares) = vm.shares().filter(|_| !args.quiet) {
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
pub fn under(spec: &Spec, policy: &str, command: &[String]) -> Result<Vec<String>> {
    inside(spec, &["run", "--policy", policy], command)
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
