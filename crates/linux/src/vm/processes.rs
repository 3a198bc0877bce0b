//! The processes behind a guest, QEMU and its file server, and how each ends.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::Duration;

use evenkeel_model::Ns;
use rustix::process::geteuid;

use super::error::{Error, tried};
use super::monitor::Monitor;
use crate::clock::clock;
use crate::event::Tid;
use crate::launch::Signals;
use crate::scratch::Scratch;

/// QEMU's own messages, the server's, and the guest's console, in the guest's folder.
pub(super) const QEMU_LOG: &str = "qemu.log";
pub(super) const FILES_LOG: &str = "files.log";
pub(super) const CONSOLE: &str = "console";

/// A socket may be closed this long before its process has ended.
const ENDING: Ns = Ns::from_secs(1);
const POLL: Duration = Duration::from_millis(5);
/// A notice follows if a guest is not up after this time.
const LONG: Ns = Ns::from_secs(10);
/// The signals of a crash. SIGKILL and SIGTERM come from other processes.
const CRASHES: [i32; 6] = [libc::SIGABRT, libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP];

/// They end when this is dropped, and when this program ends.
pub(super) struct Processes {
    pub qemu: Option<Child>,
    pub files: Child,
    pub monitor: Monitor,
    pub folder: Scratch,
}

impl Processes {
    /// QEMU's process.
    pub fn qemu(&self) -> Tid {
        self.qemu.as_ref().map_or(0, Child::id)
    }

    /// Fails as soon as the guest cannot continue, or a signal arrived.
    pub fn check(&mut self, signals: &Signals) -> Result<(), Error> {
        if let Some(signal) = signals.end_signal() {
            return Err(Error::Interrupted(signal));
        }
        if self.monitor.stopped() {
            let why = self.first_word(QEMU_LOG).unwrap_or("it does not say why".into());
            return Err(self.guest(format!("was stopped by QEMU: {why}"), false));
        }
        self.ended()?;
        let ended = self.files.try_wait().map_err(tried("cannot wait for virtiofsd"))?;
        match ended {
            Some(_) => {
                let why = self.last_word(FILES_LOG).unwrap_or("it does not say why".into());
                let root = if geteuid().is_root() { "" } else { "; it needs root" };
                Err(self.guest(format!("has lost its file server, virtiofsd: {why}{root}"), false))
            }
            None => Ok(()),
        }
    }

    /// Fails if QEMU has ended.
    fn ended(&mut self) -> Result<(), Error> {
        let Some(qemu) = &mut self.qemu else { return Ok(()) };
        match qemu.try_wait().map_err(tried("cannot wait for QEMU"))? {
            Some(status) => Err(self.guest_of(status)),
            None => Ok(()),
        }
    }

    /// What became of a guest whose port has closed, or that does not do what it should. The signals of a terminal arrive
    /// in QEMU, too, so they come first.
    pub fn lost(&mut self, what: &str, signals: &Signals) -> Error {
        let deadline = clock() + ENDING;
        while clock() < deadline {
            if let Some(signal) = signals.end_signal() {
                return Error::Interrupted(signal);
            }
            match self.ended() {
                Err(error) => return error,
                Ok(()) => std::thread::sleep(POLL),
            }
        }
        self.end();
        self.guest(what.into(), false)
    }

    fn guest_of(&self, status: ExitStatus) -> Error {
        let why = self.first_word(QEMU_LOG).map(|why| format!(": {why}")).unwrap_or_default();
        match status.signal() {
            Some(signal) if CRASHES.contains(&signal) => {
                self.guest(format!("ended with a crash of QEMU (signal {signal}){why}"), true)
            }
            Some(signal) => self.guest(format!("ended because QEMU was killed (signal {signal}){why}"), false),
            None if status.success() => self.guest(format!("switched itself off{why}"), false),
            None => self.guest(format!("ended because QEMU could not continue{why}"), false),
        }
    }

    fn guest(&self, what: String, crashed: bool) -> Error {
        Error::Guest { what, console: self.text(CONSOLE), crashed }
    }

    fn text(&self, name: &str) -> String {
        let bytes = fs::read(self.folder.path().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The first line that is more than a warning; QEMU lets a dump of all registers follow.
    fn first_word(&self, name: &str) -> Option<String> {
        let text = self.text(name);
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.contains("warning:"));
        lines.next().map(str::to_owned)
    }

    fn last_word(&self, name: &str) -> Option<String> {
        self.text(name).lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned)
    }

    /// The folder with sockets and logs.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Ends both.
    pub fn end(&mut self) {
        for child in self.qemu.iter_mut().chain([&mut self.files]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.end();
    }
}

/// How long a boot may take, and what ends it before.
pub(super) struct Wait<'a> {
    pub began: Ns,
    pub limit: Ns,
    pub signals: &'a Signals,
    pub notice: &'a mut dyn FnMut(&str),
    pub noticed: bool,
}

impl Wait<'_> {
    /// Waits until `ready` returns something. Too late, the error says that the guest `what`.
    pub fn until<T>(
        &mut self,
        processes: &mut Processes,
        what: &str,
        mut ready: impl FnMut(&mut Processes) -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        loop {
            if let Some(result) = ready(processes)? {
                return Ok(result);
            }
            processes.check(self.signals)?;
            let passed = clock().since(self.began);
            if passed > self.limit {
                processes.end();
                return Err(processes.guest(format!("{what} within {}", self.limit), false));
            }
            if passed > LONG && !self.noticed {
                self.noticed = true;
                let limit = self.limit.0 / 1_000_000_000;
                (self.notice)(&format!("the guest is still booting; it is given up after {limit} s"));
            }
            std::thread::sleep(POLL);
        }
    }
}
