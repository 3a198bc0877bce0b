//! What hooks take and return.

use evenkeel_model::predict::Quality;
use evenkeel_model::{ClusterId, CoreId, CoreSet, Counter, Hz, ThreadId};
use evenkeel_sched as sched;
use evenkeel_sched::policy::{Culprit, Group, Standing};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::Error;

/// Why a thread is ready: `kind` is `"new"`, `"woken"`, `"preempted"`, `"yielded"` or `"taken"`; `by` is the thread that started or
/// woke it, or the core that takes it over, if there is one.
#[pyclass(frozen, get_all, module = "evenkeel")]
pub struct Why {
    kind: &'static str,
    by: Option<u32>,
}

impl From<sched::Why> for Why {
    fn from(why: sched::Why) -> Self {
        let thread = |by: Option<ThreadId>| by.map(|thread| thread.0);
        match why {
            sched::Why::New { by } => Self { kind: "new", by: thread(by) },
            sched::Why::Woken { by } => Self { kind: "woken", by: thread(by) },
            sched::Why::Preempted => Self { kind: "preempted", by: None },
            sched::Why::Yielded => Self { kind: "yielded", by: None },
            sched::Why::Taken { by } => Self { kind: "taken", by: Some(by.0.into()) },
        }
    }
}

impl Why {
    /// What the scheduler means by it.
    pub fn means(&self) -> sched::Why {
        let by = self.by.map(ThreadId);
        match self.kind {
            "new" => sched::Why::New { by },
            "woken" => sched::Why::Woken { by },
            "preempted" => sched::Why::Preempted,
            "yielded" => sched::Why::Yielded,
            _ => sched::Why::Taken { by: CoreId(self.by.unwrap_or_default() as u16) },
        }
    }
}

#[pymethods]
impl Why {
    fn __repr__(&self) -> String {
        match self.by {
            Some(by) => format!("<evenkeel.Why {} by {by}>", self.kind),
            None => format!("<evenkeel.Why {}>", self.kind),
        }
    }
}

/// What a core should run next: `Pick.queued(thread)` for one that waits, in whichever queue; `Pick.running(thread)` to take
/// over one that runs elsewhere; `Pick.exchange(thread)`, in `balance` only, to swap it for the one that runs here; `None` for
/// nothing.
#[pyclass(frozen, eq, module = "evenkeel")]
#[derive(PartialEq)]
pub struct Pick {
    kind: &'static str,
    thread: u32,
}

#[pymethods]
impl Pick {
    /// This waiting thread.
    #[staticmethod]
    fn queued(thread: u32) -> Self {
        Self { kind: "queued", thread }
    }

    /// This thread, which runs on another core.
    #[staticmethod]
    fn running(thread: u32) -> Self {
        Self { kind: "running", thread }
    }

    /// This thread, which runs on or waits for another core, for the one that runs here.
    #[staticmethod]
    fn exchange(thread: u32) -> Self {
        Self { kind: "exchange", thread }
    }

    /// `"queued"`, `"running"` or `"exchange"`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.kind
    }

    /// The thread.
    #[getter]
    fn thread(&self) -> u32 {
        self.thread
    }

    fn __repr__(&self) -> String {
        format!("Pick.{}({})", self.kind, self.thread)
    }
}

impl Pick {
    /// As Python has it.
    pub fn of(pick: sched::policy::Pick) -> Option<Self> {
        match pick {
            sched::policy::Pick::Queued(thread) => Some(Self::queued(thread.0)),
            sched::policy::Pick::Running(thread) => Some(Self::running(thread.0)),
            sched::policy::Pick::Exchange { there, .. } => Some(Self::exchange(there.0)),
            sched::policy::Pick::Idle => None,
        }
    }

    /// What the scheduler means by it on a core that runs a thread, or none. Nothing is given away where nothing runs.
    pub fn means(&self, current: Option<ThreadId>) -> Option<sched::policy::Pick> {
        let thread = ThreadId(self.thread);
        match self.kind {
            "queued" => Some(sched::policy::Pick::Queued(thread)),
            "running" => Some(sched::policy::Pick::Running(thread)),
            _ => current.map(|here| sched::policy::Pick::Exchange { here, there: thread }),
        }
    }
}

/// What a thread did in a span of running. Times are in ns; what the host cannot count is `None`.
#[pyclass(frozen, module = "evenkeel")]
pub struct Span {
    span: sched::Span,
}

impl From<&sched::Span> for Span {
    fn from(span: &sched::Span) -> Self {
        Self { span: *span }
    }
}

