//! An asymmetric machine on any Linux box.
//!
//! QEMU boots a Linux kernel on this machine's own files, shared by virtiofs, with this same program as its first
//! process: so every command of the host runs in the guest with the libraries that it has here. Once the guest is up, each
//! virtual core is held to a share of a real one with SCHED_DEADLINE. The guest's kernel knows nothing of it; its programs
//! find in sysfs how fast each core is.

pub mod bench;
pub mod guest;
pub mod kernel;
pub mod kvm;
pub mod reservations;

mod boot;
mod enforcement;
mod error;
mod monitor;
mod options;
mod output;
mod port;
mod processes;
mod protocol;
mod qemu;
pub(crate) mod shares;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use evenkeel_model::Ns;

use crate::clock::clock;
use crate::launch::Signals;
use enforcement::Enforcement;
use error::tried;
use port::Port;
use processes::Processes;
use protocol::{Reply, Request, Run};

pub use error::Error;
pub use options::{Accelerator, Options};
pub use output::Outlet;
pub use shares::Shares;

/// The variable that names a configuration of `evenkeel`.
pub const CONFIG: &str = "EVENKEEL_CONFIG";
/// Variables for this machine's own programs: a configuration may have CPUs of this machine, and its service manager is not that
/// of the guest.
const ELSEWHERE: [&str; 2] = [CONFIG, "NOTIFY_SOCKET"];

/// A running guest. It is switched off when this is dropped.
pub struct Vm {
    processes: Processes,
    port: Port,
    shares: Option<(Shares, Enforcement)>,
    accelerator: Accelerator,
    options: Options,
    commands: u32,
    /// How often it was booted.
    boots: u32,
    /// Whether the last command has begun.
    began: bool,
}

/// A command for a guest.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The command, with its arguments.
    pub command: &'a [String],
    /// Its working directory, which it may write to, as to /tmp.
    pub directory: &'a Path,
    /// Further directories that it may write to.
    pub writable: &'a [PathBuf],
    /// How long it may take; without, as long as it likes.
    pub timeout: Option<Ns>,
}

/// How a command in the guest ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code; 128 + signal if a signal ended it.
    pub code: u8,
    /// How long it took, by the guest's clock.
    pub elapsed: Ns,
}

/// Which of its two streams a command wrote to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Errors,
}

/// Receives what a command writes. Returns how much of it was taken, within a moment, as by [`Outlet::put`].
pub type Sink<'a> = dyn FnMut(Stream, &[u8]) -> io::Result<usize> + 'a;

impl Vm {
    /// Boots a guest and waits until it is up. `notice` receives what the user should know.
    ///
    /// # Errors
    /// Something is missing on this machine, or the guest does not come up.
    pub fn boot(options: &Options, signals: &Signals, notice: &mut dyn FnMut(&str)) -> Result<Self, Error> {
        boot::boot(options, signals, notice)
    }

    /// The shares of a real core that its cores have; `None` if they are not limited.
    pub fn shares(&self) -> Option<Shares> {
        self.shares.as_ref().map(|(shares, _)| *shares)
    }

    /// What runs its code.
    pub fn accelerator(&self) -> Accelerator {
        self.accelerator
    }

    /// How often it was booted: more than once if QEMU crashed before a command had begun.
    pub fn boots(&self) -> u32 {
        self.boots
    }

    /// Runs a command. `output` receives what it writes, as it is written. If QEMU crashes before the command has begun, the
    /// guest is booted again.
    ///
    /// # Errors
    /// The command does not exist, the guest died, or a signal arrived.
    pub fn run(
        &mut self,
        job: &Job<'_>,
        signals: &Signals,
        output: &mut Sink<'_>,
        notice: &mut dyn FnMut(&str),
    ) -> Result<Ended, Error> {
        let mut boots = 1;
        loop {
            match self.attempt(job, signals, output) {
                Err(error) if error.emulators_fault() && !self.began && boots < boot::BOOTS => {
                    notice(&boot::again(&error, boots));
                    boots += 1;
                    // The new one needs the reservations of the old one.
                    self.processes.end();
                    self.shares = None;
                    let before = self.boots;
                    *self = Self::boot(&self.options, signals, notice)?;
                    self.boots += before;
                }
                result => return result,
            }
        }
    }

    fn attempt(&mut self, job: &Job<'_>, signals: &Signals, output: &mut Sink<'_>) -> Result<Ended, Error> {
        self.commands += 1;
        self.began = false;
        let file = |name: &str| self.processes.folder().join(format!("{}.{name}", self.commands));
        let names = [file("out"), file("err")];
        let create =
            |name: &PathBuf| File::create(name).and_then(|_| File::open(name)).map_err(tried("cannot write to /tmp"));
        let mut streams = [(Stream::Output, create(&names[0])?), (Stream::Errors, create(&names[1])?)];
        let run = Run {
            command: job.command.to_vec(),
            environment: environment(std::env::vars_os()),
            directory: job.directory.display().to_string(),
            writable: job.writable.iter().map(|path| path.display().to_string()).collect(),
            output: names[0].display().to_string(),
            errors: names[1].display().to_string(),
        };
        let deadline = job.timeout.map(|timeout| (clock() + timeout, timeout));
        let uninterrupted = || signals.end_signal().map_or(Ok(()), |signal| Err(Error::Interrupted(signal)));
        let in_time = || match deadline {
            Some((deadline, timeout)) if clock() > deadline => Err(Error::Timeout(timeout)),
            _ => uninterrupted(),
        };
        let mut sent = self.port.send(&Request::Run(run));
        while !sent.map_err(|lost| self.processes.lost(lost.0, signals))? {
            self.processes.check(signals)?;
            in_time()?;
            sent = self.port.sent();
        }
        let last = loop {
            match self.port.receive().map_err(|lost| self.processes.lost(lost.0, signals)) {
                Ok(Some(Reply::Begins)) => self.began = true,
                Ok(Some(reply)) => break Ok(reply),
                Ok(None) => {}
                Err(error) => break Err(error),
            }
            forward(&mut streams, output, in_time)?;
            self.processes.check(signals)?;
            in_time()?;
        };
        // What it wrote before its end, too. What it has left running may still write.
        forward(&mut streams, output, in_time)?;
        let reply = last?;
        names.iter().for_each(|name| drop(fs::remove_file(name)));
        match reply {
            Reply::Ended { code, nanoseconds } => Ok(Ended { code, elapsed: Ns(nanoseconds) }),
            Reply::Failed { reason, code } => Err(Error::Command { reason, code }),
            Reply::Ready | Reply::Begins => Err(self.processes.lost("sent what is no message", signals)),
        }
    }
}

