//! The pool behind a handle, and the global one.

use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use evenkeel_runtime::dedicated::{DedicatedPool, Here, here};

use crate::builder::ThreadPoolBuilder;
use crate::error::ThreadPoolBuildError;
use crate::start::ThreadSpawn;

/// A pool.
#[derive(Debug)]
pub(crate) struct Registry {
    pub(crate) pool: DedicatedPool,
}

static GLOBAL: OnceLock<Arc<Registry>> = OnceLock::new();
/// Held while the global pool is made.
static MAKING: Mutex<()> = Mutex::new(());

impl Registry {
    pub(crate) fn num_threads(&self) -> usize {
        self.pool.threads()
    }

    /// That of the worker which this thread is, else the global one.
    pub(crate) fn current() -> DedicatedPool {
        here(|here| here.and_then(Here::pool)).unwrap_or_else(|| global().pool.clone())
    }
}

/// The global pool, which is made when it is first needed.
///
/// # Panics
/// If the system refuses to start its threads.
pub(crate) fn global() -> &'static Registry {
    if let Some(global) = GLOBAL.get() {
        return global;
    }
    let made = set_global(|| match ThreadPoolBuilder::new().registry() {
        // Where there are no threads at all, the calling one has to do.
        Err(error) if error.io_kind() == Some(io::ErrorKind::Unsupported) => {
            ThreadPoolBuilder::new().num_threads(1).use_current_thread().registry()
        }
        made => made,
    });
    match (GLOBAL.get(), made) {
        // Another thread may have been faster.
        (Some(global), _) => global,
        (None, Err(error)) => panic!("the global thread pool cannot be made: {error}"),
        (None, Ok(_)) => unreachable!("it was made"),
    }
}

/// Makes the global pool, unless there is one.
pub(crate) fn set_global(
    make: impl FnOnce() -> Result<Arc<Registry>, ThreadPoolBuildError>,
) -> Result<&'static Registry, ThreadPoolBuildError> {
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    if GLOBAL.get().is_some() {
        return Err(ThreadPoolBuildError::global_exists());
    }
    let made = make()?;
    Ok(GLOBAL.get_or_init(|| made))
}

/// Makes the global pool as a builder says.
pub(crate) fn build_global<S: ThreadSpawn>(builder: ThreadPoolBuilder<S>) -> Result<(), ThreadPoolBuildError> {
    set_global(|| builder.registry())?.pool.wait_until_started();
    Ok(())
}

/// Runs `f` on a worker: this one, or one of the global pool.
pub(crate) fn on_worker<R: Send>(f: impl FnOnce(Here<'_>) -> R + Send) -> R {
    here(|current| match current.and_then(Here::dedicated) {
        Some(worker) => f(worker),
        None => {
            global().pool.install(|| here(|current| current.map(f))).unwrap_or_else(|| unreachable!("a worker runs it"))
        }
    })
}
