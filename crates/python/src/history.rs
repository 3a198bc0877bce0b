//! What happened in a run, event by event, as tables.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt16Array, UInt32Array, UInt64Array};
use evenkeel_experiment::history::{History, Span, Wait, Why, Woken};
use evenkeel_model::{ClusterId, Machine, ThreadId};
use pyo3::prelude::*;

use crate::error::raise;

/// Which thread ran on which core, from when to when, and why it stopped.
pub fn spans(history: &History, machine: &Machine) -> PyResult<RecordBatch> {
    let spans = &history.spans;
    let cluster = |span: &Span| machine.cores[span.core.index()].cluster;
    let waits_for = |span: &Span| match span.why {
        Why::Blocked(what) => history.waited_for.get(what as usize).map(String::as_str),
        _ => None,
    };
    batch([
        ("core", column(UInt16Array::from_iter_values(spans.iter().map(|span| span.core.0)))),
        ("core_type", texts(spans.iter().map(|span| machine.core_type(span.core).name.as_str()))),
        ("cluster", texts(spans.iter().map(|span| name(machine, cluster(span))))),
        ("thread", column(UInt32Array::from_iter_values(spans.iter().map(|span| span.thread.0)))),
        ("program", texts(spans.iter().map(|span| names(history, span.thread).0))),
        ("name", texts(spans.iter().map(|span| names(history, span.thread).1))),
        ("start_ns", column(UInt64Array::from_iter_values(spans.iter().map(|span| span.start.0)))),
        ("end_ns", column(UInt64Array::from_iter_values(spans.iter().map(|span| span.end.0)))),
        ("stop", texts(spans.iter().map(|span| span.why.name()))),
        ("waits_for", column(StringArray::from_iter(spans.iter().map(waits_for)))),
    ])
}

/// When threads were woken, and how long it took until they ran.
pub fn wakeups(history: &History) -> PyResult<RecordBatch> {
    let rows: Vec<&Span> = history.spans.iter().filter(|span| span.woken != Woken::No).collect();
    let by = |span: &&Span| match span.woken {
        Woken::By(thread) => Some(thread.0),
        Woken::No | Woken::ByItself => None,
    };
    batch([
        ("at_ns", column(UInt64Array::from_iter_values(rows.iter().map(|span| (span.start - span.ready).0)))),
        ("thread", column(UInt32Array::from_iter_values(rows.iter().map(|span| span.thread.0)))),
        ("program", texts(rows.iter().map(|span| names(history, span.thread).0))),
        ("name", texts(rows.iter().map(|span| names(history, span.thread).1))),
        ("core", column(UInt16Array::from_iter_values(rows.iter().map(|span| span.core.0)))),
        ("latency_ns", column(UInt64Array::from_iter_values(rows.iter().map(|span| span.ready.0)))),
        ("by", column(UInt32Array::from_iter(rows.iter().map(by)))),
    ])
}

/// How long threads took from each wake-up that no thread caused until they waited again.
pub fn responses(history: &History) -> PyResult<RecordBatch> {
    let mut rows = Vec::new();
    for (index, thread) in history.threads.iter().enumerate() {
        let mut before = 0;
        for (time, upto) in thread.responses.cumulative() {
            rows.push((ThreadId(index as u32), time, upto - before));
            before = upto;
        }
    }
    batch([
        ("thread", column(UInt32Array::from_iter_values(rows.iter().map(|row| row.0.0)))),
        ("program", texts(rows.iter().map(|row| names(history, row.0).0))),
        ("name", texts(rows.iter().map(|row| names(history, row.0).1))),
        ("response_ns", column(UInt64Array::from_iter_values(rows.iter().map(|row| row.1.0)))),
        ("times", column(UInt64Array::from_iter_values(rows.iter().map(|row| row.2)))),
    ])
}

/// How long threads waited for others: until those woke them.
pub fn waits(history: &History) -> PyResult<RecordBatch> {
    let rows: Vec<_> = history.waits.iter().map(|(pair, wait)| (pair.waiter, pair.waker, wait)).collect();
    let numbers = |of: fn(&(ThreadId, ThreadId, &Wait)) -> ThreadId| {
        column(UInt32Array::from_iter_values(rows.iter().map(|row| of(row).0)))
    };
    batch([
        ("thread", numbers(|row| row.0)),
        ("program", texts(rows.iter().map(|row| names(history, row.0).0))),
        ("name", texts(rows.iter().map(|row| names(history, row.0).1))),
        ("by", numbers(|row| row.1)),
        ("by_program", texts(rows.iter().map(|row| names(history, row.1).0))),
        ("by_name", texts(rows.iter().map(|row| names(history, row.1).1))),
        ("waited_s", column(Float64Array::from_iter_values(rows.iter().map(|row| row.2.total.as_secs_f64())))),
        ("times", column(UInt64Array::from_iter_values(rows.iter().map(|row| row.2.times)))),
    ])
}

/// The power of each cluster, from each time on until its next.
pub fn power(history: &History, machine: &Machine) -> PyResult<RecordBatch> {
    let rows = &history.power;
    batch([
        ("at_ns", column(UInt64Array::from_iter_values(rows.iter().map(|row| row.0.0)))),
        ("cluster", texts(rows.iter().map(|row| name(machine, row.1)))),
        ("power_w", column(Float64Array::from_iter_values(rows.iter().map(|row| row.2.0)))),
    ])
}

/// The frequency of each cluster, from each time on until its next.
pub fn frequencies(history: &History, machine: &Machine) -> PyResult<RecordBatch> {
    let rows = &history.frequencies;
    batch([
        ("at_ns", column(UInt64Array::from_iter_values(rows.iter().map(|row| row.0.0)))),
        ("cluster", texts(rows.iter().map(|row| name(machine, row.1)))),
        ("hz", column(UInt64Array::from_iter_values(rows.iter().map(|row| row.2.0)))),
    ])
}

fn names(history: &History, thread: ThreadId) -> (&str, &str) {
    history.threads.get(thread.index()).map_or(("", ""), |thread| (&thread.program, &thread.name))
}

fn name(machine: &Machine, cluster: ClusterId) -> &str {
    &machine.clusters[cluster.index()].name
}

/// A batch of columns with names. Any of them may have nulls: what a table is must not depend on whether it happens to have one, or tables of
/// several runs could not be put together.
pub fn batch<const COLUMNS: usize>(columns: [(&str, ArrayRef); COLUMNS]) -> PyResult<RecordBatch> {
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
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
