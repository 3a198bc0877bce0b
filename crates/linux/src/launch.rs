//! Starts a program that does nothing until it is released, so that everything can be in place before its first
//! instruction; passes signals on; returns how it ended.

use std::ffi::{CString, OsStr, OsString};
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use evenkeel_model::Ns;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::FdFlags;
use rustix::process::{Pid, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};

use crate::event::Tid;
use crate::wait::poll;

/// The hidden command that runs [`gate`].
pub const COMMAND: &str = "__start";

/// The exit status if Evenkeel itself failed, as of `env`, `nohup` and `timeout`.
pub const OWN_FAILURE: u8 = 125;
/// The exit status if the command was found and cannot be executed.
const NOT_EXECUTABLE: u8 = 126;
/// The exit status if the command was not found.
const NOT_FOUND: u8 = 127;

/// Why a command is not started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is none.
    #[error("{0}")]
    NotFound(String),
    /// The kernel does not execute it.
    #[error("{0}")]
    NotExecutable(String),
    /// The process that was to become the command has gone.
    #[error("the process that was to become the command has gone")]
    Gone,
    /// No process can be started.
    #[error("cannot start a process: {0}")]
    Process(io::Error),
}

impl Error {
    /// Its exit status.
    pub fn code(&self) -> u8 {
        match self {
            Self::NotFound(_) => NOT_FOUND,
            Self::NotExecutable(_) => NOT_EXECUTABLE,
            Self::Gone | Self::Process(_) => OWN_FAILURE,
        }
    }

    fn of_code(code: u8, why: String) -> Self {
        if code == NOT_FOUND { Self::NotFound(why) } else { Self::NotExecutable(why) }
    }
}

/// Makes sure that a command can be found and may be executed.
///
/// # Errors
/// It cannot, or may not.
pub fn find(program: &OsStr) -> Result<(), Error> {
    let name = program.to_string_lossy();
    if program.is_empty() {
        return Err(Error::NotFound("the name of the command is empty; expected a program".into()));
    }
    if which::which(program).is_ok() {
        return Ok(());
    }
    let path = name.contains('/');
    let places: Vec<PathBuf> = if path {
        vec![program.into()]
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).map(|folder| folder.join(program)).collect()
    };
    let found = places.iter().map(|place| place.metadata()).find(|found| path || found.is_ok());
    Err(match found {
        Some(Ok(found)) if found.is_dir() => {
            Error::NotExecutable(format!("{name}: this is a directory; expected a program"))
        }
        Some(Ok(_)) => Error::NotExecutable(format!("{name}: not executable")),
        Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => Error::NotExecutable(format!("{name}: {error}")),
        Some(Err(_)) => Error::NotFound(format!("{name}: no such file")),
        None => Error::NotFound(format!("{name}: no such command; is it installed, and in PATH?")),
    })
}

/// A program that waits to be released, runs, or has ended.
pub struct Launched {
    child: Child,
    end: OwnedFd,
    gate: Option<io::PipeWriter>,
    /// Reports that the process has its name, and later why it cannot become the command. Ends when it has become it.
    heard: io::PipeReader,
    signals: Signals,
}

/// Signals that end a program unless it handles them.
const ENDING: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];
/// Those that keys of a terminal send to all processes in its foreground (`isig`, drivers/tty/n_tty.c).
const KEYS: [i32; 2] = [SIGINT, SIGQUIT];
/// Signals whose meaning is the program's own.
const FREE: [i32; 2] = [SIGUSR1, SIGUSR2];

/// Signals that have arrived and have not been acted on yet.
pub struct Signals(Vec<(i32, Arc<Heard>)>);

/// Who has sent a signal since it was last acted on.
#[derive(Default)]
struct Heard {
    terminal: AtomicBool,
    other: AtomicBool,
}

/// A signal that has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub signal: i32,
    /// A key of the terminal's was pressed, so that the command that this program runs has it, too.
    pub by_terminal: bool,
}

