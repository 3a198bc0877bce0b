//! Every decision of a run as a Perfetto trace: TrackEvent packets in protobuf, as they happen, so that memory stays
//! flat however long the run is. `docs/traces.md` explains the tracks.

mod proto;

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use evenkeel_model::{ClusterId, CoreId, CoreSet, Machine, Ns, ThreadId};
use prost::Message;

use crate::observer::{Event, Observer, Stop};
use proto::{
    CounterDescriptor, DebugAnnotation, ProcessDescriptor, ThreadDescriptor, Trace, TracePacket, TrackDescriptor,
    TrackEvent, Type,
};

/// All packets are of one sequence, since one writer writes them.
const SEQUENCE: u32 = 1;
/// SEQ_INCREMENTAL_STATE_CLEARED: the first packet tells readers that nothing came before it.
const STATE_CLEARED: u32 = 1;
/// Process numbers: the machine's, and that of the first program.
const MACHINE_PID: i32 = 1;
const FIRST_PROGRAM_PID: i32 = 2;
/// Track numbers begin here for each kind of track.
const CORES: u64 = 1_000;
const FREQUENCIES: u64 = 2_000;
const POWERS: u64 = 3_000;
const PROGRAMS: u64 = 10_000;
const THREADS: u64 = 1_000_000;
const MACHINE: u64 = 1;

/// Writes the trace of a run.
pub struct Writer<W: io::Write> {
    out: W,
    machine: Machine,
    /// `program/thread` of every thread.
    names: Vec<String>,
    programs: BTreeMap<String, i32>,
    /// Tracks with a slice that has begun.
    open: BTreeSet<u64>,
    now: Ns,
    buffer: Vec<u8>,
    error: Option<io::Error>,
}

impl<W: io::Write> Writer<W> {
    /// A writer for a run on a machine.
    pub fn new(machine: &Machine, out: W) -> Self {
        let mut writer = Self {
            out,
            machine: machine.clone(),
            names: Vec::new(),
            programs: BTreeMap::new(),
            open: BTreeSet::new(),
            now: Ns::ZERO,
            buffer: Vec::new(),
            error: None,
        };
        writer.describe_machine();
        writer
    }

    /// Ends what is still open and hands the output back.
    ///
    /// # Errors
    /// The first error in writing, whenever it happened.
    pub fn finish(mut self) -> io::Result<W> {
        for track in std::mem::take(&mut self.open) {
            self.event(track, Type::SliceEnd, None, &[]);
        }
        if let Some(error) = self.error {
            return Err(error);
        }
        self.out.flush()?;
        Ok(self.out)
    }

    fn describe_machine(&mut self) {
        let process = ProcessDescriptor { pid: Some(MACHINE_PID), process_name: Some(self.machine.name.clone()) };
        self.describe(TrackDescriptor { uuid: Some(MACHINE), process: Some(process), ..TrackDescriptor::default() });
        for core in self.machine.all().iter() {
            let name = format!("core {} {}", core.0, self.machine.core_type(core).name);
            // As threads of the machine, so that the UI shows them in the order of their numbers.
            let thread = ThreadDescriptor {
                pid: Some(MACHINE_PID),
                tid: Some(CORES as i32 + i32::from(core.0)),
                thread_name: Some(name),
            };
            let uuid = Some(CORES + u64::from(core.0));
            let parent_uuid = Some(MACHINE);
            self.describe(TrackDescriptor { uuid, parent_uuid, thread: Some(thread), ..TrackDescriptor::default() });
        }
        for (index, cluster) in self.machine.clusters.clone().into_iter().enumerate() {
            let counters = [(FREQUENCIES, "frequency", "MHz"), (POWERS, "power", "W")];
            for (base, what, unit) in counters {
                let counter = CounterDescriptor { unit_name: Some(unit.into()) };
                self.describe(TrackDescriptor {
                    uuid: Some(base + index as u64),
                    name: Some(format!("{} {what}", cluster.name)),
                    parent_uuid: Some(MACHINE),
                    counter: Some(counter),
                    ..TrackDescriptor::default()
                });
            }
        }
    }

    fn describe_thread(&mut self, thread: ThreadId, program: &str, name: &str) {
        let known = self.programs.get(program).copied();
        let pid = known.unwrap_or(FIRST_PROGRAM_PID + self.programs.len() as i32);
        let parent_uuid = Some(PROGRAMS + pid as u64);
        if known.is_none() {
            self.programs.insert(program.to_owned(), pid);
            let process = ProcessDescriptor { pid: Some(pid), process_name: Some(program.to_owned()) };
            self.describe(TrackDescriptor { uuid: parent_uuid, process: Some(process), ..TrackDescriptor::default() });
        }
        let tid = Some(THREADS as i32 + thread.0 as i32);
        let described = ThreadDescriptor { pid: Some(pid), tid, thread_name: Some(name.to_owned()) };
        let uuid = Some(track_of(thread));
        self.describe(TrackDescriptor { uuid, parent_uuid, thread: Some(described), ..TrackDescriptor::default() });
        let index = thread.index();
        if self.names.len() <= index {
            self.names.resize(index + 1, String::new());
        }
        self.names[index] = format!("{program}/{name}");
    }

