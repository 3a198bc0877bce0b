//! Samples threads through `/proc`: works everywhere and needs no privileges, but costs some system calls a thread and
//! sees neither which thread waits for which nor what came and went between two samples.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::os::unix::fs::FileExt;

use evenkeel_model::Ns;
use rustix::process::{Resource, getrlimit};

use crate::clock::clock;
use crate::event::Tid;
use crate::process;
use crate::sample::{MAX_TYPES, Sample, ThreadState};

/// Files of so many threads are kept open, unless this process may open few.
const OPEN: usize = 4096;

/// All threads of some processes and of the processes that they start.
pub struct ProcSampler {
    processes: BTreeMap<Tid, Process>,
    /// The core type of each CPU.
    type_of: Vec<u8>,
    /// How many further threads' files may be kept open.
    room: usize,
    begun: bool,
}

/// A thread runs for no longer than time passes between two samples, but for when exactly its count was read (assumed).
const SLACK: Ns = Ns::from_ms(10);

#[derive(Default)]
struct Process {
    threads: BTreeMap<Tid, Files>,
}

struct Files {
    /// Kept open where there is room.
    open: Option<[File; 2]>,
    last: Option<Sample>,
    /// What it had done when it was sampled last, or before it was followed.
    before: Done,
    /// When it was sampled last.
    sampled: Ns,
}

/// What a thread has done since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Done {
    run: Ns,
    delay: Ns,
    switches: u64,
}

impl ProcSampler {
    /// Follows a process. `type_of` gives the core type of each CPU.
    pub fn new(process: Tid, type_of: Vec<u8>) -> Self {
        // Half of what may be open is left to everything else.
        let most = getrlimit(Resource::Nofile).current.map_or(OPEN, |most| most as usize / 4).min(OPEN);
        Self { processes: BTreeMap::from([(process, Process::default())]), type_of, room: most, begun: false }
    }

    /// Whether a process is one of those that are followed.
    pub fn follows(&self, process: Tid) -> bool {
        self.processes.contains_key(&process)
    }

    /// Replaces `samples` by a sample of every living thread.
    /// `orphans` are followed as well.
    pub fn sample(&mut self, orphans: &[Tid], samples: &mut Vec<Sample>) {
        samples.clear();
        for orphan in orphans {
            self.processes.entry(*orphan).or_default();
        }
        self.find_children();
        // What a thread that is there at first did before does not count; all others begin while they are followed.
        let first = !std::mem::replace(&mut self.begun, true);
        let (type_of, room) = (&self.type_of, &mut self.room);
        self.processes.retain(|pid, process| {
            let Ok(tids) = process::threads(*pid) else {
                *room += process.threads.values().filter(|files| files.open.is_some()).count();
                return false;
            };
            for tid in tids {
                if let Entry::Vacant(entry) = process.threads.entry(tid) {
                    let mut files = Files::new(*pid, tid, room);
                    if first {
                        files.before = files.done(*pid, tid).unwrap_or_default();
                    }
                    entry.insert(files);
                }
            }
            // A thread that is not listed may still be there: the listing may skip one when another exits meanwhile.
            process.threads.retain(|tid, files| match files.sample(*pid, *tid, type_of) {
                Some(sample) => {
                    samples.push(sample);
                    true
                }
                None => {
                    *room += usize::from(files.open.is_some());
                    false
                }
            });
            true
        });
    }

    fn find_children(&mut self) {
        let mut unseen: Vec<Tid> = self.processes.keys().copied().collect();
        while let Some(pid) = unseen.pop() {
            for child in started_by(pid) {
                if let Entry::Vacant(entry) = self.processes.entry(child) {
                    entry.insert(Process::default());
                    unseen.push(child);
                }
            }
        }
    }
}

/// The processes that a process has started and that still are. Evenkeel is none of a program's, also if the shell that it follows has
/// started it.
pub(super) fn started_by(process: Tid) -> Vec<Tid> {
    process::children(process).into_iter().filter(|child| *child != std::process::id()).collect()
}

fn path(pid: Tid, tid: Tid, name: &str) -> String {
    format!("/proc/{pid}/task/{tid}/{name}")
}

impl Files {
    fn new(pid: Tid, tid: Tid, room: &mut usize) -> Self {
        let open = |name: &str| File::open(path(pid, tid, name)).ok();
        let open = if *room > 0 { open("stat").zip(open("schedstat")) } else { None };
        *room -= usize::from(open.is_some());
        Self { open: open.map(<[File; 2]>::from), last: None, before: Done::default(), sampled: Ns::ZERO }
    }

