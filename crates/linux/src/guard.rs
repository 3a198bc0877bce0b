//! Undoes changed affinity masks when Evenkeel is killed, `kill -9` included.
//!
//! A small process of its own, started before anything is changed, waits for the end of a pipe that only Evenkeel holds
//! open. Before a mask is changed, a record of it goes into a file in memory that both share; when the pipe ends, the
//! guard gives every thread on record its mask back, provided that it is still the same thread and still has the mask
//! that Evenkeel gave it. So it does with the threads that such a thread, or one that descends from it, has started since
//! Evenkeel last saw all threads: they have inherited the mask, and no record says so. A change that is over stays on
//! record, marked as such, for as long as a thread that has inherited it may still be on its way.
//!
//! If the guard is killed, Evenkeel sees it and starts another one, which gets the same file.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::Duration;

use evenkeel_model::Ns;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::Pid;
use rustix::thread::CpuSet;

use crate::claim::Followed;
use crate::event::Tid;
use crate::{mask, process};

/// The hidden command that runs [`watch`].
pub const COMMAND: &str = "__guard";

/// A thread that was being started when a mask was copied can be seen after these rounds.
const ROUNDS: u32 = 6;
const ROUND: Duration = Duration::from_millis(10);

/// The session of a process that is gone; no process has this number. 0 will not do: from inside a PID namespace every session outside
/// has it.
const NO_SESSION: Tid = Tid::MAX;

/// A process that undoes what is on record if this process ends without doing so itself.
pub struct Guard {
    /// Lives until it sees the end of its standard input.
    process: Child,
    /// Closed by the kernel when this process ends, however it ends.
    alive: Option<ChildStdin>,
    records: File,
    free: Vec<u32>,
    slots: u32,
}

/// Where a change is on record.
#[derive(Debug, PartialEq, Eq)]
pub struct Slot(u32);

/// A changed mask.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// The thread.
    pub tid: Tid,
    /// When it started, in clock ticks since boot (`/proc/TID/stat`, field 22). A later thread of the same number has another
    /// start.
    pub started: u64,
    /// Its process.
    pub process: Tid,
    /// The mask that it had and should get back.
    pub before: CpuSet,
    /// The mask that it is given.
    pub after: CpuSet,
    /// Whether the thread is the first of a process that has not begun, so that all that it starts inherits the mask.
    pub inherited: bool,
}

/// A change with what the guard has to know besides.
#[derive(Clone, Copy, Debug)]
struct Record {
    change: Change,
    /// The session of the process, by which its descendants are found after their parents have ended.
    session: Tid,
    /// The thread has its own mask again.
    over: bool,
}

/// What comes before the records: when Evenkeel last saw all threads.
const SEEN: usize = 8;
const WORDS: usize = 1024 / 64;
const HEAD: usize = 6;
const RECORD: usize = 8 * (HEAD + 2 * WORDS);
/// Which word of a record says that the change is over.
const OVER: usize = 5;

impl Guard {
    /// Starts the guard, which is this program with the argument [`COMMAND`].
    ///
    /// # Errors
    /// There is no memory, no process can be started, or this program's file is not readable.
    pub fn spawn() -> io::Result<Self> {
        let records = File::from(memfd_create("evenkeel-guard", MemfdFlags::CLOEXEC)?);
        records.write_all_at(&Ns::NEVER.0.to_le_bytes(), 0)?;
        let mut process = start(&records)?;
        let alive = process.stdin.take();
        Ok(Self { process, alive, records, free: Vec::new(), slots: 0 })
    }

    /// Starts the guard again if it was killed, and returns whether it was.
    ///
    /// # Errors
    /// As [`Self::spawn`].
    pub fn renew(&mut self) -> io::Result<bool> {
        if self.process.try_wait()?.is_none() {
            return Ok(false);
        }
        self.process = start(&self.records)?;
        self.alive = self.process.stdin.take();
        Ok(true)
    }

    /// Its process.
    pub fn pid(&self) -> Tid {
        self.process.id()
    }

