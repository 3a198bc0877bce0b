//! The side of the one that watches.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::Duration;

use evenkeel_model::Ns;
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;

use super::{Change, NAME, Reply, Request, Snapshot};
use crate::event::Tid;
use crate::{presence, process};

/// No reply is longer (assumed: a snapshot has about 200 bytes a thread, and the kernel 4 million threads at most, far more than
/// are ever scheduled).
const LINE: u64 = 256 * 1024 * 1024;
/// A host that says nothing for so long is stopped (assumed: `run` has a turn every 10 s at the latest, and loading a policy into the
/// kernel takes some seconds).
const PATIENCE: Duration = Duration::from_secs(60);

/// A host that could be watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its process.
    pub pid: Tid,
    /// The command line that started it.
    pub command: String,
}

/// Why a host cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is none in that process.
    #[error("process {0} is not an Evenkeel that can be watched: expected one of `evenkeel run` or `evenkeel scx`")]
    None(Tid),
    /// It belongs to another user.
    #[error(
        "process {pid} is another user's, with number {user}: expected one of the same user; as root any can be watched"
    )]
    Foreign {
        /// The host's process.
        pid: Tid,
        /// Its user.
        user: u32,
    },
    /// It says nothing.
    #[error(
        "process {pid} has said nothing for {} s: expected a host that works; if it is stopped, `kill -CONT {pid}` lets it go on",
        waited.as_secs()
    )]
    Silent {
        /// The host's process.
        pid: Tid,
        /// How long it was waited for.
        waited: Duration,
    },
    /// It has ended.
    #[error("process {0} has ended")]
    Ended(Tid),
    /// It refuses what it was asked for.
    #[error("{0}")]
    Refused(String),
    /// It does not send what it should, or the connection broke.
    #[error("cannot watch process {pid}: {error}")]
    Broken {
        /// The host's process.
        pid: Tid,
        /// What went wrong.
        error: io::Error,
    },
}

/// The hosts on this machine, in order of their processes.
pub fn found() -> Vec<Found> {
    let names = presence::taken(NAME);
    let mut pids: Vec<Tid> = names.iter().filter_map(|name| name.parse().ok()).collect();
    pids.sort_unstable();
    // Each connection to a host has the name of its socket, too.
    pids.dedup();
    pids.into_iter().map(|pid| Found { pid, command: command(pid) }).collect()
}

fn command(pid: Tid) -> String {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> = words.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word)).collect();
    process::printable(words.join(" ").trim_end())
}

/// A connection to a host.
pub struct Watcher {
    pid: Tid,
    replies: BufReader<UnixStream>,
    requests: Requests,
    patience: Option<Duration>,
}

/// Sends requests, beside what reads the replies.
pub struct Requests(UnixStream);

impl Watcher {
    /// Watches the host in a process.
    ///
    /// # Errors
    /// There is none, or it is another user's.
    pub fn open(pid: Tid) -> Result<Self, Error> {
        Self::named(&format!("{NAME}{pid}"), pid)
    }

