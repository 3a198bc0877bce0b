//! What a policy sees.

// The scheduler lends its state for the time of a hook.
#![allow(unsafe_code)]

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread::{self, ThreadId as OsThread};

use evenkeel_model::{Class, ClusterId, CoreId, ThreadId, ThreadKind};
use evenkeel_sched as sched;
use evenkeel_sched::governor::ENOUGH;
use evenkeel_sched::{Run, Wait};
use pyo3::exceptions::{PyIndexError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::values::counted;
use crate::machine::{Machine, numbers};

/// What the scheduler knows: the machine, the threads, and which run and wait where. Threads and cores are numbers; times are in
/// ns. It is lent to a hook and is gone when that returns.
#[pyclass(frozen, module = "evenkeel")]
pub struct State {
    /// Null once the hook has returned.
    lent: AtomicPtr<sched::State>,
    /// The thread that the hook runs on.
    on: OsThread,
    machine: Py<Machine>,
}

impl State {
    /// Lends a state to `hook`.
    pub fn lend<'py, T>(
        py: Python<'py>,
        state: &sched::State,
        machine: &Py<Machine>,
        hook: impl FnOnce(&Bound<'py, Self>) -> PyResult<T>,
    ) -> PyResult<T> {
        let lent = AtomicPtr::new(ptr::from_ref(state).cast_mut());
        let lent = Bound::new(py, Self { lent, on: thread::current().id(), machine: machine.clone_ref(py) })?;
        let returned = Returned(lent);
        hook(&returned.0)
    }

    /// The state, while it is lent.
    pub fn get(&self) -> PyResult<&sched::State> {
        if self.on != thread::current().id() {
            return Err(PyRuntimeError::new_err("the state of a hook that runs on another thread"));
        }
        let lent = self.lent.load(Ordering::Relaxed);
        // SAFETY: `lend` made the pointer from a reference that lives until `lend` returns, and `Returned` takes the pointer back
        // before that, also if the hook panics. It is only read, and only on the thread that `lend` runs on, thus within `hook`:
        // references made here do not outlive a method of this class, all of which return values.
        unsafe { lent.as_ref() }.ok_or_else(|| {
            PyRuntimeError::new_err("the state of a hook that has returned: take from it what is needed later")
        })
    }

    fn with_thread(&self, thread: u32) -> PyResult<(&sched::State, &sched::Thread)> {
        let s = self.get()?;
        let found = s.threads.get(thread as usize);
        let found = found.ok_or_else(|| PyIndexError::new_err(format!("there is no thread {thread}")))?;
        Ok((s, found))
    }

    pub fn known_thread(&self, thread: u32) -> PyResult<ThreadId> {
        self.with_thread(thread).map(|_| ThreadId(thread))
    }

    pub fn known_core(&self, core: u16) -> PyResult<CoreId> {
        let cores = self.get()?.cores.len();
        if usize::from(core) < cores {
            return Ok(CoreId(core));
        }
        Err(PyIndexError::new_err(format!("there is no core {core}: the machine has {cores}, from 0")))
    }
}

/// Takes a state back.
struct Returned<'py>(Bound<'py, State>);

impl Drop for Returned<'_> {
    fn drop(&mut self) {
        self.0.get().lent.store(ptr::null_mut(), Ordering::Relaxed);
    }
}

#[pymethods]
impl State {
    /// The machine, its cores numbered as the operating system numbers them.
    #[getter]
    fn machine(&self, py: Python<'_>) -> Py<Machine> {
        self.machine.clone_ref(py)
    }

    /// The time.
    #[getter]
    fn now(&self) -> PyResult<u64> {
        Ok(self.get()?.now.0)
    }

    /// All cores.
    #[getter]
    fn cores(&self) -> PyResult<Vec<u16>> {
        Ok(numbers(self.get()?.machine.all()))
    }

    /// The cores of the fastest type.
    #[getter]
    fn big(&self) -> PyResult<Vec<u16>> {
        Ok(numbers(self.get()?.big))
    }

    /// All other cores.
    #[getter]
    fn little(&self) -> PyResult<Vec<u16>> {
        Ok(numbers(self.get()?.little))
    }

