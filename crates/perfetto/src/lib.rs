//! Tracks of a Perfetto trace, written as they come, of simulated and of real runs.

pub mod proto;

use std::collections::BTreeSet;
use std::io;

use evenkeel_model::Ns;
use prost::Message;

use crate::proto::{
    CounterDescriptor, DebugAnnotation, ProcessDescriptor, ThreadDescriptor, Trace, TracePacket, TrackDescriptor,
    TrackEvent, Type,
};

/// All packets are of one sequence, since one writer writes them.
const SEQUENCE: u32 = 1;
/// SEQ_INCREMENTAL_STATE_CLEARED: marks the first packet, before which there is nothing.
const STATE_CLEARED: u32 = 1;

/// A track's number: whatever its owner chooses, as long as no two are the same.
pub type Track = u64;

/// Writes tracks. The first error in writing is kept until [`Self::finish`].
pub struct Tracks<W: io::Write> {
    out: W,
    /// Tracks with a slice that has begun.
    open: BTreeSet<Track>,
    now: Ns,
    begun: bool,
    buffer: Vec<u8>,
    error: Option<io::Error>,
}

impl<W: io::Write> Tracks<W> {
    /// No tracks yet.
    pub fn new(out: W) -> Self {
        Self { out, open: BTreeSet::new(), now: Ns::ZERO, begun: false, buffer: Vec::new(), error: None }
    }

    /// What follows happens at this time.
    pub fn at(&mut self, now: Ns) {
        self.now = now;
    }

    /// Describes the track of a process, before any that belongs to it.
    pub fn process(&mut self, track: Track, pid: i32, name: &str) {
        let process = ProcessDescriptor { pid: Some(pid), process_name: Some(name.to_owned()) };
        self.describe(TrackDescriptor { uuid: Some(track), process: Some(process), ..TrackDescriptor::default() });
    }

    /// Describes the track of a thread, or of what is to be shown as one: threads are sorted by their numbers.
    pub fn thread(&mut self, track: Track, parent: Track, pid: i32, tid: i32, name: &str) {
        let thread = ThreadDescriptor { pid: Some(pid), tid: Some(tid), thread_name: Some(name.to_owned()) };
        let (uuid, parent_uuid) = (Some(track), Some(parent));
        self.describe(TrackDescriptor { uuid, parent_uuid, thread: Some(thread), ..TrackDescriptor::default() });
    }

    /// Describes the track of a number.
    pub fn number(&mut self, track: Track, parent: Track, name: &str, unit: &str) {
        self.describe(TrackDescriptor {
            uuid: Some(track),
            name: Some(name.to_owned()),
            parent_uuid: Some(parent),
            counter: Some(CounterDescriptor { unit_name: Some(unit.to_owned()), ..CounterDescriptor::default() }),
            ..TrackDescriptor::default()
        });
    }

    /// Ends the track's slice, if one has begun, and begins another.
    pub fn slice(&mut self, track: Track, name: &str, notes: &[(&str, &str)]) {
        self.end(track, &[]);
        self.open.insert(track);
        self.event(track, Type::SliceBegin, Some(name), notes);
    }

    /// Ends the track's slice, if one has begun. Its notes are added to those with which it began.
    pub fn end(&mut self, track: Track, notes: &[(&str, &str)]) {
        if self.open.remove(&track) {
            self.event(track, Type::SliceEnd, None, notes);
        }
    }

    /// Something that takes no time.
    pub fn instant(&mut self, track: Track, name: &str, notes: &[(&str, &str)]) {
        self.event(track, Type::Instant, Some(name), notes);
    }

    /// What a number is from now on.
    pub fn value(&mut self, track: Track, value: f64) {
        self.packet(TrackEvent {
            r#type: Some(Type::Counter as i32),
            track_uuid: Some(track),
            double_counter_value: Some(value),
            ..TrackEvent::default()
        });
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

    fn describe(&mut self, descriptor: TrackDescriptor) {
        self.write(TracePacket { track_descriptor: Some(descriptor), ..TracePacket::default() });
    }

    fn event(&mut self, track: Track, kind: Type, name: Option<&str>, notes: &[(&str, &str)]) {
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

    fn packet(&mut self, event: TrackEvent) {
        self.write(TracePacket { timestamp: Some(self.now.0), track_event: Some(event), ..TracePacket::default() });
    }

    /// A file is a `Trace` message; since protobuf messages concatenate, each packet is written as a `Trace` of its own.
    fn write(&mut self, packet: TracePacket) {
        if self.error.is_some() {
            return;
        }
        let sequence_flags = (!self.begun).then_some(STATE_CLEARED);
        self.begun = true;
        let packet = TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), sequence_flags, ..packet };
        self.buffer.clear();
        let encoded = Trace { packet: vec![packet] }.encode(&mut self.buffer).map_err(io::Error::other);
        self.error = encoded.and_then(|()| self.out.write_all(&self.buffer)).err();
    }
}

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
