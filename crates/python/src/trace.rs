//! Perfetto traces, read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow_array::{Float64Array, StringArray, UInt64Array};
use evenkeel_perfetto::proto::{Trace, TracePacket, TrackDescriptor, TrackEvent, TrackEventDefaults, Type, Unit};
use prost::Message;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::error::Error;
use crate::history::{batch, column, texts};
use crate::table::Table;

/// SEQ_INCREMENTAL_STATE_CLEARED: what earlier packets of the sequence said does not hold any more.
const STATE_CLEARED: u32 = 1;
/// Clocks from here on are a sequence's own; those before have nanoseconds.
const OWN_CLOCKS: u32 = 64;

/// The slices of a Perfetto trace: `track`, `process`, `name`, `start_ns`, `end_ns` (missing if it is still open at the end). Of
/// those that `simulate(trace=)`, `evenkeel sim --trace` and `run --trace` write, and of others that have track events.
#[pyfunction]
pub fn read_trace(py: Python<'_>, path: PathBuf) -> PyResult<Table> {
    let Events { tracks, slices, .. } = read(py, &path)?;
    batch([
        ("track", texts(slices.iter().map(|slice| tracks.name(slice.track)))),
        ("process", column(StringArray::from_iter(slices.iter().map(|slice| tracks.process(slice.track))))),
        ("name", texts(slices.iter().map(|slice| slice.name.as_str()))),
        ("start_ns", column(UInt64Array::from_iter_values(slices.iter().map(|slice| slice.start)))),
        ("end_ns", column(UInt64Array::from_iter(slices.iter().map(|slice| slice.end)))),
    ])
    .map(Table::of)
}

/// The counters of a Perfetto trace, such as each cluster's power and frequency: `track`, `process`, `unit` (missing if the trace
/// has none), and from `at_ns` until the track's next row its `value`. Of the same traces as `read_trace`.
#[pyfunction]
pub fn read_counters(py: Python<'_>, path: PathBuf) -> PyResult<Table> {
    let Events { tracks, counters, .. } = read(py, &path)?;
    let values = counters.iter().map(|counter| tracks.value(counter)).collect::<Result<Vec<_>, _>>();
    let values = values.map_err(|error| Error::new_err(format!("{}: {error}", path.display())))?;
    batch([
        ("track", texts(counters.iter().map(|counter| tracks.name(counter.track)))),
        ("process", column(StringArray::from_iter(counters.iter().map(|counter| tracks.process(counter.track))))),
        ("unit", column(StringArray::from_iter(counters.iter().map(|counter| tracks.unit(counter.track))))),
        ("at_ns", column(UInt64Array::from_iter_values(counters.iter().map(|counter| counter.at)))),
        ("value", column(Float64Array::from_iter_values(values))),
    ])
    .map(Table::of)
}

fn read(py: Python<'_>, path: &Path) -> PyResult<Events> {
    let file = path.display();
    let bytes = std::fs::read(path).map_err(|error| PyOSError::new_err(format!("{file}: {error}")))?;
    let trace = py.detach(|| Trace::decode(bytes.as_slice()));
    let trace = trace.map_err(|error| Error::new_err(format!("{file}: no Perfetto trace: {error}")))?;
    py.detach(|| Events::of(trace)).map_err(|error| Error::new_err(format!("{file}: {error}")))
}

/// What track events say.
#[derive(Default)]
struct Events {
    tracks: Tracks,
    slices: Vec<Slice>,
    counters: Vec<Counter>,
}

struct Slice {
    track: u64,
    name: String,
    start: u64,
    end: Option<u64>,
}

struct Counter {
    track: u64,
    at: u64,
    value: f64,
}

/// What happens on a track.
enum What {
    Begin(String),
    End,
    Count(f64),
}

impl Events {
    fn of(trace: Trace) -> Result<Self, String> {
        let mut tracks = Tracks::default();
        let mut happened = Vec::new();
        let mut sequences: BTreeMap<u32, Sequence> = BTreeMap::new();
        let (packets, mut known) = (trace.packet.len(), false);
        for packet in trace.packet {
            let sequence = sequences.entry(packet.trusted_packet_sequence_id()).or_default();
            sequence.learn(&packet);
            let at = sequence.time(&packet);
            if let Some(track) = packet.track_descriptor {
                tracks.0.insert(track.uuid(), track);
            }
            let Some(event) = packet.track_event else { continue };
            let (track, at) = (event.track_uuid.unwrap_or(sequence.track), at?);
            known |= event.r#type() != Type::Unspecified;
            let what = match event.r#type() {
                Type::SliceBegin => What::Begin(sequence.name(&event)?),
                Type::SliceEnd => What::End,
                Type::Counter => {
                    let whole = event.counter_value.map(|value| value as f64);
                    let Some(value) = event.double_counter_value.or(whole) else { continue };
                    What::Count(value)
                }
                Type::Instant | Type::Unspecified => continue,
            };
            happened.push((at, track, what));
        }
        if !known {
            return Err(format!(
                "no track event in {packets} packets: expected a trace that has some, as simulate(trace=) and `evenkeel run \
                 --trace` write; what a kernel traced is read by Perfetto's own tools only"
            ));
        }
        // Packets of one sequence are in order, those of several come in any.
        happened.sort_by_key(|(at, ..)| *at);
        Ok(Self::in_order(tracks, happened))
    }

    /// Of what happened when, and on which track.
    fn in_order(tracks: Tracks, happened: Vec<(u64, u64, What)>) -> Self {
        let mut events = Self { tracks, ..Self::default() };
        let mut open: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (at, track, what) in happened {
            match what {
                What::Begin(name) => {
                    open.entry(track).or_default().push(events.slices.len());
                    events.slices.push(Slice { track, name, start: at, end: None });
                }
                What::End => {
                    if let Some(slice) = open.get_mut(&track).and_then(Vec::pop) {
                        events.slices[slice].end = Some(at);
                    }
                }
                What::Count(value) => events.counters.push(Counter { track, at, value }),
            }
        }
        events
    }
}

