//! From lines of JSON to a recording. References between threads are for [`super::check`].

use std::collections::BTreeMap;

use evenkeel_model::Ns;
use evenkeel_model::words::plain;
use serde::Deserialize;

use super::division::Division;
use super::limits::{MAX_AMOUNT, RATES, VERSION, rate};
use super::recorded::{RecordedItem, RecordedThread, Recording};
use super::step::Step;
use crate::program::{Start, ThreadKind};

/// No CPU takes longer to leave its idle state, in ns.
const MOST_WAKE: u64 = 1_000_000_000;

/// A line, from 1, and what is wrong there.
pub(super) type Fault = (usize, String);

/// On which line each thread stands, and then each item.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    /// The line of a thread or item, or that of the header.
    pub(super) fn of(&self, thread: Option<usize>) -> usize {
        thread.and_then(|thread| self.0.get(thread)).copied().unwrap_or(1)
    }
}

/// What every version of the header begins with.
#[derive(Deserialize)]
struct Version {
    evenkeel: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderLine {
    #[serde(rename = "evenkeel")]
    _version: u32,
    threads: usize,
    #[serde(default)]
    items: usize,
    makespan_ns: u64,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    machine: Option<String>,
    #[serde(default)]
    wake_ns: Option<u64>,
    #[serde(default)]
    counted: bool,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    pools: BTreeMap<u32, Division>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ThreadLine {
    thread: usize,
    name: String,
    #[serde(default)]
    process: u32,
    #[serde(default)]
    kind: KindText,
    #[serde(default)]
    spawned: bool,
    #[serde(default)]
    at_ns: Option<u64>,
    #[serde(default)]
    rates: Vec<Option<f64>>,
    ops: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ItemLine {
    item: usize,
    list: u32,
    by: u32,
    ops: Vec<Step>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum KindText {
    #[default]
    Application,
    Service,
}

pub(super) fn read(text: &str) -> Result<(Recording, Lines), Fault> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let Some((at, first)) = lines.next() else {
        return Err((1, "an empty file: expected a recording of `evenkeel record`".into()));
    };
    let header = header(first).map_err(|message| (at + 1, message))?;
    let mut threads = Vec::new();
    let mut items = Vec::new();
    let mut numbers = Vec::new();
    for (at, line) in lines {
        let fault = |message| (at + 1, message);
        if threads.len() < header.threads || header.items == 0 {
            threads.push(thread(line, threads.len()).map_err(fault)?);
        } else {
            items.push(item(line, numbers.len()).map_err(fault)?);
        }
        numbers.push(at + 1);
    }
    for (there, all, of) in [(threads.len(), header.threads, "threads"), (items.len(), header.items, "items")] {
        if there != all {
            let last = numbers.last().copied().unwrap_or(at + 1);
            return Err((last, format!("{there} {of}, but the header says {all}: the file is not complete")));
        }
    }
    if let Some(wake) = header.wake_ns.filter(|wake| *wake > MOST_WAKE) {
        return Err((at + 1, format!("\"wake_ns\": expected at most {MOST_WAKE}, found {wake}")));
    }
    if let Some((pool, _)) = header.pools.iter().find(|(_, division)| division.pieces == 0) {
        return Err((at + 1, format!("\"pools\": pool {pool} has 0 pieces: expected at least 1")));
    }
    let recording = Recording {
        command: header.command,
        machine: header.machine,
        makespan: Ns(header.makespan_ns),
        wake: header.wake_ns.map(Ns),
        counted: header.counted,
        notes: header.notes,
        pools: header.pools,
        threads,
        items,
    };
    Ok((recording, Lines(numbers)))
}

fn header(line: &str) -> Result<HeaderLine, String> {
    let Version { evenkeel } = serde_json::from_str(line).map_err(|error| {
        format!("not a recording: expected a header {{\"evenkeel\": {VERSION}, ...}}; {}", said(&error))
    })?;
    if evenkeel != VERSION {
        return Err(format!(
            "a recording of version {evenkeel}: this Evenkeel reads version {VERSION}, record again with it"
        ));
    }
    serde_json::from_str(line).map_err(|error| said(&error))
}

fn thread(line: &str, position: usize) -> Result<RecordedThread, String> {
    let line: ThreadLine = serde_json::from_str(line).map_err(|error| said(&error))?;
    if line.thread != position {
        return Err(format!("thread {}: expected thread {position}, they are numbered in order from 0", line.thread));
    }
    let start = match (line.spawned, line.at_ns.unwrap_or(0)) {
        (true, _) if line.at_ns.is_some() => return Err("\"spawned\" and \"at_ns\": leave one of them out".into()),
        (true, _) => Start::Spawned,
        (false, at) if at > MAX_AMOUNT => return Err(format!("\"at_ns\": expected at most {MAX_AMOUNT}, found {at}")),
        (false, at) => Start::At(Ns(at)),
    };
    let kind = match line.kind {
        KindText::Application => ThreadKind::Application,
        KindText::Service => ThreadKind::Service,
    };
    if let Some(rate) = line.rates.iter().flatten().find(|rate| !RATES.contains(rate)) {
        let (least, most) = (RATES.start(), RATES.end());
        return Err(format!("\"rates\": expected {least} to {most} instructions per ns, or null, found {rate}"));
    }
    let rates = line.rates.into_iter().map(|given| given.map(rate)).collect();
    let (name, process, steps) = (line.name, line.process, line.ops);
    Ok(RecordedThread { name, process, kind, start, rates, steps })
}

fn item(line: &str, position: usize) -> Result<RecordedItem, String> {
    let ItemLine { item, list, by, ops } = serde_json::from_str(line).map_err(|error| said(&error))?;
    if item != position {
        return Err(format!("item {item}: expected item {position}, they are numbered in order, on from the threads"));
    }
    Ok(RecordedItem { list, by, steps: ops })
}

/// What the JSON parser says, with the column only: it saw no more than one line.
fn said(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(text) => format!("column {}: {}", error.column(), plain(text)),
        None => text,
    }
}
