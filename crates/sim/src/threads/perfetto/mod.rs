//! Every decision of a run as a Perfetto trace: TrackEvent packets in protobuf, as they happen, so that memory stays
//! flat however long the run is. `docs/guide.md` explains the tracks.

use std::collections::BTreeMap;
use std::io;

use evenkeel_model::{ClusterId, CoreId, CoreSet, Machine, Ns, ProgramId, ThreadId};
use evenkeel_perfetto::{Track, Tracks};

use crate::threads::observer::{Event, Observer, Stop};

/// Process numbers: the machine's, and that of the first program.
const MACHINE_PID: i32 = 1;
const FIRST_PROGRAM_PID: i32 = 2;
/// Thread numbers: that of the first core, and that of the first thread.
const FIRST_CORE_TID: i32 = 1_000;
const FIRST_TID: i32 = 1_000_000;
/// Track numbers begin here for each kind of track.
const MACHINE: Track = 1;
const CORES: Track = 1 << 32;
const FREQUENCIES: Track = 2 << 32;
const POWERS: Track = 3 << 32;
const PROGRAMS: Track = 4 << 32;
const THREADS: Track = 5 << 32;

/// Writes the trace of a run.
pub struct Writer<W: io::Write> {
    tracks: Tracks<W>,
    machine: Machine,
    /// `program/thread` of every thread.
    names: Vec<String>,
    /// The names of the programs.
    programs: BTreeMap<ProgramId, String>,
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
            let tid = FIRST_CORE_TID + i32::from(core.0);
            self.tracks.thread(track_of_core(core), MACHINE, MACHINE_PID, tid, &name);
        }
        for (index, cluster) in self.machine.clusters.iter().enumerate() {
            for (base, what, unit) in [(FREQUENCIES, "frequency", "MHz"), (POWERS, "power", "W")] {
                self.tracks.number(base + index as u64, MACHINE, &format!("{} {what}", cluster.name), unit);
            }
        }
    }

    fn describe_thread(&mut self, thread: ThreadId, of: ProgramId, program: &str, name: &str) {
        let (parent, pid) = (PROGRAMS + u64::from(of.0), FIRST_PROGRAM_PID + of.0 as i32);
        let before = self.programs.range(..of).filter(|(_, known)| known.as_str() == program).count();
        let program_name = if before == 0 { program.to_owned() } else { format!("{program} {}", before + 1) };
        if self.programs.insert(of, program.to_owned()).is_none() {
            self.tracks.process(parent, pid, &program_name);
        }
        self.tracks.thread(track_of(thread), parent, pid, FIRST_TID + thread.0 as i32, name);
        let index = thread.index();
        if self.names.len() <= index {
            self.names.resize(index + 1, String::new());
        }
        self.names[index] = format!("{program_name}/{name}");
    }

    fn name(&self, thread: ThreadId) -> String {
        self.names.get(thread.index()).cloned().unwrap_or_else(|| format!("thread {}", thread.0))
    }

    fn stopped(&mut self, core: CoreId, thread: ThreadId, why: Stop<'_>) {
        let note = match why {
            Stop::Preempted => "preempted",
            Stop::Taken => "taken over by another core",
            Stop::Yielded => "yielded",
            Stop::Blocked(_) => "blocked",
            Stop::Exited => "exited",
        };
        for track in [track_of_core(core), track_of(thread)] {
            self.tracks.end(track, &[("why", note)]);
        }
        // One that still can run is ready at this same time, in an event of its own.
        if let Stop::Blocked(on) = why {
            self.tracks.slice(track_of(thread), &format!("waits: {on}"), &[]);
        }
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
            Event::Created { thread, of, program, name } => self.describe_thread(thread, of, program, name),
            Event::Ready { thread, core, by } => {
                let by = by.map_or_else(|| "no thread".into(), |by| self.name(by));
                let queued = format!("core {}", core.0);
                self.tracks.slice(track_of(thread), "ready", &[("queued on", &queued), ("woken by", &by)]);
            }
            Event::Run { core, thread } => {
                let name = self.name(thread);
                self.tracks.slice(track_of_core(core), &name, &[]);
                let running = format!("runs on core {}", core.0);
                let kind = self.machine.core_type(core).name.clone();
                self.tracks.slice(track_of(thread), &running, &[("core type", &kind)]);
            }
            Event::Stop { core, thread, why } => self.stopped(core, thread, why),
            Event::Gone { thread } => self.tracks.end(track_of(thread), &[]),
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
