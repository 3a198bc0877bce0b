//! Every decision of a run as a Perfetto trace: TrackEvent packets in protobuf, as they happen, so that memory stays
//! flat however long the run is. `docs/guide.md` explains the tracks.

use std::collections::BTreeMap;
use std::io;

use evenkeel_model::{ClusterId, CoreId, CoreSet, Machine, Ns, ThreadId};
use evenkeel_perfetto::{Track, Tracks};

use crate::threads::observer::{Event, Observer, Stop};

/// Process numbers: the machine's, and that of the first program.
const MACHINE_PID: i32 = 1;
const FIRST_PROGRAM_PID: i32 = 2;
/// Track numbers begin here for each kind of track.
const CORES: Track = 1_000;
const FREQUENCIES: Track = 2_000;
const POWERS: Track = 3_000;
const PROGRAMS: Track = 10_000;
const THREADS: Track = 1_000_000;
const MACHINE: Track = 1;

/// Writes the trace of a run.
pub struct Writer<W: io::Write> {
    tracks: Tracks<W>,
    machine: Machine,
    /// `program/thread` of every thread.
    names: Vec<String>,
    programs: BTreeMap<String, i32>,
}

impl<W: io::Write> Writer<W> {
    /// A writer for a run on a machine.
    pub fn new(machine: &Machine, out: W) -> Self {
        let mut writer =
            Self { tracks: Tracks::new(out), machine: machine.clone(), names: Vec::new(), programs: BTreeMap::new() };
        writer.describe_machine();
        writer
    }

    /// Ends what is still open and returns the output.
    ///
    /// # Errors
    /// The first error in writing, whenever it happened.
    pub fn finish(self) -> io::Result<W> {
        self.tracks.finish()
    }

    fn describe_machine(&mut self) {
        self.tracks.process(MACHINE, MACHINE_PID, &self.machine.name);
        for core in self.machine.all().iter() {
            let name = format!("core {} {}", core.0, self.machine.core_type(core).name);
            // As threads of the machine, so that the UI shows them in the order of their numbers.
            let tid = CORES as i32 + i32::from(core.0);
            self.tracks.thread(track_of_core(core), MACHINE, MACHINE_PID, tid, &name);
        }
        for (index, cluster) in self.machine.clusters.iter().enumerate() {
            for (base, what, unit) in [(FREQUENCIES, "frequency", "MHz"), (POWERS, "power", "W")] {
                self.tracks.number(base + index as u64, MACHINE, &format!("{} {what}", cluster.name), unit);
            }
        }
    }

    fn describe_thread(&mut self, thread: ThreadId, program: &str, name: &str) {
        let known = self.programs.get(program).copied();
        let pid = known.unwrap_or(FIRST_PROGRAM_PID + self.programs.len() as i32);
        let parent = PROGRAMS + pid as u64;
        if known.is_none() {
            self.programs.insert(program.to_owned(), pid);
            self.tracks.process(parent, pid, program);
        }
        self.tracks.thread(track_of(thread), parent, pid, THREADS as i32 + thread.0 as i32, name);
        let index = thread.index();
        if self.names.len() <= index {
            self.names.resize(index + 1, String::new());
        }
        self.names[index] = format!("{program}/{name}");
    }

    fn name(&self, thread: ThreadId) -> String {
        self.names.get(thread.index()).cloned().unwrap_or_else(|| format!("thread {}", thread.0))
    }

    fn stopped(&mut self, core: CoreId, thread: ThreadId, why: Stop<'_>) {
        self.tracks.slice(track_of_core(core), None, &[]);
        let (state, note) = match why {
            Stop::Preempted => (Some("ready".to_owned()), "preempted"),
            Stop::Taken => (Some("ready".to_owned()), "taken over by another core"),
            Stop::Yielded => (Some("ready".to_owned()), "yielded"),
            Stop::Blocked(on) => (Some(format!("waits: {on}")), "blocked"),
            Stop::Exited => (None, "exited"),
        };
        self.tracks.slice(track_of(thread), state.as_deref(), &[("why", note)]);
    }
}

fn track_of(thread: ThreadId) -> Track {
    THREADS + u64::from(thread.0)
}

fn track_of_core(core: CoreId) -> Track {
    CORES + u64::from(core.0)
}

fn cluster_track(base: Track, cluster: ClusterId) -> Track {
    base + u64::from(cluster.0)
}

fn list(cores: CoreSet) -> String {
    cores.iter().map(|core| core.0.to_string()).collect::<Vec<_>>().join(",")
}

impl<W: io::Write> Observer for Writer<W> {
    fn observe(&mut self, at: Ns, event: &Event<'_>) {
        self.tracks.at(at);
        match *event {
            Event::Created { thread, program, name } => self.describe_thread(thread, program, name),
            Event::Ready { thread, core, by } => {
                let by = by.map_or_else(|| "no thread".into(), |by| self.name(by));
                let queued = format!("core {}", core.0);
                self.tracks.slice(track_of(thread), Some("ready"), &[("queued on", &queued), ("woken by", &by)]);
            }
            Event::Run { core, thread } => {
                let name = self.name(thread);
                self.tracks.slice(track_of_core(core), Some(&name), &[]);
                let running = format!("runs on core {}", core.0);
                let kind = self.machine.core_type(core).name.clone();
                self.tracks.slice(track_of(thread), Some(&running), &[("core type", &kind)]);
            }
            Event::Stop { core, thread, why } => self.stopped(core, thread, why),
            Event::TaskBegan { thread, task, name, .. } => {
                self.tracks.instant(track_of(thread), &format!("begins {name}"), &[("task", &task.to_string())]);
            }
            Event::TaskEnded { thread, task, .. } => {
                self.tracks.instant(track_of(thread), "task done", &[("task", &task.to_string())]);
            }
            Event::Affinity { thread, cores } => {
                let cores = list(cores);
                self.tracks.instant(track_of(thread), "affinity", &[("cores", &cores)]);
            }
            // A trace shows what was done.
            Event::Judged { .. } => {}
            Event::Frequency { cluster, frequency } => {
                self.tracks.value(cluster_track(FREQUENCIES, cluster), frequency.0 as f64 / 1e6);
            }
            Event::Power { cluster, power } => self.tracks.value(cluster_track(POWERS, cluster), power.0),
        }
    }
}

#[cfg(test)]
mod tests;