    /// Puts a change on record. To be called before the mask is changed.
    ///
    /// # Errors
    /// No memory.
    pub fn record(&mut self, change: &Change) -> io::Result<Slot> {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        });
        let session = process::session(change.process).unwrap_or(NO_SESSION);
        self.records.write_all_at(&encode(&Record { change: *change, session, over: false }), place(slot))?;
        Ok(Slot(slot))
    }

    /// Every thread that began before this time (`CLOCK_MONOTONIC`) was seen, and is on record if its mask was changed. To
    /// be called after each sample; without, nothing that is not on record is touched.
    ///
    /// # Errors
    /// None in practice.
    pub fn seen(&self, at: Ns) -> io::Result<()> {
        self.records.write_all_at(&at.0.to_le_bytes(), 0)
    }

    /// A change was undone. Threads that have inherited it may still come.
    ///
    /// # Errors
    /// None in practice: the record is memory that is already there.
    pub fn over(&self, slot: &Slot) -> io::Result<()> {
        self.records.write_all_at(&1u64.to_le_bytes(), place(slot.0) + 8 * OVER as u64)
    }

    /// Takes a change off the record.
    ///
    /// # Errors
    /// None in practice.
    pub fn forget(&mut self, slot: Slot) -> io::Result<()> {
        self.records.write_all_at(&[0; 8], place(slot.0))?;
        self.free.push(slot.0);
        Ok(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.alive.take());
        // It ends by itself now; waiting leaves no zombie.
        let _ = self.process.wait();
    }
}

fn start(records: &File) -> io::Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    command.arg(COMMAND).stdin(Stdio::piped()).stdout(Stdio::from(records.try_clone()?)).stderr(Stdio::null());
    command.spawn()
}

/// What the guard does: waits until its standard input ends, then undoes what is on record in its standard output.
pub fn watch() {
    // A session of its own, so that what ends Evenkeel's process group does not end the guard.
    let _ = rustix::process::setsid();
    let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
    let Ok(records) = rustix::io::dup(rustix::stdio::stdout()) else { return };
    let mut records = File::from(records);
    let mut bytes = Vec::new();
    if io::Seek::rewind(&mut records).is_err() || records.read_to_end(&mut bytes).is_err() {
        return;
    }
    let Some((seen, records)) = bytes.split_first_chunk::<SEEN>() else { return };
    let records: Vec<Record> = records.chunks_exact(RECORD).rev().filter_map(decode).collect();
    if records.is_empty() {
        return;
    }
    for _ in 0..ROUNDS {
        undo_all(&records, Ns(u64::from_le_bytes(*seen)));
        thread::sleep(ROUND);
    }
}

/// Undoes a change now as the guard would, also for the threads that have inherited it since then.
pub fn undo_now(change: &Change, since: Ns) {
    let session = process::session(change.process).unwrap_or(NO_SESSION);
    undo_all(&[Record { change: *change, session, over: false }], since);
}

fn place(slot: u32) -> u64 {
    SEEN as u64 + u64::from(slot) * RECORD as u64
}

/// Undoes changes, the latest first.
fn undo_all(records: &[Record], seen: Ns) {
    let recorded: BTreeMap<Tid, u64> =
        records.iter().map(|record| (record.change.tid, record.change.started)).collect();
    let unseen = |tid: Tid| {
        let known = recorded.get(&tid).is_some_and(|started| process::started(tid) == Some(*started));
        !known && *process::started_between(tid).end() >= seen
    };
    // A thread has two records if it was moved while bound: undo the later one first. Repeat until nothing changes, because
    // new threads may inherit meanwhile. It ends, because masks only widen.
    loop {
        let orphans = orphans(records, unseen);
        let mut families = BTreeMap::new();
        let mut undone = 0;
        for record in records {
            let process = record.change.process;
            let family = families.entry(process).or_insert_with(|| process::family(process).unwrap_or_default());
            let orphans = orphans.iter().filter(|(session, _)| *session == record.session);
            let others: Vec<Tid> = family.iter().chain(orphans.flat_map(|(_, threads)| threads)).copied().collect();
            undone += u32::from(undo(record, &others, unseen));
        }
        if undone == 0 {
            return;
        }
    }
}

/// Undoes a change, for the thread itself and for those of `others` that are `unseen`. Returns whether a mask is seen to have changed.
fn undo(record: &Record, others: &[Tid], unseen: impl Fn(Tid) -> bool) -> bool {
    let Change { tid, started, before, after, inherited, .. } = record.change;
    if before == after {
        return false;
    }
    let give_back = |tid: &Tid| {
        let pid = Pid::from_raw(*tid as i32);
        let shown = || rustix::thread::sched_getaffinity(pid);
        let Ok(now) = shown() else { return false };
        let given_back = mask::still(&now, &after) && rustix::thread::sched_setaffinity(pid, &before).is_ok();
        // While CPUs are offline both masks may be shown as the same: it would be undone without end.
        given_back && shown().is_ok_and(|own| own != now)
    };
    let same = process::started(tid) == Some(started);
    if inherited && !same {
        // The process that was to become the command has gone; its number may be that of another.
        return false;
    }
    let itself = same && !record.over && give_back(&tid);
    let inherits = |other: &&Tid| **other != tid && (inherited || unseen(**other));
    let others = others.iter().filter(inherits).filter(|other| give_back(other)).count();
    itself || others > 0
}