#[pymethods]
impl Span {
    /// How long it ran.
    #[getter]
    fn time(&self) -> u64 {
        self.span.time.0
    }

    /// How long it was runnable and another thread had its core.
    #[getter]
    fn waited(&self) -> u64 {
        self.span.waited.0
    }

    /// Instructions retired.
    #[getter]
    fn instructions(&self) -> Option<u64> {
        self.span.instructions.map(|count| count.0)
    }

    /// Events counted, by their name.
    #[getter]
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.span.counters.as_ref().map(|counters| counted(py, counters)).transpose()
    }

    /// The speedup of the code that ran, if it need not be predicted.
    #[getter]
    fn speedup(&self) -> Option<f64> {
        self.span.speedup
    }
}

/// Counters by their names.
pub fn counted<'py>(py: Python<'py>, counters: &evenkeel_model::Counters) -> PyResult<Bound<'py, PyDict>> {
    let named = PyDict::new(py);
    for counter in Counter::ALL {
        named.set_item(counter.name(), counters.get(counter))?;
    }
    Ok(named)
}

/// What a policy changes in `refresh` or `turned`.
#[pyclass(module = "evenkeel")]
#[derive(Default)]
pub struct Changes {
    affinities: Vec<(ThreadId, Vec<u16>)>,
    frequencies: Vec<(ClusterId, Hz)>,
}

#[pymethods]
impl Changes {
    /// From now on the thread may run on these cores, within what its program allows.
    fn affinity(&mut self, thread: u32, cores: Vec<u16>) {
        self.affinities.push((ThreadId(thread), cores));
    }

    /// From now on the cluster runs at this frequency, in Hz: one of `s.machine.frequencies(cluster)`.
    fn frequency(&mut self, cluster: u16, hz: u64) {
        self.frequencies.push((ClusterId(cluster), Hz(hz)));
    }
}

impl Changes {
    /// Makes sure that they can be made, and makes them.
    pub fn make(&self, s: &sched::State, changes: &mut sched::policy::Changes) -> PyResult<()> {
        for (thread, given) in &self.affinities {
            let known = s.threads.get(thread.index()).is_some_and(sched::Thread::alive);
            let Some(cores) = cores(s, given).filter(|_| known) else {
                let all = s.cores.len();
                return Err(Error::new_err(format!(
                    "affinity({}, {given:?}): expected a thread that is alive and at least one of the {all} cores",
                    thread.0
                )));
            };
            changes.affinity(*thread, cores);
        }
        for &(cluster, frequency) in &self.frequencies {
            let found = s.machine.clusters.get(cluster.index());
            let opps = found.map(|found| &s.machine.core_types[found.core_type.index()].opps);
            if !opps.is_some_and(|opps| opps.iter().any(|opp| opp.frequency == frequency)) {
                return Err(Error::new_err(format!(
                    "frequency({}, {}): expected a cluster and one of its frequencies (machine.frequencies(cluster))",
                    cluster.0, frequency.0
                )));
            }
            changes.frequency(cluster, frequency);
        }
        Ok(())
    }
}

/// A set of cores, if all of them are the machine's and there is one.
pub fn cores(s: &sched::State, given: &[u16]) -> Option<CoreSet> {
    let fine = !given.is_empty() && given.iter().all(|core| usize::from(*core) < s.cores.len());
    fine.then(|| given.iter().copied().map(CoreId).collect())
}

/// Which threads are blamed for a wait.
pub fn blamed(word: &str) -> PyResult<Culprit> {
    match word {
        "holders" => Ok(Culprit::Holders),
        "waker" => Ok(Culprit::Waker),
        other => Err(Error::new_err(format!("culprit {other:?}: expected holders or waker"))),
    }
}

/// What a policy thinks of a thread, if it is such a word.
pub fn standing(word: &str) -> Option<Standing> {
    let group = |group| Some(Standing { group, ..Standing::default() });
    match word {
        "big" => group(Group::Big),
        "little" => group(Group::Little),
        // For how long is of use inside the kernel only.
        "critical" => Some(Standing { urgency: 1.0, ..Standing::default() }),
        "any" => group(Group::Either),
        _ => None,
    }
}

/// How good the predictor of speedups should be.
pub fn quality(word: &str) -> PyResult<Quality> {
    match word {
        "best" => Ok(Quality::Best),
        "second-best" => Ok(Quality::SecondBest),
        "inverted" => Ok(Quality::Inverted),
        other => Err(Error::new_err(format!("predictor {other:?}: expected best, second-best or inverted"))),
    }
}
