//! An asymmetric machine on any Linux box.
//!
//! QEMU boots a Linux kernel on this machine's own files, shared by virtiofs, with this same program as its first
//! process: so every command of the host runs in the guest with the libraries that it has here. Once the guest is up, each
//! virtual core is held to a share of a real one with SCHED_DEADLINE. The guest's kernel knows nothing of it.

pub mod guest;
pub mod kernel;

mod protocol;
mod qemu;
pub(crate) mod shares;

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use evenkeel_model::Ns;

use crate::host::clock;
use crate::launch::Signals;
use crate::scratch::Scratch;
use crate::spec::Spec;
pub use protocol::Run;
use protocol::{Answer, Request};
pub use shares::Shares;

/// A guest that does not come up in this time never will.
const BOOT: Ns = Ns::from_secs(120);
/// How often the guest's output is looked at.
const POLL: Duration = Duration::from_millis(20);
/// With a thread for each virtual core, some kernels die of a race between code patching and QEMU's translation in about
/// one boot in twenty; it leaves this in the log.
const PATCHING_RACE: &str = "int3";
/// How often a boot that died of that is repeated.
const BOOTS: u32 = 4;

/// How a guest is booted.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its cores.
    pub spec: Spec,
    /// Its kernel.
    pub kernel: PathBuf,
    /// Its memory, in MB.
    pub memory_mb: u32,
    /// What runs its code; `None` for KVM where that works, else TCG.
    pub accelerator: Option<Accelerator>,
    /// Whether its cores differ in speed. Without, it runs at full speed, on one real core under TCG.
    pub shares: bool,
}

/// What runs the guest's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// The processor itself.
    Kvm,
    /// QEMU's translator: about ten times slower, and works everywhere.
    Tcg,
}

/// Why a guest could not be booted, or a command not be run in it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No kernel was found.
    #[error(
        "there is no kernel for the guest: `scripts/kernel` fetches one, or name one with --kernel or {}",
        kernel::VARIABLE
    )]
    NoKernel,
    /// The kernel that was asked for does not exist.
    #[error("{0}: no such kernel; expected an image such as /boot/vmlinuz-7.0")]
    NoSuchKernel(PathBuf),
    /// QEMU or its file server is not installed.
    #[error("{0} is not installed; on Debian: apt install qemu-system-x86")]
    NotInstalled(&'static str),
    /// The guest ended, or never began.
    #[error("the guest {what}{}", console_tail(console))]
    Guest {
        /// What it did.
        what: String,
        /// The end of its console.
        console: String,
    },
    /// The shares could not be reserved.
    #[error("cannot reserve CPU time for the guest's cores (SCHED_DEADLINE): {0}; {hint}", hint = shares_hint(.0))]
    Shares(io::Error),
    /// The guest could not run the command.
    #[error("{0}")]
    Command(String),
    /// Ctrl-C, or another signal that asks to end.
    #[error("interrupted")]
    Interrupted(i32),
    /// The time was over.
    #[error("the command did not end within {0}")]
    Timeout(Ns),
    /// Anything else that the system refused.
    #[error("{what}: {error}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        error: io::Error,
    },
}

fn shares_hint(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EBUSY) => "others have reserved too much of it; is another `evenkeel vm` running?",
        _ => "this needs root; --symmetric does without",
    }
}

impl Error {
    /// Whether the guest's kernel died of the emulator's known race, and of nothing that it was asked to do.
    pub fn emulators_fault(&self) -> bool {
        matches!(self, Self::Guest { console, .. } if console.contains(PATCHING_RACE))
    }
}

fn console_tail(console: &str) -> String {
    let lines: Vec<&str> = console.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let tail = &lines[lines.len().saturating_sub(8)..];
    if tail.is_empty() { String::new() } else { format!("; the end of its console:\n{}", tail.join("\n")) }
}

fn tried(what: &'static str) -> impl Fn(io::Error) -> Error {
    move |error| Error::Io { what, error }
}