impl Signals {
    /// From now on signals that end a program do not end this one by themselves.
    ///
    /// # Errors
    /// None in practice.
    pub fn new() -> io::Result<Self> {
        Self::of(&ENDING)
    }

    /// The same, and signals that mean something to the program that this one runs do not end this one either.
    ///
    /// # Errors
    /// None in practice.
    pub fn to_pass_on() -> io::Result<Self> {
        Self::of(&[&ENDING[..], &FREE].concat())
    }

    /// Signals that this process ignored when it began stay ignored, here and in what it starts: a shell's background job, or
    /// one under `nohup`, is not ended by them.
    fn of(signals: &[i32]) -> io::Result<Self> {
        let ignored = ignored();
        let listen = |signal: &i32| {
            let heard = Arc::<Heard>::default();
            let (notes, keys) = (Arc::clone(&heard), KEYS.contains(signal));
            let note = move |info: &libc::siginfo_t| {
                let sender = if keys && info.si_code == libc::SI_KERNEL { &notes.terminal } else { &notes.other };
                sender.store(true, Ordering::Relaxed);
            };
            // SAFETY: within a signal handler `note` reads what it is given, and stores to an atomic.
            #[allow(unsafe_code)]
            unsafe { signal_hook_registry::register_sigaction(*signal, note) }?;
            Ok((*signal, heard))
        };
        signals
            .iter()
            .filter(|signal| ignored >> (**signal - 1) & 1 == 0)
            .map(listen)
            .collect::<io::Result<_>>()
            .map(Self)
    }

    /// The signal to end that arrived, if one did.
    pub fn end_signal(&self) -> Option<i32> {
        let mut ending = self.0.iter().filter(|(signal, _)| Self::ends(*signal));
        let arrived = |heard: &Heard| heard.terminal.load(Ordering::Relaxed) || heard.other.load(Ordering::Relaxed);
        ending.find(|(_, heard)| arrived(heard)).map(|(signal, _)| *signal)
    }

    /// Whether a signal is one to end.
    pub(crate) fn ends(signal: i32) -> bool {
        ENDING.contains(&signal)
    }

    /// The signals that arrived since the last call.
    pub(crate) fn take(&self) -> impl Iterator<Item = Arrived> + '_ {
        self.0.iter().flat_map(|(signal, heard)| {
            let arrived = |by_terminal| Arrived { signal: *signal, by_terminal };
            let taken = [(&heard.terminal, true), (&heard.other, false)]
                .map(|(flag, by_terminal)| flag.swap(false, Ordering::Relaxed).then_some(arrived(by_terminal)));
            taken.into_iter().flatten()
        })
    }
}

/// The signals that this process ignores: signal `n` is bit `n - 1` (proc_pid_status(5)).
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

/// From now on a file that would grow beyond the limit (`ulimit -f`) is an error of the write, not the end of this
/// process. What it starts dies of that as ever.
///
/// # Errors
/// None in practice.
pub fn outlive_file_limit() -> io::Result<()> {
    Signals::of(&[SIGXFSZ]).map(|_| ())
}

impl Launched {
    /// Starts a process that will become the command. It keeps this process's standard streams.
    ///
    /// # Errors
    /// There is no such command, or no process can be started.
    pub fn new(command: &[OsString]) -> Result<Self, Error> {
        Self::with(command, &[])
    }

    /// [`Self::new`], with more variables in its environment.
    ///
    /// # Errors
    /// As there.
    pub fn with(command: &[OsString], variables: &[(&str, OsString)]) -> Result<Self, Error> {
        command.first().map_or(Ok(()), |program| find(program))?;
        Self::start(command, variables).map_err(Error::Process)
    }