    fn describe(&mut self, descriptor: TrackDescriptor) {
        let first = descriptor.uuid == Some(MACHINE);
        self.write(TracePacket {
            trusted_packet_sequence_id: Some(SEQUENCE),
            sequence_flags: first.then_some(STATE_CLEARED),
            track_descriptor: Some(descriptor),
            ..TracePacket::default()
        });
    }

    fn event(&mut self, track: u64, kind: Type, name: Option<&str>, notes: &[(&str, &str)]) {
        match kind {
            Type::SliceBegin => self.open.insert(track),
            Type::SliceEnd => self.open.remove(&track),
            Type::Instant | Type::Counter | Type::Unspecified => false,
        };
        let note = |(name, value): &(&str, &str)| DebugAnnotation {
            name: Some((*name).to_owned()),
            string_value: Some((*value).to_owned()),
        };
        self.packet(TrackEvent {
            r#type: Some(kind as i32),
            track_uuid: Some(track),
            name: name.map(str::to_owned),
            debug_annotations: notes.iter().map(note).collect(),
            ..TrackEvent::default()
        });
    }

    fn counter(&mut self, track: u64, value: f64) {
        self.packet(TrackEvent {
            r#type: Some(Type::Counter as i32),
            track_uuid: Some(track),
            double_counter_value: Some(value),
            ..TrackEvent::default()
        });
    }

    /// Ends the track's slice, if one has begun, and begins another.
    fn next_slice(&mut self, track: u64, name: Option<&str>, notes: &[(&str, &str)]) {
        if self.open.contains(&track) {
            self.event(track, Type::SliceEnd, None, &[]);
        }
        if name.is_some() {
            self.event(track, Type::SliceBegin, name, notes);
        }
    }

    fn packet(&mut self, event: TrackEvent) {
        self.write(TracePacket {
            timestamp: Some(self.now.0),
            trusted_packet_sequence_id: Some(SEQUENCE),
            track_event: Some(event),
            ..TracePacket::default()
        });
    }

    /// A file is a `Trace` message; since protobuf messages concatenate, each packet is written as a `Trace` of its own.
    fn write(&mut self, packet: TracePacket) {
        if self.error.is_some() {
            return;
        }
        self.buffer.clear();
        let trace = Trace { packet: vec![packet] };
        let encoded = trace.encode(&mut self.buffer).map_err(io::Error::other);
        self.error = encoded.and_then(|()| self.out.write_all(&self.buffer)).err();
    }

    fn name(&self, thread: ThreadId) -> String {
        self.names.get(thread.index()).cloned().unwrap_or_else(|| format!("thread {}", thread.0))
    }

    fn stopped(&mut self, core: CoreId, thread: ThreadId, why: Stop<'_>) {
        self.next_slice(track_of_core(core), None, &[]);
        let (state, note) = match why {
            Stop::Preempted => (Some("ready".to_owned()), "preempted"),
            Stop::Taken => (Some("ready".to_owned()), "taken over by another core"),
            Stop::Yielded => (Some("ready".to_owned()), "yielded"),
            Stop::Blocked(on) => (Some(format!("waits: {on}")), "blocked"),
            Stop::Exited => (None, "exited"),
        };
        self.next_slice(track_of(thread), state.as_deref(), &[("why", note)]);
    }
}

fn track_of(thread: ThreadId) -> u64 {
    THREADS + u64::from(thread.0)
}

fn track_of_core(core: CoreId) -> u64 {
    CORES + u64::from(core.0)
}

fn cluster_track(base: u64, cluster: ClusterId) -> u64 {
    base + u64::from(cluster.0)
}

fn list(cores: CoreSet) -> String {
    cores.iter().map(|core| core.0.to_string()).collect::<Vec<_>>().join(",")
}

impl<W: io::Write> Observer for Writer<W> {
    fn observe(&mut self, at: Ns, event: &Event<'_>) {
        self.now = at;
        match *event {
            Event::Created { thread, program, name } => self.describe_thread(thread, program, name),
            Event::Ready { thread, core, by } => {
                let by = by.map_or_else(|| "nobody".into(), |by| self.name(by));
                let queued = format!("core {}", core.0);
                self.next_slice(track_of(thread), Some("ready"), &[("queued on", &queued), ("woken by", &by)]);
            }
            Event::Run { core, thread } => {
                let name = self.name(thread);
                self.next_slice(track_of_core(core), Some(&name), &[]);
                let running = format!("runs on core {}", core.0);
                let kind = self.machine.core_type(core).name.clone();
                self.next_slice(track_of(thread), Some(&running), &[("core type", &kind)]);
            }
            Event::Stop { core, thread, why } => self.stopped(core, thread, why),
            Event::Affinity { thread, cores } => {
                let cores = list(cores);
                self.event(track_of(thread), Type::Instant, Some("affinity"), &[("cores", &cores)]);
            }
            Event::Frequency { cluster, frequency } => {
                self.counter(cluster_track(FREQUENCIES, cluster), frequency.0 as f64 / 1e6);
            }
            Event::Power { cluster, power } => self.counter(cluster_track(POWERS, cluster), power.0),
        }
    }
}

#[cfg(test)]
mod tests;
