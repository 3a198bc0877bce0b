//! The side of the one that watches.

use std::io::{self, BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};

use evenkeel_model::Ns;
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;

use super::{NAME, Reply, Request};
use crate::event::Tid;
use crate::presence;

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
    words.join(" ").trim_end().to_owned()
}

/// A connection to a host.
pub struct Watcher {
    pid: Tid,
    replies: BufReader<UnixStream>,
    requests: Requests,
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
        let user = socket_peercred(&stream).map_err(|error| broken(error.into()))?.uid;
        if user != geteuid() && !geteuid().is_root() {
            return Err(Error::Foreign { pid, user: user.as_raw() });
        }
        let requests = Requests(stream.try_clone().map_err(broken)?);
        Ok(Self { pid, replies: BufReader::new(stream), requests })
    }

    /// Waits for what the host says next; `None` when it has ended.
    ///
    /// # Errors
    /// The connection broke, or that is not from a host of this version.
    pub fn hear(&mut self) -> Result<Option<Reply>, Error> {
        let broken = |error| Error::Broken { pid: self.pid, error };
        let mut line = String::new();
        match self.replies.read_line(&mut line) {
            Ok(0) => Ok(None),
            Ok(_) => serde_json::from_str(&line).map(Some).map_err(|error| {
                broken(io::Error::other(format!("it says what this version does not understand ({error})")))
            }),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(None),
            Err(error) => Err(broken(error)),
        }
    }

    /// A snapshot comes this often from now on, one of [`super::PERIODS`].
    ///
    /// # Errors
    /// The connection broke.
    pub fn every(&mut self, every: Ns) -> io::Result<()> {
        self.requests.send(&Request::Every(every))
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
    /// Sends a request. Its answer comes among the replies.
    ///
    /// # Errors
    /// The host has gone.
    pub fn send(&mut self, request: &Request) -> io::Result<()> {
        self.0.write_all((serde_json::to_string(request)? + "\n").as_bytes())
    }
}
