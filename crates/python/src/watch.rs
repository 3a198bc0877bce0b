//! What happened in a run, event by event, as tables.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt16Array, UInt32Array, UInt64Array};
use evenkeel_model::{CoreId, Machine, Ns, ThreadId};
use evenkeel_sim::{Event, Observer, Stop};
use pyo3::prelude::*;

use crate::error::raise;

/// Sees a run.
pub struct Watch {
    machine: Machine,
    /// Program and name of every thread.
    threads: Vec<(String, String)>,
    /// Since when each core has run which thread.
    running: Vec<Option<(ThreadId, Ns)>>,
    /// Whether each thread waits for something.
    blocked: Vec<bool>,
    /// When each thread was woken, until it runs, by which one.
    woken: Vec<Option<(Ns, Option<ThreadId>)>>,
    spans: Vec<SpanRow>,
    wakeups: Vec<Wakeup>,
    powers: Vec<(Ns, u16, f64)>,
    frequencies: Vec<(Ns, u16, u64)>,
}

struct SpanRow {
    core: CoreId,
    thread: ThreadId,
    start: Ns,
    end: Ns,
    stop: &'static str,
    waits_for: Option<String>,
}

struct Wakeup {
    at: Ns,
    thread: ThreadId,
    core: CoreId,
    latency: Ns,
    by: Option<ThreadId>,
}

impl Watch {
    /// Of a run on a machine, its cores in the order of the run.
    pub fn new(machine: &Machine) -> Self {
        Self {
            running: vec![None; machine.cores.len()],
            machine: machine.clone(),
            threads: Vec::new(),
            blocked: Vec::new(),
            woken: Vec::new(),
            spans: Vec::new(),
            wakeups: Vec::new(),
            powers: Vec::new(),
            frequencies: Vec::new(),
        }
    }

    /// The run is over: what still runs has run until then.
    pub fn end(&mut self, at: Ns) {
        for core in 0..self.running.len() {
            self.stop(CoreId(core as u16), at, "end", None);
        }
    }

    fn stop(&mut self, core: CoreId, end: Ns, stop: &'static str, waits_for: Option<String>) {
        if let Some((thread, start)) = self.running[core.index()].take() {
            self.spans.push(SpanRow { core, thread, start, end, stop, waits_for });
        }
    }

    /// Which thread ran on which core, from when to when, and why it stopped.
    pub fn spans(&self) -> PyResult<RecordBatch> {
        let core = |span: &SpanRow| self.machine.cores[span.core.index()];
        batch([
            ("core", column(UInt16Array::from_iter_values(self.spans.iter().map(|span| span.core.0)))),
            ("core_type", texts(self.spans.iter().map(|span| self.machine.core_type(span.core).name.as_str()))),
            (
                "cluster",
                texts(self.spans.iter().map(|span| self.machine.clusters[core(span).cluster.index()].name.as_str())),
            ),
            ("thread", column(UInt32Array::from_iter_values(self.spans.iter().map(|span| span.thread.0)))),
            ("program", texts(self.spans.iter().map(|span| self.names(span.thread).0))),
            ("name", texts(self.spans.iter().map(|span| self.names(span.thread).1))),
            ("start_ns", column(UInt64Array::from_iter_values(self.spans.iter().map(|span| span.start.0)))),
            ("end_ns", column(UInt64Array::from_iter_values(self.spans.iter().map(|span| span.end.0)))),
            ("stop", texts(self.spans.iter().map(|span| span.stop))),
            ("waits_for", column(StringArray::from_iter(self.spans.iter().map(|span| span.waits_for.as_deref())))),
        ])
    }