    /// The cores that have neither a thread nor a queue.
    #[getter]
    fn idle_cores(&self) -> PyResult<Vec<u16>> {
        Ok(numbers(self.get()?.idle_cores()))
    }

    /// The cores for which a thread waits.
    #[getter]
    fn queued_cores(&self) -> PyResult<Vec<u16>> {
        Ok(numbers(self.get()?.queued_cores()))
    }

    /// The threads that are alive.
    #[getter]
    fn living(&self) -> PyResult<Vec<u32>> {
        Ok(self.get()?.living().map(|thread| thread.0).collect())
    }

    /// Whether some core is used to more than 80 % of its capacity.
    #[getter]
    fn crowded(&self) -> PyResult<bool> {
        Ok(self.get()?.crowded(ENOUGH))
    }

    /// The cores that run a thread which they are too small for.
    #[getter]
    fn misfits(&self) -> PyResult<Vec<u16>> {
        Ok(numbers(self.get()?.misfits()))
    }

    /// A thread.
    fn thread(slf: Bound<'_, Self>, thread: u32) -> PyResult<Thread> {
        slf.get().known_thread(thread)?;
        Ok(Thread { state: slf.unbind(), thread })
    }

    /// The threads that wait for a core, and the one that runs there.
    fn core(&self, core: u16) -> PyResult<Queue> {
        let of = self.get()?.core(self.known_core(core)?);
        Ok(Queue {
            current: of.current.map(|thread| thread.0),
            waiting: of.queue.iter().map(|thread| thread.0).collect(),
            weight: of.queue.weight(),
            min_vruntime: of.queue.min_vruntime,
        })
    }

    /// Whether a core has neither a thread nor a queue.
    fn idle(&self, core: u16) -> PyResult<bool> {
        Ok(self.get()?.idle(self.known_core(core)?))
    }

    /// How many threads run on or wait for a core.
    fn occupancy(&self, core: u16) -> PyResult<usize> {
        Ok(self.get()?.occupancy(self.known_core(core)?))
    }

    /// The summed weight of the threads that run on or wait for a core.
    fn weight(&self, core: u16) -> PyResult<u64> {
        Ok(self.get()?.weight(self.known_core(core)?))
    }

    /// What a core can do at its highest frequency; 1024 is the biggest core's.
    fn capacity(&self, core: u16) -> PyResult<u32> {
        Ok(self.get()?.capacity(self.known_core(core)?))
    }

    /// What a core can do at its cluster's frequency.
    fn capacity_now(&self, core: u16) -> PyResult<u32> {
        Ok(self.get()?.capacity_now(self.known_core(core)?))
    }

    /// How much of a core its threads use, but for `without`.
    #[pyo3(signature = (core, without=None))]
    fn usage(&self, core: u16, without: Option<u32>) -> PyResult<u32> {
        let without = without.map(|thread| self.known_thread(thread)).transpose()?;
        Ok(self.get()?.usage(self.known_core(core)?, without))
    }

    /// The type of a core, by its position in `machine.core_types`: 0 is the fastest.
    fn core_type(&self, core: u16) -> PyResult<u8> {
        Ok(self.get()?.machine.cores[self.known_core(core)?.index()].core_type.0)
    }

    /// The cluster of a core, by its position in `machine.clusters`.
    fn cluster(&self, core: u16) -> PyResult<u16> {
        Ok(self.get()?.machine.cores[self.known_core(core)?.index()].cluster.0)
    }

    /// The frequency that a cluster was last set to, in Hz.
    fn frequency(&self, cluster: u16) -> PyResult<u64> {
        let s = self.get()?;
        if usize::from(cluster) >= s.machine.clusters.len() {
            return Err(PyIndexError::new_err(format!("there is no cluster {cluster}")));
        }
        Ok(s.frequency(ClusterId(cluster)).0)
    }

    /// The scheduling domains around a core, smallest first: the cores that share its last-level cache, its memory node, the
    /// machine.
    fn domains(&self, core: u16) -> PyResult<Vec<Vec<u16>>> {
        let core = self.known_core(core)?;
        Ok(self.get()?.domains[core.index()].iter().map(|domain| numbers(*domain)).collect())
    }

