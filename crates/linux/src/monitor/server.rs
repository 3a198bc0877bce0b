//! The host's side.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use evenkeel_model::Ns;
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;

use super::{Change, NAME, PERIODS, Reply, Request, Snapshot};

/// More are not served at a time (assumed, as the limits below: far more than people use).
const WATCHERS: usize = 8;
/// A watcher that reads too slowly misses snapshots: so many lines wait for it.
const UNREAD: usize = 8;
/// One that reads nothing for so long is taken to have gone.
const PATIENCE: Duration = Duration::from_secs(5);
/// No request is longer.
const LINE: u64 = 64 * 1024;

/// Where a host is watched.
pub struct Monitor {
    watchers: Arc<Mutex<Watchers>>,
    asked: Receiver<Asked>,
    next: Ns,
}

/// A change that a watcher asks for, to be answered.
pub struct Asked {
    /// The change.
    pub change: Change,
    to: SyncSender<Arc<str>>,
}

#[derive(Default)]
struct Watchers {
    /// The host works no longer.
    over: bool,
    /// How many there have been.
    count: u64,
    living: Vec<Known>,
}

struct Known {
    number: u64,
    every: Ns,
    /// Has not had a snapshot yet.
    new: bool,
    lines: SyncSender<Arc<str>>,
}

impl Monitor {
    /// Listens from now on, on threads of its own.
    ///
    /// # Errors
    /// This process is watched already, or may not open sockets.
    pub fn open() -> io::Result<Self> {
        Self::named(&format!("{NAME}{}", std::process::id()))
    }

    pub(super) fn named(name: &str) -> io::Result<Self> {
        let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
        let watchers: Arc<Mutex<Watchers>> = Arc::default();
        let (asks, asked) = channel();
        let shared = Arc::clone(&watchers);
        small("monitor", move || {
            for stream in listener.incoming().flatten() {
                if lock(&shared).over {
                    return;
                }
                // One that is not served sees the end of its stream.
                let _ = welcome(stream, &shared, &asks);
            }
        })?;
        Ok(Self { watchers, asked, next: Ns::ZERO })
    }

    /// Whether a snapshot is due.
    pub fn due(&self, now: Ns) -> bool {
        let watchers = lock(&self.watchers);
        watchers.living.iter().any(|known| known.new) || (!watchers.living.is_empty() && now >= self.next)
    }

    /// Sends a snapshot to all that watch.
    pub fn publish(&mut self, now: Ns, snapshot: Snapshot) {
        let Some(line) = line(&Reply::Snapshot(snapshot)) else { return };
        let mut watchers = lock(&self.watchers);
        // One that has gone is found so by the thread that reads from it; one that is slow misses this snapshot.
        for known in &mut watchers.living {
            known.new = false;
            let _ = known.lines.try_send(Arc::clone(&line));
        }
        let every = watchers.living.iter().map(|known| known.every).min();
        self.next = now + every.unwrap_or_default();
    }

    /// The changes that were asked for since the last call.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.try_iter().collect()
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let mut watchers = lock(&self.watchers);
        watchers.over = true;
        watchers.living.clear();
    }
}

impl Asked {
    /// The change was made, or why it was not.
    pub fn answer(self, result: Result<(), String>) {
        let reply = result.map_or_else(Reply::Refused, |()| Reply::Done(self.change));
        if let Some(line) = line(&reply) {
            let _ = self.to.try_send(line);
        }
    }
}

/// Serves a watcher, if it may watch and there is room.
fn welcome(stream: UnixStream, watchers: &Arc<Mutex<Watchers>>, asks: &Sender<Asked>) -> io::Result<()> {
    let user = socket_peercred(&stream)?.uid;
    if !user.is_root() && user != geteuid() {
        return Ok(());
    }
    stream.set_write_timeout(Some(PATIENCE))?;
    let (lines, unsent) = sync_channel::<Arc<str>>(UNREAD);
    let number = {
        let mut all = lock(watchers);
        if all.living.len() >= WATCHERS {
            return Ok(());
        }
        all.count += 1;
        let number = all.count;
        all.living.push(Known { number, every: Ns::from_secs(1), new: true, lines });
        number
    };
    let (mut out, shared, asks) = (stream.try_clone()?, Arc::clone(watchers), asks.clone());
    let writer = small("monitor", move || {
        // Ends when neither the list of watchers nor a change that is being made has the sender any more.
        while let Ok(line) = unsent.recv() {
            if out.write_all(line.as_bytes()).is_err() {
                break;
            }
        }
        let _ = out.shutdown(std::net::Shutdown::Both);
    });
    let reader = writer.and_then(|()| {
        small("monitor", move || {
            read(stream, number, &shared, &asks);
            lock(&shared).living.retain(|known| known.number != number);
        })
    });
    if reader.is_err() {
        lock(watchers).living.retain(|known| known.number != number);
    }
    reader
}

/// Takes requests until the watcher, or the host, has gone.
fn read(stream: UnixStream, number: u64, watchers: &Mutex<Watchers>, asks: &Sender<Asked>) {
    let mut input = BufReader::new(stream);
    loop {
        let mut text = String::new();
        match input.by_ref().take(LINE).read_line(&mut text) {
            Ok(length) if length > 0 => {}
            _ => return,
        }
        let mut watchers = lock(watchers);
        let Some(known) = watchers.living.iter_mut().find(|known| known.number == number) else { return };
        let refusal = match serde_json::from_str(&text) {
            Ok(Request::Every(every)) if PERIODS.contains(&every) => {
                (known.every, known.new) = (every, true);
                continue;
            }
            Ok(Request::Every(every)) => {
                format!("a snapshot every {every}: expected {} to {}", PERIODS.start(), PERIODS.end())
            }
            Ok(Request::Change(change)) => match asks.send(Asked { change, to: known.lines.clone() }) {
                Ok(()) => continue,
                Err(_) => return,
            },
            Err(error) => format!("cannot read the request: {error}"),
        };
        if line(&Reply::Refused(refusal)).is_none_or(|line| known.lines.try_send(line).is_err()) {
            return;
        }
    }
}

fn line(reply: &Reply) -> Option<Arc<str>> {
    serde_json::to_string(reply).ok().map(|text| Arc::from(text + "\n"))
}

fn lock(watchers: &Mutex<Watchers>) -> MutexGuard<'_, Watchers> {
    watchers.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A thread that needs little: a host's memory may be locked.
fn small(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.into()).stack_size(128 * 1024).spawn(work).map(drop)
}