/// The tracks, by their numbers.
#[derive(Default)]
struct Tracks(BTreeMap<u64, TrackDescriptor>);

impl Tracks {
    fn name(&self, track: u64) -> &str {
        self.0.get(&track).map_or("", |track| match (&track.thread, &track.process) {
            (Some(thread), _) => thread.thread_name(),
            (None, Some(process)) => process.process_name(),
            (None, None) => {
                let name = track.name.as_ref().or(track.static_name.as_ref()).or(track.atrace_name.as_ref());
                name.map_or("", String::as_str)
            }
        })
    }

    fn process(&self, track: u64) -> Option<&str> {
        let parent = self.0.get(&track)?.parent_uuid?;
        Some(self.0.get(&parent)?.process.as_ref()?.process_name())
    }

    fn unit(&self, track: u64) -> Option<&str> {
        let counter = self.0.get(&track)?.counter.as_ref()?;
        counter.unit_name.as_deref().or(match counter.unit() {
            Unit::TimeNs => Some("ns"),
            Unit::Count => Some("count"),
            Unit::SizeBytes => Some("bytes"),
            Unit::Unspecified => None,
        })
    }

    /// A counter's value, in its unit.
    fn value(&self, counter: &Counter) -> Result<f64, String> {
        let described = self.0.get(&counter.track).and_then(|track| track.counter.as_ref());
        let Some(described) = described else { return Ok(counter.value) };
        if described.is_incremental() {
            let name = self.name(counter.track);
            return Err(format!("the counter {name} has differences (is_incremental): expected values"));
        }
        // One that is not said is 0, and Perfetto takes none that is less than 1.
        Ok(counter.value * described.unit_multiplier().max(1) as f64)
    }
}

/// What earlier packets of a sequence say for later ones.
#[derive(Default)]
struct Sequence {
    names: BTreeMap<u64, String>,
    track: u64,
    clock: u32,
    clocks: BTreeMap<u32, Clock>,
}

/// A sequence's own clock.
struct Clock {
    /// What it showed at `ns`.
    from: u64,
    ns: u64,
    unit: u64,
    /// Each time is counted from the one before.
    incremental: bool,
}

impl Sequence {
    fn learn(&mut self, packet: &TracePacket) {
        if packet.sequence_flags() & STATE_CLEARED != 0 {
            *self = Self::default();
        }
        for name in packet.interned_data.iter().flat_map(|data| &data.event_names) {
            self.names.insert(name.iid(), name.name().to_owned());
        }
        if let Some(defaults) = &packet.trace_packet_defaults {
            self.clock = defaults.timestamp_clock_id();
            self.track = defaults.track_event_defaults.as_ref().map_or(0, TrackEventDefaults::track_uuid);
        }
        let clocks = packet.clock_snapshot.iter().flat_map(|snapshot| &snapshot.clocks);
        let (own, others): (Vec<_>, Vec<_>) = clocks.partition(|clock| clock.clock_id() >= OWN_CLOCKS);
        for clock in own {
            let (shown, unit) = (clock.timestamp(), clock.unit_multiplier_ns.unwrap_or(1));
            let ns = others.first().map_or(shown.wrapping_mul(unit), |other| other.timestamp());
            let incremental = clock.is_incremental();
            let from = if incremental { 0 } else { shown };
            self.clocks.insert(clock.clock_id(), Clock { from, ns, unit, incremental });
        }
    }

    /// When a packet is from.
    fn time(&mut self, packet: &TracePacket) -> Result<u64, String> {
        let (time, number) = (packet.timestamp(), packet.timestamp_clock_id.unwrap_or(self.clock));
        if number < OWN_CLOCKS || packet.timestamp.is_none() {
            return Ok(time);
        }
        let clock = self.clocks.get_mut(&number);
        let clock =
            clock.ok_or_else(|| format!("times by clock {number}: expected what it showed before, as a packet"))?;
        let at = clock.ns.wrapping_add(time.wrapping_sub(clock.from).wrapping_mul(clock.unit));
        if clock.incremental {
            clock.ns = at;
        }
        Ok(at)
    }

    fn name(&self, event: &TrackEvent) -> Result<String, String> {
        match (&event.name, event.name_iid) {
            (None, Some(number)) => {
                let name = self.names.get(&number).cloned();
                name.ok_or_else(|| format!("a slice is called number {number}: expected that name before, as a packet"))
            }
            (name, _) => Ok(name.clone().unwrap_or_default()),
        }
    }
}