/// A running guest. It is switched off when this is dropped.
pub struct Vm {
    qemu: Child,
    files: Child,
    port: BufReader<UnixStream>,
    folder: Scratch,
    shares: Option<Shares>,
    accelerator: Accelerator,
    commands: u32,
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

impl Vm {
    /// Boots a guest and waits until it is up. `notice` hears what the user should know.
    ///
    /// # Errors
    /// Something is missing on this machine, or the guest does not come up.
    pub fn boot(options: &Options, signals: &Signals, notice: &mut dyn FnMut(&str)) -> Result<Self, Error> {
        let wanted = options.accelerator.unwrap_or(Accelerator::Kvm);
        if wanted == Accelerator::Kvm {
            let usable = File::options().read(true).write(true).open("/dev/kvm").is_ok();
            let booted = if usable { Self::boot_with(options, wanted, signals) } else { Err(no_kvm()) };
            match booted {
                Err(Error::Guest { .. }) if options.accelerator.is_none() => {}
                booted => return booted,
            }
        }
        let mut boots = 1;
        loop {
            match Self::boot_with(options, Accelerator::Tcg, signals) {
                Err(error) if error.emulators_fault() && boots < BOOTS => {
                    notice("the guest's kernel died of a known race in the emulator while booting; trying again");
                    boots += 1;
                }
                booted => return booted,
            }
        }
    }

    fn boot_with(options: &Options, accelerator: Accelerator, signals: &Signals) -> Result<Self, Error> {
        let emulator = qemu::Emulator::find().ok_or(Error::NotInstalled(qemu::QEMU))?;
        let server = file_server().ok_or(Error::NotInstalled("virtiofsd"))?;
        let program = std::env::current_exe().map_err(tried("cannot find this program's own file"))?;
        let folder = Scratch::new("vm").map_err(tried("cannot make a folder in /tmp"))?;
        let console = folder.path().join("console");
        let machine = qemu::Machine {
            cores: options.spec.cores(),
            memory_mb: options.memory_mb,
            kernel: &options.kernel,
            accelerator,
            threads: options.shares,
            sockets: folder.path(),
            emulator: &emulator,
            program: &program,
            console: &console,
        };
        let listener = UnixListener::bind(machine.port()).map_err(tried("cannot make a socket in /tmp"))?;
        listener.set_nonblocking(true).map_err(tried("cannot listen on a socket"))?;
        let log = |name: &str| File::create(folder.path().join(name)).map_err(tried("cannot write to /tmp"));
        let mut files =
            machine.file_server(&server).stderr(log("files.log")?).spawn().map_err(tried("cannot start virtiofsd"))?;
        let deadline = clock() + BOOT;
        let mut waiting = Waiting { deadline, signals, folder: folder.path() };
        while !machine.files().exists() {
            waiting.once(&mut files, "has no file server", "files.log")?;
        }
        let mut qemu = machine.command().stderr(log("qemu.log")?).spawn().map_err(tried("cannot start QEMU"))?;
        let port = loop {
            match listener.accept() {
                Ok((port, _)) => break port,
                Err(_) => waiting.once(&mut qemu, "could not be started", "qemu.log")?,
            }
        };
        port.set_nonblocking(false)
            .and_then(|()| port.set_read_timeout(Some(POLL)))
            .map_err(tried("cannot use a socket"))?;
        let mut vm = Self { qemu, files, port: BufReader::new(port), folder, shares: None, accelerator, commands: 0 };
        let answer = vm.answer(Some(deadline), signals, &mut || Ok(()));
        let answer = answer.map_err(|error| match error {
            Error::Timeout(_) => vm.lost("did not come up"),
            error => error,
        })?;
        if !matches!(answer, Answer::Ready) {
            return Err(vm.lost("said something unexpected"));
        }
        if options.shares {
            let real = std::thread::available_parallelism().map_or(1, usize::from);
            let cores = shares::virtual_cores(vm.qemu.id()).map_err(Error::Shares)?;
            shares::serve_first(vm.qemu.id(), &cores);
            shares::serve_first(vm.files.id(), &[]);
            vm.shares = Some(Shares::of(&options.spec, real).reserve(&options.spec, &cores).map_err(Error::Shares)?);
        }
        Ok(vm)
    }

    /// The shares of a real core that its cores have; `None` if they are not limited.
    pub fn shares(&self) -> Option<Shares> {
        self.shares
    }

    /// What runs its code.
    pub fn accelerator(&self) -> Accelerator {
        self.accelerator
    }