    fn start(command: &[OsString], variables: &[(&str, OsString)]) -> io::Result<Self> {
        // Until the command has ended this process stays; the terminal's Ctrl-C reaches both.
        let signals = Signals::to_pass_on()?;
        let ((reader, writer), (mut heard, said)) = (io::pipe()?, io::pipe()?);
        rustix::io::fcntl_setfd(&reader, FdFlags::empty())?;
        rustix::io::fcntl_setfd(&said, FdFlags::empty())?;
        let descriptors = [reader.as_raw_fd(), said.as_raw_fd()].map(|fd| fd.to_string());
        let mut launcher = Command::new("/proc/self/exe");
        launcher.envs(variables.iter().map(|(name, value)| (name, value)));
        let child = launcher.arg(COMMAND).args(descriptors).args(command).spawn()?;
        drop(said);
        let end = end_of(child.id())?;
        heard.read_exact(&mut [0])?;
        Ok(Self { child, end, gate: Some(writer), heard, signals })
    }

    /// Becomes readable when it has ended.
    pub fn end(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }

    /// Waits until the command, which is released, has ended, and passes signals on meanwhile.
    ///
    /// # Errors
    /// None in practice.
    pub fn finish(&mut self) -> io::Result<ExitStatus> {
        self.finish_while(|| ())
    }

    /// The same, with `also` called every 100 ms or more often.
    ///
    /// # Errors
    /// None in practice.
    pub fn finish_while(&mut self, mut also: impl FnMut()) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.poll()? {
                return Ok(status);
            }
            also();
            // Another thread of this process may get the signal, and then nothing ends the wait.
            poll(&[self.end()], Ns::from_ms(100))?;
        }
    }

    /// Its process.
    pub fn pid(&self) -> Tid {
        self.child.id()
    }

    /// Lets it begin. Returns when it has become the command.
    ///
    /// # Errors
    /// It is gone already, or cannot become the command.
    pub fn release(&mut self) -> Result<(), Error> {
        self.gate.take().map_or(Ok(()), |mut gate| gate.write_all(b"!")).map_err(|_| Error::Gone)?;
        let mut said = Vec::new();
        self.heard.read_to_end(&mut said).map_err(Error::Process)?;
        match said.split_first() {
            Some((code, why)) => Err(Error::of_code(*code, String::from_utf8_lossy(why).into_owned())),
            None => Ok(()),
        }
    }

    /// Passes on the signals that arrived. Returns how the command ended, if it has.
    ///
    /// # Errors
    /// None in practice.
    pub fn poll(&mut self) -> io::Result<Option<ExitStatus>> {
        for Arrived { signal, .. } in self.signals.take().filter(|arrived| !arrived.by_terminal) {
            if let Some(signal) = Signal::from_named_raw(signal) {
                let _ = rustix::process::kill_process(Pid::from_child(&self.child), signal);
            }
        }
        self.child.try_wait()
    }
}

/// What becomes readable when a process has ended.
///
/// # Errors
/// There is no such process.
pub fn end_of(process: Tid) -> io::Result<OwnedFd> {
    let process = Pid::from_raw(process as i32).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::pidfd_open(process, rustix::process::PidfdFlags::empty())?)
}

/// Whether a process has ended, all of its threads, by what [`end_of`] gives.
///
/// # Errors
/// None in practice.
pub fn ended(end: BorrowedFd<'_>) -> io::Result<bool> {
    let mut fds = [PollFd::from_borrowed_fd(end, PollFlags::IN)];
    rustix::event::poll(&mut fds, Some(&Timespec::default()))?;
    Ok(!fds[0].revents().is_empty())
}

/// The hidden command that runs [`tie`].
pub const TIED: &str = "__tied";

/// A command that the kernel sends a signal when this thread ends, however it ends.
pub fn tied(program: impl AsRef<OsStr>, signal: Signal) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg(TIED).args([signal.as_raw().to_string(), std::process::id().to_string()]).arg(program);
    command
}

