//! Long work: without the interpreter's lock, on threads of its own, with progress, and ended by Ctrl-C.

use std::cell::Cell;
use std::ffi::c_long;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use evenkeel_experiment::{Control, Progress, Stage};
use evenkeel_sim::{MAX_EVENTS, Meter};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::ffi;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::Error;

/// How often signals are handled and progress is told.
const BETWEEN: Duration = Duration::from_millis(50);

/// What goes wrong in Python meanwhile: in a policy, or by Ctrl-C. The first exception ends the work.
#[derive(Clone, Default)]
pub struct Faults(Arc<Inner>);

#[derive(Default)]
struct Inner {
    first: Mutex<Option<PyErr>>,
    meter: Arc<Meter>,
    /// The threads that are in Python's code, by Python's numbers. Changed only with the interpreter's lock.
    inside: Mutex<Vec<c_long>>,
}

impl Faults {
    /// Keeps an exception, if it is the first, and ends the work.
    pub fn set(&self, error: PyErr) {
        let mut first = self.0.first.lock().unwrap_or_else(PoisonError::into_inner);
        // Another one is dropped after the lock: that may run code of Python's, which may want this lock.
        let _other = if first.is_none() { first.replace(error) } else { Some(error) };
        drop(first);
        self.0.meter.stop().store(true, Ordering::Relaxed);
    }

    /// Runs code of Python's on a thread of the work, where [`Self::interrupt`] can end it.
    pub fn inside<T>(&self, py: Python<'_>, run: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
        let thread = number(py)?;
        self.threads().push(thread);
        let _leaves = Leaves(self, thread);
        run()
    }

    /// Ends what Python's code is at on threads of the work: signals reach only the main one, which waits for them, and a hook
    /// that loops for ever would never come back to be told.
    fn interrupt(&self, py: Python<'_>) {
        let interrupted = py.get_type::<PyKeyboardInterrupt>();
        for thread in self.threads().iter() {
            // SAFETY: this thread has the interpreter's lock, and the exception is a class that lives as long as the interpreter.
            // The other thread is in Python's code, waiting for that lock; a number that Python does not know is ignored.
            #[allow(unsafe_code)]
            unsafe {
                ffi::PyThreadState_SetAsyncExc(*thread, interrupted.as_ptr());
            }
        }
    }

    fn threads(&self) -> MutexGuard<'_, Vec<c_long>> {
        self.0.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is one.
    pub fn any(&self) -> bool {
        self.0.meter.stopped()
    }

    /// The exception, if there is one; then there is none.
    pub fn take(&self) -> Option<PyErr> {
        self.0.meter.stop().store(false, Ordering::Relaxed);
        self.0.first.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What tells the work to end.
    pub fn meter(&self) -> &Arc<Meter> {
        &self.0.meter
    }
}

/// A thread that leaves Python's code.
struct Leaves<'a>(&'a Faults, c_long);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        let mut threads = self.0.threads();
        if let Some(at) = threads.iter().rposition(|thread| *thread == self.1) {
            threads.swap_remove(at);
        }
    }
}

/// Python's number of this thread.
fn number(py: Python<'_>) -> PyResult<c_long> {
    thread_local!(static KNOWN: Cell<Option<c_long>> = const { Cell::new(None) });
    if let Some(known) = KNOWN.get() {
        return Ok(known);
    }
    let number: u64 = py.import("threading")?.call_method0("get_ident")?.extract()?;
    KNOWN.set(Some(number as c_long));
    Ok(number as c_long)
}

/// How work is done.
#[derive(Default)]
pub struct How {
    /// Is called with the stage, the runs that are done and those that there are.
    pub progress: Option<Py<PyAny>>,
    /// On so many threads; on all cores without.
    pub threads: Option<usize>,
    /// The most events of a run.
    pub max_events: Option<u64>,
    /// Where exceptions go.
    pub faults: Faults,
}

/// Does work while the interpreter is free for others.
///
/// # Errors
/// An exception that came up meanwhile.
pub fn work<T: Send>(py: Python<'_>, how: &How, job: impl FnOnce(&Control<'_>) -> T + Send) -> PyResult<T> {
    let counted = Counted::default();
    let pool = pool(how.threads)?;
    let control = Control {
        progress: &counted,
        meter: Some(how.faults.meter()),
        max_events: how.max_events.unwrap_or(MAX_EVENTS),
    };
    let tell = |py: Python<'_>| -> PyResult<()> {
        py.check_signals()?;
        // In a hook of other work it is that work's `interrupt` that ends this one: an exception which only Python's code lets out.
        py.eval(c"(lambda: None)()", None, None)?;
        match (&how.progress, counted.now()) {
            (Some(progress), Some((stage, done, of))) => progress.call1(py, (stage, done, of)).map(drop),
            _ => Ok(()),
        }
    };
    let result = py.detach(|| {
        std::thread::scope(|scope| {
            let (over, is_over) = mpsc::channel::<()>();
            let control = &control;
            let worker = scope.spawn(move || {
                // Dropped when the job ends, also by a panic.
                let _over = over;
                pool.install(|| job(control))
            });
            while let Err(RecvTimeoutError::Timeout) = is_over.recv_timeout(BETWEEN) {
                Python::attach(|py| {
                    if let Err(error) = tell(py) {
                        how.faults.set(error);
                        how.faults.interrupt(py);
                    }
                });
            }
            worker.join()
        })
    });
    let result = result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    match how.faults.take() {
        Some(error) => Err(error),
        None => {
            tell(py)?;
            Ok(result)
        }
    }
}

/// The threads that work: one for each core, for all calls, in a process that may have been forked and then has none of its parent's.
/// So many as are asked for are a call's own, and so is the one of work within work, for which the others may wait.
fn pool(threads: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    static SHARED: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);
    if threads == Some(0) {
        return Err(Error::new_err("threads = 0: expected at least one, or None for all cores"));
    }
    let build = |threads: usize| {
        let built = ThreadPoolBuilder::new().num_threads(threads).build();
        built.map(Arc::new).map_err(|error| Error::new_err(format!("no threads to work on: {error}")))
    };
    let within = rayon::current_thread_index().is_some();
    if let Some(threads) = threads.or(within.then_some(1)) {
        return build(threads);
    }
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let own = std::process::id();
    match &*shared {
        Some((process, pool)) if *process == own => Ok(Arc::clone(pool)),
        _ => {
            let pool = build(0)?;
            // The threads of a parent cannot be waited for.
            std::mem::forget(shared.replace((own, Arc::clone(&pool))));
            Ok(pool)
        }
    }
}

/// How far the present stage has come.
#[derive(Default)]
struct Counted {
    stage: Mutex<Option<(Stage, usize)>>,
    done: AtomicUsize,
}

impl Counted {
    fn now(&self) -> Option<(&'static str, usize, usize)> {
        let (stage, of) = (*self.stage.lock().unwrap_or_else(PoisonError::into_inner))?;
        let name = match stage {
            Stage::Grid => "reading the grid",
            Stage::References => "alone on big cores",
            Stage::Training => "training",
            Stage::Runs => "runs",
            Stage::Writing => "writing",
        };
        Some((name, self.done.load(Ordering::Relaxed), of))
    }
}

impl Progress for Counted {
    fn begin(&self, stage: Stage, runs: usize) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = Some((stage, runs));
        self.done.store(0, Ordering::Relaxed);
    }

    fn advance(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}
