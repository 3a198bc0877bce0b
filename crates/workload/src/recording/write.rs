//! From a recording to lines of JSON: a header, then a line a thread, then a line an item.

use std::collections::BTreeMap;

use serde::Serialize;

use super::division::Division;
use super::limits::VERSION;
use super::recorded::{RecordedItem, RecordedThread, Recording};
use super::step::Step;
use crate::program::{Start, ThreadKind};

#[derive(Serialize)]
struct HeaderLine<'a> {
    evenkeel: u32,
    command: &'a [String],
    makespan_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    wake_ns: Option<u64>,
    counted: bool,
    threads: usize,
    #[serde(skip_serializing_if = "is_zero")]
    items: usize,
    notes: &'a [String],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pools: &'a BTreeMap<u32, Division>,
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<&'a str>,
}

#[derive(Serialize)]
struct ThreadLine<'a> {
    thread: usize,
    name: &'a str,
    process: u32,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    spawned: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_ns: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    rates: &'a [Option<f64>],
    ops: &'a [Step],
}

#[derive(Serialize)]
struct ItemLine<'a> {
    item: usize,
    list: u32,
    by: u32,
    ops: &'a [Step],
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

pub(super) fn write(recording: &Recording) -> String {
    let header = HeaderLine {
        evenkeel: VERSION,
        command: &recording.command,
        makespan_ns: recording.makespan.0,
        wake_ns: recording.wake.map(|wake| wake.0),
        counted: recording.counted,
        threads: recording.threads.len(),
        items: recording.items.len(),
        notes: &recording.notes,
        pools: &recording.pools,
        machine: recording.machine.as_deref(),
    };
    let mut text = line(&header);
    for (position, thread) in recording.threads.iter().enumerate() {
        text += &line(&thread_line(position, thread));
    }
    for (item, RecordedItem { list, by, steps }) in (recording.threads.len()..).zip(&recording.items) {
        text += &line(&ItemLine { item, list: *list, by: *by, ops: steps });
    }
    text
}

fn thread_line(thread: usize, recorded: &RecordedThread) -> ThreadLine<'_> {
    let (spawned, at_ns) = match recorded.start {
        Start::Spawned => (Some(true), None),
        Start::At(at) | Start::About(at, _) => (None, Some(at.0)),
    };
    let kind = match recorded.kind {
        ThreadKind::Application => "application",
        ThreadKind::Service => "service",
    };
    ThreadLine {
        thread,
        name: &recorded.name,
        process: recorded.process,
        kind,
        spawned,
        at_ns,
        rates: &recorded.rates,
        ops: &recorded.steps,
    }
}

fn line(value: &impl Serialize) -> String {
    // Strings, numbers and lists of them: nothing that JSON cannot say.
    let mut text = serde_json::to_string(value).unwrap_or_default();
    text.push('\n');
    text
}