    /// `None` when the thread is gone.
    fn sample(&mut self, pid: Tid, tid: Tid, type_of: &[u8]) -> Option<Sample> {
        let mut buffer = [0; 1024];
        let length = match &self.open {
            Some([stat, _]) => stat.read_at(&mut buffer, 0).ok()?,
            None => File::open(path(pid, tid, "stat")).ok()?.read_at(&mut buffer, 0).ok()?,
        };
        let (state, cpu) = parse_stat(&buffer[..length])?;
        let done = self.done(pid, tid)?;
        // One that calls exec takes over the first thread's number. What it had done was counted under its own.
        let now = clock();
        let possible = Ns(2 * now.since(self.sampled).0) + SLACK;
        let other =
            done.switches < self.before.switches || (self.last.is_some() && done.run.since(self.before.run) > possible);
        let before = if other { done } else { self.before };
        (self.before, self.sampled) = (done, now);
        let mut sample = self.last.unwrap_or(Sample { tid, process: pid, ..Sample::default() });
        // What it ran since the last sample is taken to have been where it is now.
        let core_type = usize::from(type_of.get(usize::from(cpu)).copied().unwrap_or_default()).min(MAX_TYPES - 1);
        sample.run[core_type] += done.run.since(before.run);
        sample.delay += done.delay.since(before.delay);
        sample.switches += done.switches - before.switches;
        (sample.state, sample.cpu) = (state, cpu);
        self.last = Some(sample);
        Some(sample)
    }

    fn done(&self, pid: Tid, tid: Tid) -> Option<Done> {
        let mut buffer = [0; 128];
        let length = match &self.open {
            Some([_, schedstat]) => schedstat.read_at(&mut buffer, 0).ok()?,
            None => File::open(path(pid, tid, "schedstat")).ok()?.read_at(&mut buffer, 0).ok()?,
        };
        parse_schedstat(&buffer[..length])
    }
}

/// State and CPU from `/proc/TID/stat` (proc(5)); `None` for a zombie.
fn parse_stat(text: &[u8]) -> Option<(ThreadState, u16)> {
    // The name may contain anything, so count from its end.
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let mut fields = std::str::from_utf8(text.get(end + 1..)?).ok()?.split_ascii_whitespace();
    let state = match fields.next()? {
        "R" => ThreadState::Runnable,
        "Z" | "X" | "x" => return None,
        _ => ThreadState::Blocked,
    };
    // `state` is field 3, `processor` field 39.
    let cpu = fields.nth(35)?.parse().ok()?;
    Some((state, cpu))
}

/// Time on a CPU, time waiting for one, and how often it was put on one, from `/proc/TID/schedstat`.
fn parse_schedstat(text: &[u8]) -> Option<Done> {
    let mut fields = std::str::from_utf8(text).ok()?.split_ascii_whitespace();
    let mut next = || fields.next()?.parse().ok();
    Some(Done { run: Ns(next()?), delay: Ns(next()?), switches: next()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_is_read_past_any_name() {
        let rest = "S 1 2 3 0 -1 4194560 1 0 0 0 5 6 0 0 20 0 1 0 100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 11 0 0 0";
        let line = |state: &str| format!("42 (a) R (b) {state}{}", &rest[1..]);
        assert_eq!(parse_stat(line("S").as_bytes()), Some((ThreadState::Blocked, 11)));
        assert_eq!(parse_stat(line("R").as_bytes()), Some((ThreadState::Runnable, 11)));
        assert_eq!(parse_stat(line("Z").as_bytes()), None);
        assert_eq!(parse_stat(b"42 (cut"), None);
        assert_eq!(parse_schedstat(b"12 34 5\n"), Some(Done { run: Ns(12), delay: Ns(34), switches: 5 }));
    }

    #[test]
    fn sees_its_own_threads_run() {
        // The kernel counts at its ticks: a thread that has just begun may have done nothing yet.
        let done = || parse_schedstat(&std::fs::read("/proc/thread-self/schedstat").unwrap()).unwrap();
        while done().run == Ns::ZERO {
            std::hint::spin_loop();
        }
        let mut sampler = ProcSampler::new(std::process::id(), vec![0; 1024]);
        let mut samples = Vec::new();
        sampler.sample(&[], &mut samples);
        let own = rustix::thread::gettid().as_raw_nonzero().get() as Tid;
        let first = *samples.iter().find(|sample| sample.tid == own).unwrap();
        assert_eq!((first.state, first.process), (ThreadState::Runnable, std::process::id()));
        let before = sampler.processes[&std::process::id()].threads[&own].before;
        assert!(before.run > Ns::ZERO && before.switches > 0, "what it did before does not count: {before:?}");
        let mut sum = 0_u64;
        loop {
            sum = (0..1_000_000).fold(sum, |sum, i| std::hint::black_box(sum ^ i));
            sampler.sample(&[], &mut samples);
            let now = samples.iter().find(|sample| sample.tid == own).unwrap();
            if now.run[0] > first.run[0] {
                break;
            }
        }
    }
}