    pub(super) fn named(name: &str, pid: Tid) -> Result<Self, Error> {
        let broken = |error| Error::Broken { pid, error };
        let address = SocketAddr::from_abstract_name(name).map_err(broken)?;
        let stream = UnixStream::connect_addr(&address).map_err(|error| match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => Error::None(pid),
            _ => broken(error),
        })?;
        // Any process may take any such name.
        let host = socket_peercred(&stream).map_err(|error| broken(error.into()))?;
        if host.pid.as_raw_nonzero().get() != pid as i32 {
            return Err(Error::None(pid));
        }
        if host.uid != geteuid() && !geteuid().is_root() {
            return Err(Error::Foreign { pid, user: host.uid.as_raw() });
        }
        let requests = Requests(stream.try_clone().map_err(broken)?);
        Ok(Self { pid, replies: BufReader::new(stream), requests, patience: None })
    }

    /// Waits so long for each reply; by default for as long as it takes.
    ///
    /// # Errors
    /// None in practice: the connection is there.
    pub fn wait_at_most(&mut self, patience: Option<Duration>) -> Result<(), Error> {
        self.patience = patience;
        let set = self.replies.get_ref().set_read_timeout(patience);
        set.map_err(|error| Error::Broken { pid: self.pid, error })
    }

    /// Has the host make a change.
    ///
    /// # Errors
    /// It refuses, does not answer, or has ended.
    pub fn change(&mut self, change: Change) -> Result<(), Error> {
        self.wait_at_most(Some(PATIENCE))?;
        self.requests.send(&Request::Change(change));
        loop {
            match self.hear()? {
                Some(Reply::Snapshot(_)) => {}
                Some(Reply::Done(_)) => return Ok(()),
                Some(Reply::Refused(why)) => return Err(Error::Refused(why)),
                None => return Err(Error::Ended(self.pid)),
            }
        }
    }

    /// Asks for a snapshot this often, one of [`super::PERIODS`], and returns the first.
    ///
    /// # Errors
    /// The host refuses, does not answer, or has ended.
    pub fn begin(&mut self, every: Ns) -> Result<Snapshot, Error> {
        self.wait_at_most(Some(PATIENCE + Duration::from_nanos(every.0)))?;
        self.requests.send(&Request::Every(every));
        self.snapshot()?.ok_or(Error::Ended(self.pid))
    }

    /// Waits for the next snapshot; `None` when the host has ended.
    ///
    /// # Errors
    /// As of [`Self::hear`], and the host refuses.
    pub fn snapshot(&mut self) -> Result<Option<Snapshot>, Error> {
        loop {
            match self.hear()? {
                Some(Reply::Snapshot(snapshot)) => return Ok(Some(snapshot)),
                Some(Reply::Done(_)) => {}
                Some(Reply::Refused(why)) => return Err(Error::Refused(why)),
                None => return Ok(None),
            }
        }
    }

    /// Waits for what the host says next; `None` when it has ended.
    ///
    /// # Errors
    /// The connection broke, that is not from a host of this version, or it has been waited for too long.
    pub fn hear(&mut self) -> Result<Option<Reply>, Error> {
        let broken = |error| Error::Broken { pid: self.pid, error };
        let mut line = String::new();
        match (self.replies.by_ref().take(LINE).read_line(&mut line), self.patience) {
            // The host has ended; in the middle of a reply, perhaps.
            (Ok(length), _) if length < LINE as usize && !line.ends_with('\n') => Ok(None),
            (Ok(_), _) => serde_json::from_str(&line).map(|reply| Some(printable(reply))).map_err(|error| {
                broken(io::Error::other(format!("it says what this version does not understand ({error})")))
            }),
            (Err(error), _) if error.kind() == io::ErrorKind::ConnectionReset => Ok(None),
            (Err(error), Some(waited)) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(Error::Silent { pid: self.pid, waited })
            }
            (Err(error), _) => Err(broken(error)),
        }
    }

    /// What sends requests while another thread waits for replies.
    ///
    /// # Errors
    /// This process has too many files open.
    pub fn requests(&self) -> io::Result<Requests> {
        self.requests.0.try_clone().map(Requests)
    }
}

impl Requests {
    /// Sends a request. Its answer comes among the replies; if the host has gone, its end comes there.
    pub fn send(&mut self, request: &Request) {
        if let Ok(text) = serde_json::to_string(request) {
            let _ = self.0.write_all((text + "\n").as_bytes());
        }
    }
}

/// Root watches other users' programs, too, and what those say goes to its terminal.
fn printable(reply: Reply) -> Reply {
    let text = |text: String| process::printable(&text);
    let all = |texts: Vec<String>| texts.into_iter().map(text).collect();
    match reply {
        Reply::Snapshot(Snapshot { host, policy, core_types, missing, pid, elapsed, cost, cores, threads }) => {
            let (host, policy, core_types, missing) = (text(host), text(policy), all(core_types), all(missing));
            Reply::Snapshot(Snapshot { host, policy, core_types, missing, pid, elapsed, cost, cores, threads })
        }
        Reply::Refused(why) => Reply::Refused(text(why)),
        Reply::Done(change) => Reply::Done(change),
    }
}
