//! Starts a program that does nothing until it is released, so that everything can be in place before its first
//! instruction; passes signals on; tells how it ended.

use std::ffi::{CString, OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use evenkeel_model::Ns;
use rustix::process::{Pid, Signal};

use crate::event::Tid;
use crate::host::poll;

/// The hidden command that runs [`gate`].
pub const COMMAND: &str = "__start";
/// The exit status of a command that could not be started, as shells have it.
const NOT_STARTED: i32 = 127;

/// A program that waits to be released, runs, or has ended.
pub struct Launched {
    child: Child,
    end: OwnedFd,
    gate: Option<io::PipeWriter>,
    signals: Signals,
}

/// Signals that ask this process to end, and have not been acted on yet.
pub struct Signals {
    interrupt: Arc<AtomicBool>,
    terminate: Arc<AtomicBool>,
}

impl Signals {
    /// From now on such signals no longer end this process.
    ///
    /// # Errors
    /// None in practice.
    pub fn new() -> io::Result<Self> {
        let signals = Self { interrupt: Arc::default(), terminate: Arc::default() };
        signal_hook::flag::register(signal_hook::consts::SIGINT, signals.interrupt.clone())?;
        signal_hook::flag::register(signal_hook::consts::SIGTERM, signals.terminate.clone())?;
        Ok(signals)
    }

    /// Whether one arrived.
    pub fn asked_to_end(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed) || self.terminate.load(Ordering::Relaxed)
    }
}

impl Launched {
    /// Starts a process that will become the command. It keeps this process's standard streams.
    ///
    /// # Errors
    /// No process to be had.
    pub fn new(command: &[OsString]) -> io::Result<Self> {
        // Until the command has ended this process stays; the terminal's Ctrl-C reaches both.
        let signals = Signals::new()?;
        let (reader, writer) = io::pipe()?;
        rustix::io::fcntl_setfd(&reader, rustix::io::FdFlags::empty())?;
        let child =
            Command::new("/proc/self/exe").arg(COMMAND).arg(reader.as_raw_fd().to_string()).args(command).spawn()?;
        let end = end_of(child.id())?;
        Ok(Self { child, end, gate: Some(writer), signals })
    }

    /// Becomes readable when it has ended.
    pub fn end(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }

    /// Waits for a while, or until it has ended or a signal arrives.
    ///
    /// # Errors
    /// None in practice.
    pub fn wait(&self) -> io::Result<()> {
        // Another thread of this process may get the signal, and then nothing ends the wait.
        poll(&[self.end()], Ns::from_ms(100)).map(|_| ())
    }

    /// Its process.
    pub fn pid(&self) -> Tid {
        self.child.id()
    }

    /// Lets it begin.
    ///
    /// # Errors
    /// It is gone already.
    pub fn release(&mut self) -> io::Result<()> {
        self.gate.take().map_or(Ok(()), |mut gate| gate.write_all(b"!"))
    }

    /// Passes on what arrived, and tells whether the command has ended, and how.
    ///
    /// # Errors
    /// None in practice.
    pub fn poll(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.signals.terminate.swap(false, Ordering::Relaxed) {
            let _ = rustix::process::kill_process(Pid::from_child(&self.child), Signal::TERM);
        }
        // The terminal sent it to the command as well; without a terminal it has to be passed on.
        if self.signals.interrupt.swap(false, Ordering::Relaxed) && !rustix::termios::isatty(rustix::stdio::stdin()) {
            let _ = rustix::process::kill_process(Pid::from_child(&self.child), Signal::INT);
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

/// The hidden command that runs [`tie`].
pub const TIED: &str = "__tied";

/// A command that the kernel kills when this thread ends, however it ends.
pub fn tied(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg(TIED).arg(std::process::id().to_string()).arg(program);
    command
}

/// What a tied process does first: asks to be killed with its parent, then becomes the command. Returns only if it cannot.
pub fn tie(args: &[OsString]) -> String {
    let mut parts = args.iter();
    let (parent, program) = (parts.next().and_then(|pid| pid.to_str()?.parse::<i32>().ok()), parts.next());
    let Some(program) = program else { return "expected a process and a command".into() };
    if let Err(error) = rustix::process::set_parent_process_death_signal(Some(Signal::KILL)) {
        return format!("cannot be tied to its parent: {error}");
    }
    // The parent may have gone before that.
    if rustix::process::getppid().map(Pid::as_raw_pid) != parent {
        return "cancelled".into();
    }
    failure(program, &Command::new(program).args(parts).exec())
}

/// The status with which a wrapper of a command should exit: its own, or 128 + the signal that killed it.
pub fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(NOT_STARTED);
    u8::try_from(code).unwrap_or(u8::MAX)
}

/// What the started process does first: waits to be released, then becomes the command. Returns only if it cannot, with
/// what there is to say about it.
pub fn gate(args: &[OsString]) -> Option<String> {
    let mut parts = args.iter();
    let fd = parts.next().and_then(|fd| fd.to_str()).and_then(|fd| fd.parse::<RawFd>().ok());
    let (Some(fd @ 3..), Some(program)) = (fd, parts.next()) else {
        return Some("expected a descriptor and a command".into());
    };
    // Whoever looks before the command has taken its place should see its name.
    if let Some(name) = Path::new(program).file_name() {
        let _ = CString::new(name.as_bytes()).map(|name| rustix::thread::set_name(&name));
    }
    // SAFETY: the parent left this descriptor open for this fresh process, which has no other use of it.
    #[allow(unsafe_code)]
    let mut gate = unsafe { io::PipeReader::from_raw_fd(fd) };
    let released = gate.read(&mut [0]);
    drop(gate);
    match released {
        Ok(1) => {}
        // Evenkeel ended before it released the command, and has said why.
        Ok(_) => return None,
        Err(error) => return Some(format!("cannot wait to be started: {error}")),
    }
    Some(failure(program, &Command::new(program).args(parts).exec()))
}

/// Why a program could not be started.
fn failure(program: &OsStr, error: &io::Error) -> String {
    let name = program.to_string_lossy();
    match error.kind() {
        io::ErrorKind::NotFound => format!("{name}: no such command; is it installed, and in PATH?"),
        io::ErrorKind::PermissionDenied => format!("{name}: not executable"),
        _ => format!("{name}: cannot be started: {error}"),
    }
}