/// What a tied process does first: arranges to get the signal with its parent's end, then becomes the command. Returns only if it cannot:
/// the exit status that says so, and why.
pub fn tie(args: &[OsString]) -> (u8, String) {
    let mut parts = args.iter();
    let mut number = || parts.next().and_then(|word| word.to_str()?.parse::<i32>().ok());
    let (signal, parent) = (number().and_then(Signal::from_named_raw), number());
    let (Some(signal), Some(program)) = (signal, parts.next()) else {
        return (OWN_FAILURE, "expected a signal, a process and a command".into());
    };
    if let Err(error) = rustix::process::set_parent_process_death_signal(Some(signal)) {
        return (OWN_FAILURE, format!("cannot be tied to its parent: {error}"));
    }
    // The parent may have gone before that.
    if rustix::process::getppid().map(Pid::as_raw_pid) != parent {
        return (OWN_FAILURE, "cancelled".into());
    }
    failure(program, &Command::new(program).args(parts).exec())
}

/// The status that says that a signal was the end, as shells have it.
pub fn killed_by(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// The status with which a wrapper of a command should exit: its own, or 128 + the signal that killed it.
pub fn exit_code(status: ExitStatus) -> u8 {
    match status.signal() {
        Some(signal) => killed_by(signal),
        None => status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(OWN_FAILURE),
    }
}

/// What the started process does first: waits to be released, then becomes the command. Returns only if it cannot, which
/// the process that started it reads.
///
/// # Errors
/// It was not started by [`Launched::new`], which has gone, or cannot be heard.
pub fn gate(args: &[OsString]) -> io::Result<()> {
    let fd = |word: &OsString| word.to_str()?.parse::<RawFd>().ok().filter(|fd| *fd > 2);
    let [gate, said, program, rest @ ..] = args else { return Err(io::ErrorKind::InvalidInput.into()) };
    let (Some(gate), Some(said)) = (fd(gate), fd(said)) else { return Err(io::ErrorKind::InvalidInput.into()) };
    // SAFETY: the parent left these descriptors open for this fresh process, which has no other use of them.
    #[allow(unsafe_code)]
    let (mut gate, mut said) = unsafe { (io::PipeReader::from_raw_fd(gate), io::PipeWriter::from_raw_fd(said)) };
    rustix::io::fcntl_setfd(&said, FdFlags::CLOEXEC)?;
    // A sample before the command has taken its place should have its name.
    if let Some(name) = Path::new(program).file_name() {
        let _ = CString::new(name.as_bytes()).map(|name| rustix::thread::set_name(&name));
    }
    said.write_all(b"!")?;
    // It ends without a word if Evenkeel does, which has said why.
    gate.read_exact(&mut [0])?;
    drop(gate);
    let (code, why) = failure(program, &Command::new(program).args(rest).exec());
    said.write_all(&[&[code], why.as_bytes()].concat())
}

/// Why a program could not be started, and the exit status for that.
pub fn refused(program: &OsStr, error: &io::Error) -> (String, u8) {
    let (code, why) = failure(program, error);
    (why, code)
}

/// Why a program could not be started, and the exit status that says so: a script without its interpreter is not found, as
/// the kernel, `env` and `timeout` have it.
fn failure(program: &OsStr, error: &io::Error) -> (u8, String) {
    let name = program.to_string_lossy();
    if let Err(error) = find(program) {
        return (error.code(), error.to_string());
    }
    match (error.kind(), which::which(program)) {
        (io::ErrorKind::NotFound, Ok(file)) => {
            (NOT_FOUND, format!("{name}: its interpreter{} does not exist", interpreter(&file)))
        }
        (io::ErrorKind::PermissionDenied, _) => (NOT_EXECUTABLE, format!("{name}: not executable")),
        _ => (NOT_EXECUTABLE, format!("{name}: cannot be executed: {error}")),
    }
}

/// What the first line of a script names, after a space.
fn interpreter(file: &Path) -> String {
    let text = fs::read(file).unwrap_or_default();
    let line = text.strip_prefix(b"#!").and_then(|rest| rest.split(|byte| *byte == b'\n').next());
    let line = String::from_utf8_lossy(line.unwrap_or_default());
    line.split_whitespace().next().map_or(String::new(), |word| format!(" {word}"))
}