    /// Runs a command. What it writes comes to `output` as it is written.
    ///
    /// # Errors
    /// The command does not exist, the guest died, or the user wants to end.
    pub fn run(
        &mut self,
        command: &[String],
        directory: &Path,
        timeout: Option<Ns>,
        signals: &Signals,
        output: &mut dyn FnMut(Stream, &[u8]) -> io::Result<()>,
    ) -> Result<Ended, Error> {
        self.commands += 1;
        let file = |name: &str| self.folder.path().join(format!("{}.{name}", self.commands));
        let names = [file("out"), file("err")];
        let create =
            |name: &PathBuf| File::create(name).and_then(|_| File::open(name)).map_err(tried("cannot write to /tmp"));
        let mut streams = [(Stream::Output, create(&names[0])?), (Stream::Errors, create(&names[1])?)];
        let mut forward = || -> Result<(), Error> {
            let mut buffer = [0; 1 << 16];
            for (stream, file) in &mut streams {
                loop {
                    let read = file.read(&mut buffer).map_err(tried("cannot read what the command wrote"))?;
                    if read == 0 {
                        break;
                    }
                    output(*stream, &buffer[..read]).map_err(tried("cannot pass on what the command wrote"))?;
                }
            }
            Ok(())
        };
        self.say(&Request::Run(Run {
            command: command.to_vec(),
            environment: std::env::vars().collect(),
            directory: directory.display().to_string(),
            output: names[0].display().to_string(),
            errors: names[1].display().to_string(),
        }))?;
        let deadline = timeout.map(|timeout| clock() + timeout);
        let answer = self.answer(deadline, signals, &mut forward);
        forward()?;
        names.iter().for_each(|name| drop(fs::remove_file(name)));
        match answer {
            Ok(Answer::Ended { code, nanoseconds }) => Ok(Ended { code, elapsed: Ns(nanoseconds) }),
            Ok(Answer::Failed { reason }) => {
                Err(Error::Command(format!("{}: cannot be run in the guest: {reason}", command.join(" "))))
            }
            Ok(Answer::Ready) => Err(self.lost("said something unexpected")),
            Err(Error::Timeout(_)) => Err(Error::Timeout(timeout.unwrap_or_default())),
            Err(error) => Err(error),
        }
    }

    fn say(&mut self, request: &Request) -> Result<(), Error> {
        let mut line = serde_json::to_vec(request).map_err(|error| Error::Command(error.to_string()))?;
        line.push(b'\n');
        let said = self.port.get_mut().write_all(&line);
        said.map_err(|_| self.lost("does not listen any more"))
    }

    /// The guest's next answer. Meanwhile `idle` is called every [`POLL`].
    fn answer(
        &mut self,
        deadline: Option<Ns>,
        signals: &Signals,
        idle: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<Answer, Error> {
        let mut line = Vec::new();
        loop {
            match self.port.read_until(b'\n', &mut line) {
                Ok(_) if line.ends_with(b"\n") => break,
                Ok(_) => return Err(self.lost("has gone")),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(self.lost("has gone")),
            }
            idle()?;
            if let Some(signal) = signals.asked_to_end() {
                return Err(Error::Interrupted(signal));
            }
            if deadline.is_some_and(|deadline| clock() > deadline) {
                return Err(Error::Timeout(Ns::ZERO));
            }
        }
        serde_json::from_slice(&line).map_err(|_| self.lost("said something unexpected"))
    }

    fn lost(&mut self, what: &str) -> Error {
        // Its last words may still be on their way.
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
        guest_error(self.folder.path(), what, "qemu.log")
    }
}

impl Drop for Vm {
    fn drop(&mut self) {
        // A guest without commands has nothing to lose; its files are the host's.
        let _ = self.say(&Request::Off);
        for child in [&mut self.qemu, &mut self.files] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What can happen while something is waited for.
struct Waiting<'a> {
    deadline: Ns,
    signals: &'a Signals,
    folder: &'a Path,
}

impl Waiting<'_> {
    fn once(&mut self, child: &mut Child, what: &str, log: &str) -> Result<(), Error> {
        let gone = child.try_wait().map_err(tried("cannot wait for a process"))?.is_some();
        if gone || clock() > self.deadline {
            return Err(guest_error(self.folder, what, log));
        }
        if let Some(signal) = self.signals.asked_to_end() {
            return Err(Error::Interrupted(signal));
        }
        std::thread::sleep(POLL);
        Ok(())
    }
}

fn guest_error(folder: &Path, what: &str, log: &str) -> Error {
    let read = |name: &str| fs::read(folder.join(name)).map(|text| String::from_utf8_lossy(&text).into_owned());
    let console = read("console").unwrap_or_default() + "\n" + &read(log).unwrap_or_default();
    Error::Guest { what: what.to_owned(), console }
}

fn no_kvm() -> Error {
    Error::Guest { what: "cannot use KVM: /dev/kvm is missing or not accessible".into(), console: String::new() }
}

/// QEMU's own file server, which Debian and Fedora keep out of the path.
fn file_server() -> Option<PathBuf> {
    let places = ["/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd"].map(PathBuf::from);
    which::which("virtiofsd").ok().or_else(|| places.into_iter().find(|place| place.is_file()))
}