/// Processes that began unseen in the session of a recorded one, and whose parents may have ended: the session of each, and its
/// threads. Processes that another Evenkeel follows are not among them.
fn orphans(records: &[Record], unseen: impl Fn(Tid) -> bool) -> Vec<(Tid, Vec<Tid>)> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<Tid>().ok());
    let session =
        |process: &Tid| process::session(*process).filter(|own| records.iter().any(|known| known.session == *own));
    let followed = Followed::now();
    processes
        .filter(|process| unseen(*process))
        .filter_map(|process| Some((session(&process)?, process)))
        .filter(|(_, process)| !followed.include(*process))
        .map(|(session, process)| (session, process::threads(process).unwrap_or_default()))
        .collect()
}

fn encode(record: &Record) -> [u8; RECORD] {
    let mut bytes = [0; RECORD];
    let Record { change, session, over } = record;
    let words: [u64; HEAD] = [
        change.tid.into(),
        change.started,
        change.inherited.into(),
        change.process.into(),
        (*session).into(),
        (*over).into(),
    ];
    let masks = mask::words(&change.before).into_iter().chain(mask::words(&change.after));
    for (place, word) in bytes.chunks_exact_mut(8).zip(words.into_iter().chain(masks)) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// `None` for a free slot.
fn decode(bytes: &[u8]) -> Option<Record> {
    let word = |i: usize| u64::from_le_bytes(bytes[8 * i..8 * i + 8].try_into().unwrap_or_default());
    let words = |from: usize| std::array::from_fn(|i| word(from + i));
    let (tid, started, process) = (word(0) as Tid, word(1), word(3) as Tid);
    let (before, after) = (mask::of_words(words(HEAD)), mask::of_words(words(HEAD + WORDS)));
    let change = Change { tid, started, process, before, after, inherited: word(2) != 0 };
    (tid != 0).then_some(Record { change, session: word(4) as Tid, over: word(OVER) != 0 })
}

#[cfg(test)]
mod tests {
    use rustix::process::Signal;

    use super::*;

    /// A shell in a session of its own: what a test beside this one undoes must not be what this one is about.
    fn apart(arguments: &[&str]) -> Child {
        let mut command = Command::new("setsid");
        command.arg("sh").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().unwrap()
    }

    #[test]
    fn a_record_comes_back_as_it_was() {
        let (before, after) = (mask::of([0, 1, 1000]), mask::of([63, 64]));
        let change = Change { tid: 77, started: 12345, process: 76, before, after, inherited: true };
        let Record { change: back, session, over } =
            decode(&encode(&Record { change, session: 75, over: true })).unwrap();
        assert_eq!((back.tid, back.started, back.process, back.inherited), (77, 12345, 76, true));
        assert!(back.before == change.before && back.after == change.after && session == 75 && over);
        assert!(decode(&[0; RECORD]).is_none());
    }

    /// Of two children of a bound shell with its mask, one began before Evenkeel last saw all threads, and has chosen that mask.
    #[test]
    fn what_began_after_the_last_sample_gets_its_mask_back() {
        if evenkeel_testing::skips(&[&evenkeel_testing::needs::two_cpus]) {
            return;
        }
        let own = mask::own().unwrap();
        let first = own[0];
        let (before, after) = (mask::of(own), mask::of([first]));
        let line = "read go; sleep 60 & echo $!; read go; sleep 60 & echo $!; wait";
        let mut shell = apart(&["-c", line]);
        let set = |of: Tid| rustix::thread::sched_getaffinity(Pid::from_raw(of as i32)).unwrap();
        rustix::thread::sched_setaffinity(Pid::from_raw(shell.id() as i32), &after).unwrap();
        let started = process::started(shell.id()).unwrap();
        let (mut go, mut said) = (shell.stdin.take().unwrap(), io::BufReader::new(shell.stdout.take().unwrap()));
        let mut child = || -> Tid {
            io::Write::write_all(&mut go, b"\n").unwrap();
            let mut line = String::new();
            io::BufRead::read_line(&mut said, &mut line).unwrap();
            line.trim().parse().unwrap()
        };
        let early = child();
        // The kernel reports starts to a hundredth of a second.
        std::thread::sleep(std::time::Duration::from_millis(50));
        let seen = crate::clock::clock();
        let late = child();
        let change = Change { tid: shell.id(), started, process: shell.id(), before, after, inherited: false };
        undo_all(&[Record { change, session: NO_SESSION, over: false }], seen);
        assert!(set(shell.id()) == before && set(late) == before, "bound, and started by it");
        assert!(set(early) == after, "its own choice");
        for tid in [early, late, shell.id()] {
            let _ = rustix::process::kill_process(Pid::from_raw(tid as i32).unwrap(), Signal::KILL);
        }
        shell.wait().unwrap();
    }

    /// An Evenkeel started from the same shell right after another may set the same masks as that one.
    #[test]
    fn what_the_next_evenkeel_follows_is_left_alone() {
        if evenkeel_testing::skips(&[&evenkeel_testing::needs::two_cpus]) {
            return;
        }
        let own = mask::own().unwrap();
        let (before, after) = (mask::of(own.iter().copied()), mask::of([own[0]]));
        let mut gone = Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let seen = crate::clock::clock();
        // In a session of its own: what is undone here must not be what another test is about.
        let mut child = Command::new("setsid").args(["sleep", "60"]).spawn().unwrap();
        let pid = Pid::from_child(&child);
        while process::session(child.id()) != Some(child.id()) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        rustix::thread::sched_setaffinity(Some(pid), &after).unwrap();
        let change = Change { tid: gone.id(), started: 1, process: gone.id(), before, after, inherited: false };
        let record = Record { change, session: child.id(), over: false };
        let claim = crate::claim::Claim::new(child.id()).unwrap();
        undo_all(&[record], seen);
        let present = || rustix::thread::sched_getaffinity(Some(pid)).unwrap();
        assert!(present() == after, "another Evenkeel follows it");
        drop(claim);
        undo_all(&[record], seen);
        assert!(present() == before, "its parent may have been followed by the one that was killed");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// As where the CPU that a thread had been kept from has gone offline: both masks are shown as the same.
    #[test]
    fn what_cannot_be_seen_to_be_undone_is_not_undone_without_end() {
        let own = mask::own().unwrap();
        let none = CpuSet::MAX_CPU as u16 - 1;
        let (before, after) = (mask::of(own.iter().copied().chain([none])), mask::of(own));
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let started = process::started(child.id()).unwrap();
        let change = Change { tid: child.id(), started, process: child.id(), before, after, inherited: false };
        assert!(!undo(&Record { change, session: NO_SESSION, over: false }, &[], |_| false));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn what_was_inherited_is_given_back_and_what_others_chose_is_not() {
        if evenkeel_testing::skips(&[&evenkeel_testing::needs::two_cpus]) {
            return;
        }
        let own = mask::own().unwrap();
        let [first, second] = [own[0], own[1]];
        let (before, after) = (mask::of(own), mask::of([first]));
        let line = "read go; sleep 60 & sh -c 'sleep 60; :' & taskset -c $0 sleep 60 & echo; wait";
        let mut shell = apart(&["-c", line, &second.to_string()]);
        let set = |of: Tid| rustix::thread::sched_getaffinity(Pid::from_raw(of as i32)).unwrap();
        rustix::thread::sched_setaffinity(Pid::from_raw(shell.id() as i32), &after).unwrap();
        let started = process::started(shell.id()).unwrap();
        io::Write::write_all(&mut shell.stdin.take().unwrap(), b"\n").unwrap();
        shell.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        let other = mask::of([second]);
        // The last one sets its mask a moment after it has started.
        let settled = |family: &[Tid]| family.len() == 5 && family.iter().any(|tid| set(*tid) == other);
        while !settled(&process::family(shell.id()).unwrap()) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let change = Change { tid: shell.id(), started, process: shell.id(), before, after, inherited: true };
        let family = process::family(shell.id()).unwrap();
        let undo = |change| undo(&Record { change, session: NO_SESSION, over: false }, &family, |_| false);
        assert!(!undo(Change { started: started + 1, ..change }));
        assert_eq!(family.iter().filter(|tid| set(**tid) == after).count(), 4, "it was another thread of that number");
        assert!(undo(change) && !undo(change));
        let masks = |wanted: &CpuSet| family.iter().filter(|tid| set(**tid) == *wanted).count();
        assert_eq!((masks(&before), masks(&other)), (4, 1));
        // A shell that has lost its child may have ended by itself.
        for tid in family {
            let _ = rustix::process::kill_process(Pid::from_raw(tid as i32).unwrap(), Signal::KILL);
        }
        shell.wait().unwrap();
    }
}
