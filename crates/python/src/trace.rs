//! Perfetto traces, read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use arrow_array::{StringArray, UInt64Array};
use evenkeel_perfetto::proto::{Trace, Type};
use prost::Message;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::error::Error;
use crate::history::{batch, column, texts};
use crate::table::Table;

/// The slices of a Perfetto trace: `track`, `process`, `name`, `start_ns`, `end_ns` (missing if it is still open at the end). Those
/// that `simulate(trace=)`, `evenkeel sim`, `run` and `scx --trace` write, and others whose track events have their names.
#[pyfunction]
pub fn read_trace(py: Python<'_>, path: PathBuf) -> PyResult<Table> {
    let file = path.display().to_string();
    let bytes = std::fs::read(&path).map_err(|error| PyOSError::new_err(format!("{file}: {error}")))?;
    let trace = py.detach(|| Trace::decode(bytes.as_slice()));
    let trace = trace.map_err(|error| Error::new_err(format!("{file}: no Perfetto trace: {error}")))?;
    let mut tracks = BTreeMap::new();
    let mut processes = BTreeMap::new();
    let mut open: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let mut slices: Vec<Slice> = Vec::new();
    for packet in &trace.packet {
        if let Some(track) = &packet.track_descriptor {
            let uuid = track.uuid();
            let process = track.process.as_ref().map(|process| process.process_name().to_owned());
            let thread = track.thread.as_ref().map(|thread| thread.thread_name().to_owned());
            if let Some(process) = &process {
                processes.insert(uuid, process.clone());
            }
            let name = thread.or(process).unwrap_or_else(|| track.name().to_owned());
            let of = track.parent_uuid.and_then(|parent| processes.get(&parent)).cloned();
            tracks.insert(uuid, (name, of));
        }
        let Some(event) = &packet.track_event else { continue };
        let (track, at) = (event.track_uuid(), packet.timestamp());
        match event.r#type() {
            Type::SliceBegin => {
                open.entry(track).or_default().push(slices.len());
                slices.push(Slice { track, name: event.name().to_owned(), start: at, end: None });
            }
            Type::SliceEnd => {
                if let Some(slice) = open.get_mut(&track).and_then(Vec::pop) {
                    slices[slice].end = Some(at);
                }
            }
            Type::Counter | Type::Instant | Type::Unspecified => {}
        }
    }
    let track = |slice: &Slice| tracks.get(&slice.track);
    let columns = [
        ("track", texts(slices.iter().map(|slice| track(slice).map_or("", |(name, _)| name)))),
        (
            "process",
            column(StringArray::from_iter(slices.iter().map(|slice| track(slice).and_then(|(_, of)| of.as_deref())))),
        ),
        ("name", texts(slices.iter().map(|slice| slice.name.as_str()))),
        ("start_ns", column(UInt64Array::from_iter_values(slices.iter().map(|slice| slice.start)))),
        ("end_ns", column(UInt64Array::from_iter(slices.iter().map(|slice| slice.end)))),
    ];
    batch(columns).map(Table::of)
}

struct Slice {
    track: u64,
    name: String,
    start: u64,
    end: Option<u64>,
}