    /// When a core last balanced in one of its domains.
    fn balanced(&self, core: u16, level: usize) -> PyResult<u64> {
        let (s, core) = (self.get()?, self.known_core(core)?);
        let levels = s.domains[core.index()].len();
        if level >= levels {
            return Err(PyIndexError::new_err(format!("core {} has {levels} domains, from 0", core.0)));
        }
        Ok(s.balanced(core, level).0)
    }

    /// The thread that runs on a core, if it may move to `to`.
    fn movable_current(&self, core: u16, to: u16) -> PyResult<Option<u32>> {
        let (core, to) = (self.known_core(core)?, self.known_core(to)?);
        Ok(self.get()?.movable_current(core, to).map(|thread| thread.0))
    }

    /// The speedup of the biggest over the smallest core type for a thread: predicted, else that of the machine's capacities.
    fn speedup(&self, thread: u32) -> PyResult<f64> {
        Ok(self.get()?.speedup(self.known_thread(thread)?))
    }

    /// How many times faster a thread progresses on a core than on the smallest core type.
    fn progress_rate(&self, thread: u32, core: u16) -> PyResult<f64> {
        Ok(self.get()?.progress_rate(self.known_thread(thread)?, self.known_core(core)?))
    }
}

/// A core: the thread that runs there (`current`), those that wait (`waiting`, in their order), their summed weight, and the
/// floor of the queue's virtual time.
#[pyclass(frozen, get_all, module = "evenkeel")]
pub struct Queue {
    current: Option<u32>,
    waiting: Vec<u32>,
    weight: u64,
    min_vruntime: i64,
}

#[pymethods]
impl Queue {
    /// The thread that is first in line.
    #[getter]
    fn first(&self) -> Option<u32> {
        self.waiting.first().copied()
    }
}

/// A thread as policies see it. Times are in ns. It is gone when the hook returns.
#[pyclass(frozen, module = "evenkeel")]
pub struct Thread {
    state: Py<State>,
    thread: u32,
}

impl Thread {
    fn read<T>(&self, read: impl FnOnce(&sched::State, &sched::Thread) -> T) -> PyResult<T> {
        let (s, thread) = self.state.get().with_thread(self.thread)?;
        Ok(read(s, thread))
    }
}

#[pymethods]
impl Thread {
    /// Its number.
    #[getter]
    fn number(&self) -> u32 {
        self.thread
    }

    /// The number of its program.
    #[getter]
    fn program(&self) -> PyResult<u32> {
        self.read(|_, t| t.program.index() as u32)
    }