impl Drop for Vm {
    fn drop(&mut self) {
        // A guest without commands has nothing to lose: its files are the host's.
        let _ = self.port.send(&Request::Off);
    }
}

/// Those of this process's variables that a guest's commands have: not what is not UTF-8, and not [`ELSEWHERE`].
fn environment(own: impl Iterator<Item = (OsString, OsString)>) -> Vec<(String, String)> {
    own.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| !ELSEWHERE.contains(&name.as_str()))
        .collect()
}

/// Passes on what is new in the files that a command writes to, as far as they reach now: it may write faster than its
/// output is read, which may be never. Before more of a file there is a `check`.
fn forward(
    streams: &mut [(Stream, File); 2],
    output: &mut Sink<'_>,
    check: impl Fn() -> Result<(), Error>,
) -> Result<(), Error> {
    let wrong = tried("cannot read what the command wrote");
    let mut buffer = [0; 1 << 16];
    for (stream, file) in streams {
        let length = file.metadata().map_err(&wrong)?.len();
        let passed = file.stream_position().map_err(&wrong)?;
        let mut present = file.take(length.saturating_sub(passed));
        loop {
            let read = present.read(&mut buffer).map_err(&wrong)?;
            if read == 0 {
                break;
            }
            let mut rest = &buffer[..read];
            while !rest.is_empty() {
                let taken = output(*stream, rest).map_err(Error::Output)?;
                rest = &rest[taken..];
                if !rest.is_empty() || present.limit() > 0 {
                    check()?;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::Write;

    use super::*;

    /// What a buffer has of it.
    const BUFFER: usize = 1 << 16;

    #[test]
    fn a_command_that_writes_faster_than_it_is_read_can_be_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["out", "err"].map(|name| folder.path().join(name));
        let [mut out, _] = names.each_ref().map(|name| File::create(name).unwrap());
        let [of_out, of_err] = names.each_ref().map(|name| File::open(name).unwrap());
        let mut streams = [(Stream::Output, of_out), (Stream::Errors, of_err)];
        out.write_all(&[b'x'; 3 * BUFFER]).unwrap();
        let (passed, checks) = (Cell::new(0), Cell::new(0));
        let mut sink = |_: Stream, bytes: &[u8]| {
            passed.set(passed.get() + bytes.len());
            assert!(passed.get() < 100 * BUFFER, "there is no end of it");
            out.write_all(&[b'x'; BUFFER]).map(|()| bytes.len())
        };
        let check = || {
            checks.set(checks.get() + 1);
            Ok(())
        };
        forward(&mut streams, &mut sink, check).unwrap();
        assert_eq!((passed.get(), checks.get()), (3 * BUFFER, 2));
        let stopped = forward(&mut streams, &mut sink, || Err(Error::Interrupted(libc::SIGINT)));
        assert!(matches!(stopped, Err(Error::Interrupted(libc::SIGINT))) && passed.get() == 4 * BUFFER, "{stopped:?}");
    }

    #[test]
    fn a_command_whose_output_is_not_read_can_be_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["out", "err"].map(|name| folder.path().join(name));
        fs::write(&names[0], "abc").unwrap();
        fs::write(&names[1], "").unwrap();
        let [of_out, of_err] = names.each_ref().map(|name| File::open(name).unwrap());
        let mut streams = [(Stream::Output, of_out), (Stream::Errors, of_err)];
        let mut text = Vec::new();
        // Its reader has room for two bytes.
        let mut sink = |_: Stream, bytes: &[u8]| {
            let taken = bytes.len().min(2 - text.len());
            text.extend_from_slice(&bytes[..taken]);
            Ok(taken)
        };
        let checks = Cell::new(0);
        let check = || {
            checks.set(checks.get() + 1);
            if checks.get() < 5 { Ok(()) } else { Err(Error::Timeout(Ns::from_ms(1))) }
        };
        let stopped = forward(&mut streams, &mut sink, check);
        assert!(matches!(stopped, Err(Error::Timeout(_))) && text == b"ab", "{stopped:?}");
    }

    #[test]
    fn a_guest_has_the_variables_that_mean_the_same_there() {
        let own = [("PATH", "/bin"), (CONFIG, "/home/me/evenkeel.toml"), ("NOTIFY_SOCKET", "@manager")];
        let own = own.map(|(name, value)| (name.into(), value.into()));
        assert_eq!(environment(own.into_iter()), [("PATH".to_owned(), "/bin".to_owned())]);
    }
}
