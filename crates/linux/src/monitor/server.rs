//! The host's side.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use evenkeel_model::Ns;
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;

use super::{Change, NAME, PERIODS, Reply, Request, Snapshot};

/// More are not served at a time (assumed, as the limits below: far more than people use).
const WATCHERS: usize = 8;
/// A watcher that reads too slowly misses snapshots: so many replies wait for it.
const UNREAD: usize = 8;
/// No request is longer.
const LINE: u64 = 64 * 1024;
/// So many changes wait for the host at a time; those who ask for more wait with theirs.
const UNMADE: usize = 8;
/// Where no further file can be opened, the next watcher is tried after this.
const PAUSE: Duration = Duration::from_millis(100);

/// Where a host is watched.
pub struct Monitor {
    watchers: Arc<Mutex<Watchers>>,
    asked: Receiver<Asked>,
}

/// A change that a watcher asks for, to be answered.
pub struct Asked {
    /// The change.
    pub change: Change,
    to: SyncSender<Arc<Reply>>,
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
    /// None until it has said how often it wants to have a snapshot.
    wants: Option<Wants>,
    replies: SyncSender<Arc<Reply>>,
}

#[derive(Clone, Copy)]
struct Wants {
    every: Ns,
    /// When the next snapshot is due.
    next: Ns,
}

impl Known {
    fn due(&self, now: Ns) -> bool {
        self.wants.is_some_and(|wants| now >= wants.next)
    }
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
        let (asks, asked) = sync_channel(UNMADE);
        let shared = Arc::clone(&watchers);
        small("monitor", move || {
            for stream in listener.incoming() {
                if lock(&shared).over {
                    return;
                }
                match stream {
                    // One that is not served sees the end of its stream.
                    Ok(stream) => drop(welcome(stream, &shared, &asks)),
                    Err(_) => thread::sleep(PAUSE),
                }
            }
        })?;
        Ok(Self { watchers, asked })
    }

    /// Whether a snapshot is due.
    pub fn due(&self, now: Ns) -> bool {
        lock(&self.watchers).living.iter().any(|known| known.due(now))
    }

    /// Sends a snapshot to those that it is due to.
    pub fn publish(&self, now: Ns, snapshot: Snapshot) {
        // Written down by the threads that send it: the one that schedules has no time for that.
        let reply = Arc::new(Reply::Snapshot(snapshot));
        let mut watchers = lock(&self.watchers);
        for known in watchers.living.iter_mut().filter(|known| known.due(now)) {
            known.wants = known.wants.map(|wants| Wants { next: now + wants.every, ..wants });
            // One that has gone is found so by the thread that reads from it; one that is slow misses this snapshot.
            let _ = known.replies.try_send(Arc::clone(&reply));
        }
    }

    /// The changes that were asked for since the last call, not more than the host should make in one turn.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.try_iter().take(UNMADE).collect()
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
        let _ = self.to.try_send(Arc::new(reply));
    }
}

/// Serves a watcher, if it may watch and there is room.
fn welcome(mut stream: UnixStream, watchers: &Arc<Mutex<Watchers>>, asks: &SyncSender<Asked>) -> io::Result<()> {
    let user = socket_peercred(&stream)?.uid;
    if !user.is_root() && user != geteuid() {
        return Ok(());
    }
    let (replies, unsent) = sync_channel::<Arc<Reply>>(UNREAD);
    let number = {
        let mut all = lock(watchers);
        if all.over {
            return Ok(());
        }
        if all.living.len() >= WATCHERS {
            let refusal = Reply::Refused(format!("it is watched {WATCHERS} times already: end one of those"));
            return send(&mut stream, &refusal);
        }
        all.count += 1;
        let number = all.count;
        all.living.push(Known { number, wants: None, replies });
        number
    };
    let (mut out, shared, asks) = (stream.try_clone()?, Arc::clone(watchers), asks.clone());
    let writer = small("monitor", move || {
        // Ends when neither the list of watchers nor a change that is being made has the sender any more. A watcher that is stopped
        // keeps it waiting, and goes on where it was.
        while let Ok(reply) = unsent.recv() {
            if send(&mut out, &reply).is_err() {
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
fn read(stream: UnixStream, number: u64, watchers: &Mutex<Watchers>, asks: &SyncSender<Asked>) {
    let mut input = BufReader::new(stream);
    loop {
        let mut text = String::new();
        match input.by_ref().take(LINE).read_line(&mut text) {
            Ok(length) if length > 0 => {}
            _ => return,
        }
        let request = serde_json::from_str(&text);
        // Not while the host, which must not wait, may want to know who watches.
        let to = {
            let mut watchers = lock(watchers);
            let Some(known) = watchers.living.iter_mut().find(|known| known.number == number) else { return };
            if let Ok(Request::Every(every)) = request
                && PERIODS.contains(&every)
            {
                known.wants = Some(Wants { every, next: Ns::ZERO });
                continue;
            }
            known.replies.clone()
        };
        let refusal = match request {
            Ok(Request::Every(every)) => {
                format!("a snapshot every {every}: expected {} to {}", PERIODS.start(), PERIODS.end())
            }
            Ok(Request::Change(change)) => match asks.send(Asked { change, to }) {
                Ok(()) => continue,
                Err(_) => return,
            },
            Err(error) => format!("cannot read the request: {error}"),
        };
        if to.try_send(Arc::new(Reply::Refused(refusal))).is_err() {
            return;
        }
    }
}

fn send(stream: &mut UnixStream, reply: &Reply) -> io::Result<()> {
    stream.write_all((serde_json::to_string(reply)? + "\n").as_bytes())
}

fn lock(watchers: &Mutex<Watchers>) -> MutexGuard<'_, Watchers> {
    watchers.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A thread that needs little: a host's memory may be locked.
fn small(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.into()).stack_size(128 * 1024).spawn(work).map(drop)
}
