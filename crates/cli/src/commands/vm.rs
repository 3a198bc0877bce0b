//! `evenkeel vm`: an asymmetric machine on any Linux box.

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use evenkeel_linux::launch::{self, Signals};
use evenkeel_linux::spec::Spec;
use evenkeel_linux::vm::{self, Error, Job, Options, Stream, Vm, kernel};

use crate::args::{Accel, Format, Path as Decides, VmRun};
use crate::clock::Stopwatch;
use crate::{catalog, json, live, messages};

/// As `timeout` has it.
const TIMED_OUT: u8 = 124;

/// QEMU's default machine, an i440FX, has no more CPUs (`max_cpus` in its hw/i386/pc.c).
const MOST_CORES: u16 = 255;

/// Runs the command and returns the exit status.
pub fn run(args: &VmRun) -> Result<u8> {
    let spec = machine(&args.machine)?;
    let policy = args.policy.as_deref().map(catalog::live_policy).transpose()?;
    if let (Some(policy), Some(Decides::Kernel)) = (&policy, args.path) {
        catalog::decides_in_kernel(policy)?;
    }
    if args.scx && policy.is_none() {
        bail!(
            "scx is set, and there is no policy that could schedule: expected --policy as well, or policy beside scx"
        );
    }
    if args.path.is_some() && !args.scx {
        bail!(
            "path is set, which is where a policy decides under scx: expected --scx as well, or scx = true beside path"
        );
    }
    let policy = policy.as_ref().map(|policy| policy.name());
    let format = args.format.format;
    let command = match policy {
        None => words(&args.command)?,
        Some(policy) => {
            let host: &[&str] = match (args.scx, args.path) {
                (false, _) => &["run"],
                (true, None) => &["scx"],
                (true, Some(Decides::Kernel)) => &["scx", "--path", "kernel"],
                (true, Some(Decides::Daemon)) => &["scx", "--path", "daemon"],
            };
            if args.symmetric && spec.little > 0 && spec.ratio > 1.0 {
                messages::warning(format_args!(
                    "all cores are equally fast, and {policy} takes {} of them for {} times as fast",
                    spec.big, spec.ratio
                ));
            }
            under(&spec, host, policy, format, &words(&args.command)?)?
        }
    };
    launch::find(&args.command[0])?;
    let directory = directory()?;
    let writable = args.writable.iter().map(|path| folder(path)).collect::<Result<Vec<_>>>()?;
    let signals = Signals::new().context("cannot listen to signals")?;
    let mut guest = None;
    let ended = boot(args, spec, &signals).and_then(|mut vm| {
        let watch = Stopwatch::start();
        let (stdout, stderr) = (io::stdout(), io::stderr());
        let (output, errors) = (vm::Outlet::new(stdout.as_fd()), vm::Outlet::new(stderr.as_fd()));
        let mut forward = |stream: Stream, bytes: &[u8]| match stream {
            Stream::Output => output.put(bytes),
            Stream::Errors => errors.put(bytes),
        };
        let job = Job { command: &command, directory: &directory, writable: &writable, timeout: args.timeout };
        let ended = vm.run(&job, &signals, &mut forward, &mut |text| messages::warning(text));
        guest = Some((vm.accelerator(), vm.shares(), watch.seconds()));
        ended
    });
    if let (Some((accelerator, shares, elapsed)), Ok(ended), Format::Json, false) = (guest, &ended, format, args.quiet)
    {
        messages::account(&json::print(&json::Guest {
            machine: spec.to_string(),
            accelerator: accelerator.to_string().to_lowercase(),
            big_share: shares.map(|shares| shares.big),
            little_share: shares.map(|shares| shares.little),
            policy,
            status: ended.code,
            elapsed_s: elapsed,
        })?)?;
    }
    if let (Some((_, _, elapsed)), Ok(_), Format::Table, false, None) = (guest, &ended, format, args.quiet, policy) {
        messages::note(format_args!("the command took {elapsed:.3} s"));
    }
    ended.map(|ended| ended.code).or_else(status)
}

/// Prints what went wrong and returns its exit status; `Err` for a mistake in the request.
fn status(error: Error) -> Result<u8> {
    let code = match &error {
        Error::NoSuchKernel(_) => return Err(error.into()),
        // Without a message, like other programs whose output has lost its reader.
        Error::Output(cause) if cause.kind() == io::ErrorKind::BrokenPipe => {
            return Ok(launch::killed_by(libc::SIGPIPE));
        }
        Error::Interrupted(signal) => return Ok(launch::killed_by(*signal)),
        Error::Timeout(_) => TIMED_OUT,
        Error::Command { code, .. } => *code,
        _ => launch::OWN_FAILURE,
    };
    messages::error(&error);
    if error.emulators_fault() {
        messages::note("that is a fault of the emulator, not of the command; please start it again");
    }
    Ok(code)
}

/// A machine that a guest can be.
pub fn machine(word: &str) -> Result<Spec> {
    let spec: Spec = word.parse().map_err(anyhow::Error::msg)?;
    if spec.cores() > MOST_CORES {
        bail!("{word:?}: a guest has at most {MOST_CORES} cores");
    }
    Ok(spec)
}

/// A directory for the guest, as the guest finds it.
fn folder(path: &Path) -> Result<PathBuf> {
    let absolute = path.canonicalize().with_context(|| path.display().to_string())?;
    if !absolute.is_dir() {
        bail!("{}: expected a directory for the command to write to", path.display());
    }
    sendable(absolute)
}

/// Where this process is, for commands in the guest.
pub fn directory() -> Result<PathBuf> {
    sendable(std::env::current_dir().context("there is no working directory")?)
}

/// A directory that the guest can be told of.
fn sendable(directory: PathBuf) -> Result<PathBuf> {
    if directory.to_str().is_none() {
        bail!("{}: only names in UTF-8 can be sent to the guest", directory.display());
    }
    Ok(directory)
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
            "{spec} under {}: a big core has {} of a real one, a little core {}",
            vm.accelerator(),
            percent(shares.big),
            percent(shares.little)
        ));
    }
    Ok(vm)
}

/// A command under a policy, inside the guest, by this host: `run` or `scx`, with its options.
pub fn under(spec: &Spec, host: &[&str], policy: &str, format: Format, command: &[String]) -> Result<Vec<String>> {
    let format = if format == Format::Json { "json" } else { "table" };
    inside(spec, &[host, &["--policy", policy, "--format", format]].concat(), command)
}

/// A command under this program, inside the guest, with the exact ratio of the cores.
pub fn inside(spec: &Spec, this: &[&str], command: &[String]) -> Result<Vec<String>> {
    let cpus = |range: std::ops::Range<u16>| range.collect::<Vec<_>>();
    let mut words = live::for_machine(this, &cpus(0..spec.big), &cpus(spec.big..spec.cores()), spec.ratio)?;
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

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn a_directory_that_the_guest_cannot_be_told_of_is_a_mistake() {
        let place = tempfile::tempdir().unwrap();
        let named = |name: &[u8]| {
            let path = place.path().join(OsStr::from_bytes(name));
            fs::create_dir(&path).unwrap();
            folder(&path)
        };
        assert!(named("r\u{e9}sultats".as_bytes()).is_ok());
        let refused = named(b"r\xe9sultats").unwrap_err().to_string();
        assert!(refused.ends_with("only names in UTF-8 can be sent to the guest"), "{refused}");
    }
}