    /// `"application"` or `"service"`.
    #[getter]
    fn kind(&self) -> PyResult<&'static str> {
        self.read(|_, t| match t.kind {
            ThreadKind::Application => "application",
            ThreadKind::Service => "service",
        })
    }

    /// Its real-time priority, if it is a real-time thread.
    #[getter]
    fn real_time(&self) -> PyResult<Option<u8>> {
        self.read(|_, t| match t.class {
            Class::RealTime { priority, .. } => Some(priority),
            Class::Fair { .. } => None,
        })
    }

    /// Its weight among fair threads: 1024 at nice 0.
    #[getter]
    fn weight(&self) -> PyResult<u64> {
        self.read(|_, t| t.weight())
    }

    /// `"ready"`, `"running"`, `"blocked"` or `"absent"` (introduced only, or exited).
    #[getter]
    fn run(&self) -> PyResult<&'static str> {
        self.read(|_, t| match t.run {
            Run::Ready => "ready",
            Run::Running => "running",
            Run::Blocked(_) => "blocked",
            Run::Absent => "absent",
        })
    }

    /// What a blocked thread waits for: `"futex"`, which is another thread, or `"sleep"`, which is time or a device.
    #[getter]
    fn waits_for(&self) -> PyResult<Option<&'static str>> {
        self.read(|_, t| match t.run {
            Run::Blocked(Wait::Futex) => Some("futex"),
            Run::Blocked(Wait::Sleep) => Some("sleep"),
            Run::Ready | Run::Running | Run::Absent => None,
        })
    }

    /// The core that it runs on, waits for, or was on last.
    #[getter]
    fn core(&self) -> PyResult<u16> {
        self.read(|_, t| t.core.0)
    }

    /// The cores that it may run on.
    #[getter]
    fn allowed(&self) -> PyResult<Vec<u16>> {
        self.read(|_, t| numbers(t.allowed()))
    }

    /// Whether it may run on a core.
    fn may_run_on(&self, core: u16) -> PyResult<bool> {
        let core = self.state.get().known_core(core)?;
        self.read(|_, t| t.may_run_on(core))
    }

    /// Virtual time, comparable within one queue only.
    #[getter]
    fn vruntime(&self) -> PyResult<i64> {
        self.read(|_, t| t.vruntime)
    }

    /// When it began to run, became ready or blocked.
    #[getter]
    fn since(&self) -> PyResult<u64> {
        self.read(|_, t| t.since.0)
    }

    /// When it last stopped running.
    #[getter]
    fn last_ran(&self) -> PyResult<u64> {
        self.read(|_, t| t.last_ran.0)
    }

    /// Its load average within its clamps, of 1024: how much of recent time it was runnable.
    #[getter]
    fn utilisation(&self) -> PyResult<u32> {
        self.read(|_, t| t.utilisation())
    }

    /// How much of the biggest core, of 1024, it used recently.
    #[getter]
    fn usage(&self) -> PyResult<u32> {
        self.read(|s, t| t.usage(s.now))
    }

    /// How much of the biggest core, of 1024, it is going to need.
    #[getter]
    fn demand(&self) -> PyResult<u32> {
        self.read(|s, t| t.demand(s.now))
    }

    /// All time spent running.
    #[getter]
    fn executed(&self) -> PyResult<u64> {
        self.read(|_, t| t.executed.0)
    }

    /// Time it has run since it was last put on a core.
    #[getter]
    fn stint(&self) -> PyResult<u64> {
        self.read(|_, t| t.stint.0)
    }

    /// All time spent ready, waiting for a core.
    #[getter]
    fn waited(&self) -> PyResult<u64> {
        self.read(|_, t| t.waited.0)
    }

    /// All time spent blocked on other threads.
    #[getter]
    fn contended(&self) -> PyResult<u64> {
        self.read(|_, t| t.contended.0)
    }

    /// All time that others waited for it (COLAB 4.1).
    #[getter]
    fn blame(&self) -> PyResult<u64> {
        self.read(|_, t| t.blame.0)
    }

    /// Instructions retired, if the host can count them.
    #[getter]
    fn instructions(&self) -> PyResult<Option<u64>> {
        self.read(|_, t| t.instructions.map(|count| count.0))
    }

    /// Predicted speedup of the biggest over the smallest core type, once there is a prediction.
    #[getter]
    fn speedup(&self) -> PyResult<Option<f64>> {
        self.read(|_, t| t.speedup)
    }

    /// What is ahead of it, for policies with `foresight`: a dict with `level`, the least time until it and all that wait for it are done, if each runs
    /// on the biggest core type at once (`None` where that cannot be known), `stretch`, how long it runs now until it waits or
    /// releases another thread, and `speedup`, the true one of what it does in that time.
    #[getter]
    fn future<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(of) = self.read(|_, t| t.future)? else { return Ok(None) };
        let future = PyDict::new(py);
        future.set_item("level", of.level.map(|level| level.0))?;
        future.set_item("stretch", of.stretch.0)?;
        future.set_item("speedup", of.speedup)?;
        Ok(Some(future))
    }

    /// What it did since the last refresh: for each core type a dict with `time`, `instructions` and `counters`.
    #[getter]
    fn window<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let of = self.read(|_, t| t.window.on_type.clone())?;
        let entry = |on: &sched::OnType| {
            let entry = PyDict::new(py);
            entry.set_item("time", on.time.0)?;
            entry.set_item("instructions", on.instructions.map(|count| count.0))?;
            entry.set_item("counters", on.counters.as_ref().map(|counters| counted(py, counters)).transpose()?)?;
            Ok(entry)
        };
        of.iter().map(entry).collect()
    }
}