    /// When threads were woken, and how long it took until they ran.
    pub fn wakeups(&self) -> PyResult<RecordBatch> {
        let rows = &self.wakeups;
        batch([
            ("at_ns", column(UInt64Array::from_iter_values(rows.iter().map(|row| row.at.0)))),
            ("thread", column(UInt32Array::from_iter_values(rows.iter().map(|row| row.thread.0)))),
            ("program", texts(rows.iter().map(|row| self.names(row.thread).0))),
            ("name", texts(rows.iter().map(|row| self.names(row.thread).1))),
            ("core", column(UInt16Array::from_iter_values(rows.iter().map(|row| row.core.0)))),
            ("latency_ns", column(UInt64Array::from_iter_values(rows.iter().map(|row| row.latency.0)))),
            ("by", column(UInt32Array::from_iter(rows.iter().map(|row| row.by.map(|by| by.0))))),
        ])
    }

    /// The power of each cluster, from each time on until its next.
    pub fn power(&self) -> PyResult<RecordBatch> {
        batch([
            ("at_ns", column(UInt64Array::from_iter_values(self.powers.iter().map(|row| row.0.0)))),
            ("cluster", texts(self.powers.iter().map(|row| self.cluster(row.1)))),
            ("power_w", column(Float64Array::from_iter_values(self.powers.iter().map(|row| row.2)))),
        ])
    }

    /// The frequency of each cluster, from each time on until its next.
    pub fn frequencies(&self) -> PyResult<RecordBatch> {
        batch([
            ("at_ns", column(UInt64Array::from_iter_values(self.frequencies.iter().map(|row| row.0.0)))),
            ("cluster", texts(self.frequencies.iter().map(|row| self.cluster(row.1)))),
            ("hz", column(UInt64Array::from_iter_values(self.frequencies.iter().map(|row| row.2)))),
        ])
    }

    fn names(&self, thread: ThreadId) -> (&str, &str) {
        self.threads.get(thread.index()).map_or(("", ""), |(program, name)| (program, name))
    }

    fn cluster(&self, cluster: u16) -> &str {
        &self.machine.clusters[usize::from(cluster)].name
    }
}

impl Observer for Watch {
    fn observe(&mut self, at: Ns, event: &Event<'_>) {
        match *event {
            Event::Created { program, name, .. } => {
                self.threads.push((program.to_owned(), name.to_owned()));
                self.blocked.push(false);
                self.woken.push(None);
            }
            Event::Ready { thread, by, .. } => {
                // One that was preempted is ready, too.
                if self.blocked.get_mut(thread.index()).is_some_and(std::mem::take) {
                    self.woken[thread.index()] = Some((at, by));
                }
            }
            Event::Run { core, thread } => {
                self.running[core.index()] = Some((thread, at));
                if let Some((since, by)) = self.woken.get_mut(thread.index()).and_then(Option::take) {
                    self.wakeups.push(Wakeup { at: since, thread, core, latency: at.since(since), by });
                }
            }
            Event::Stop { core, thread, why } => {
                let (stop, waits_for) = match why {
                    Stop::Preempted => ("preempted", None),
                    Stop::Taken => ("taken", None),
                    Stop::Yielded => ("yielded", None),
                    Stop::Blocked(on) => {
                        self.blocked[thread.index()] = true;
                        ("blocked", Some(on.to_owned()))
                    }
                    Stop::Exited => ("exited", None),
                };
                self.stop(core, at, stop, waits_for);
            }
            Event::Power { cluster, power } => self.powers.push((at, cluster.0, power.0)),
            Event::Frequency { cluster, frequency } => self.frequencies.push((at, cluster.0, frequency.0)),
            Event::TaskBegan { .. } | Event::TaskEnded { .. } | Event::Affinity { .. } => {}
        }
    }
}

/// A batch of columns with names.
pub fn batch<const COLUMNS: usize>(columns: [(&str, ArrayRef); COLUMNS]) -> PyResult<RecordBatch> {
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| {
        let nullable = column.is_nullable();
        (name, column, nullable)
    }))
    .map_err(|error| raise(&error))
}

/// A column.
pub fn column(array: impl arrow_array::Array + 'static) -> ArrayRef {
    Arc::new(array)
}

/// A column of texts.
pub fn texts<'a>(values: impl Iterator<Item = &'a str>) -> ArrayRef {
    column(StringArray::from_iter_values(values))
}
