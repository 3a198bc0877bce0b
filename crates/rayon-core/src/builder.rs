//! How a pool is configured.

use std::any::Any;
use std::env;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread;

use evenkeel_runtime::Topology;
use evenkeel_runtime::dedicated::{DedicatedOptions, DedicatedPool, Handlers};

use crate::cores::cores;
use crate::error::ThreadPoolBuildError;
use crate::registry::{Registry, build_global};
use crate::start::{CustomSpawn, DefaultSpawn, ThreadBuilder, ThreadSpawn};
use crate::thread_pool::{ThreadPool, max_num_threads};

/// Makes a [`ThreadPool`], or the global one.
///
/// ```
/// # fn main() -> Result<(), rayon_core::ThreadPoolBuildError> {
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).thread_name(|index| format!("render-{index}")).build()?;
/// assert_eq!(pool.install(|| rayon_core::join(|| 1, || 2)), (1, 2));
/// # Ok(())
/// # }
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    threads: usize,
    use_current_thread: bool,
    breadth_first: bool,
    stack_size: Option<usize>,
    thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    handlers: Handlers,
    spawn: S,
}

impl Default for ThreadPoolBuilder {
    fn default() -> ThreadPoolBuilder {
        ThreadPoolBuilder {
            threads: 0,
            use_current_thread: false,
            breadth_first: false,
            stack_size: None,
            thread_name: None,
            handlers: Handlers::default(),
            spawn: DefaultSpawn,
        }
    }
}

impl ThreadPoolBuilder {
    /// A pool with as many threads as `RAYON_NUM_THREADS` says, or else as there are cores that this process may use.
    pub fn new() -> ThreadPoolBuilder {
        ThreadPoolBuilder::default()
    }

    /// Makes a pool whose threads may borrow, calls `with_pool` with it, and waits until they have ended. Each thread calls `wrapper`, which is expected to call
    /// [`ThreadBuilder::run`].
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        let wrapper = &wrapper;
        thread::scope(|scope| {
            let start = |worker: ThreadBuilder| worker.std_builder().spawn_scoped(scope, || wrapper(worker)).map(drop);
            let pool = self.spawn_handler(start).build()?;
            Ok(with_pool(&pool))
        })
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Makes the pool.
    ///
    /// # Errors
    /// The system or the [spawn handler](Self::spawn_handler) refuses a thread, or the calling thread, which was to [take part](Self::use_current_thread), is a worker already.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        Ok(ThreadPool { registry: self.registry()? })
    }

    /// Makes the pool that is used outside of all others, and waits until its threads have started.
    ///
    /// # Errors
    /// As [`build`](Self::build), or there is a global pool, made by an earlier call or because it was needed.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        build_global(self)
    }

    pub(crate) fn registry(self) -> Result<Arc<Registry>, ThreadPoolBuildError> {
        let ThreadPoolBuilder {
            threads,
            use_current_thread,
            breadth_first,
            stack_size,
            mut thread_name,
            handlers,
            mut spawn,
        } = self;
        let cores = cores();
        let threads = if threads > 0 { threads } else { default_threads(cores.as_ref()) }.min(max_num_threads());
        let options = DedicatedOptions { threads, cores, breadth_first, handlers };
        let pool = DedicatedPool::start(options, |worker| {
            let name = thread_name.as_mut().map(|name| name(worker.index()));
            if use_current_thread && worker.index() == 0 {
                return worker.settle().map_err(|_| ThreadPoolBuildError::already_worker());
            }
            Ok(spawn.spawn(ThreadBuilder { worker, name, stack_size })?)
        })?;
        Ok(Arc::new(Registry { pool }))
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// How threads start. `spawn` is expected to have a thread call [`ThreadBuilder::run`], which returns some time after the pool was dropped.
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        let ThreadPoolBuilder {
            threads,
            use_current_thread,
            breadth_first,
            stack_size,
            thread_name,
            handlers,
            spawn: _,
        } = self;
        let spawn = CustomSpawn(spawn);
        ThreadPoolBuilder { threads, use_current_thread, breadth_first, stack_size, thread_name, handlers, spawn }
    }

    /// The names of the threads. Default: none.
    pub fn thread_name<F>(mut self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.thread_name = Some(Box::new(closure));
        self
    }

    /// How many threads the pool has, at most [`max_num_threads`]. Zero is the default: as `RAYON_NUM_THREADS` says, or else as many as there are cores that this
    /// process may use.
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.threads = num_threads;
        self
    }

    /// Makes the calling thread the first worker, for as long as it lives; the handlers for start and exit are not called for it. It runs tasks only where it waits or
    /// [yields](crate::yield_now). The pool is never freed.
    pub fn use_current_thread(mut self) -> Self {
        self.use_current_thread = true;
        self
    }

    /// Gets the panics that no thread waits for: those of spawned tasks and of other handlers. Without it, or if it panics, the process aborts.
    pub fn panic_handler<H>(mut self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.handlers.panic = Some(Box::new(panic_handler));
        self
    }

    /// The size of the threads' stacks. Default: that of the standard library.
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.stack_size = Some(stack_size);
        self
    }

    /// Has workers begin with the oldest of their own tasks.
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo`")]
    pub fn breadth_first(mut self) -> Self {
        self.breadth_first = true;
        self
    }

    /// Is called on each thread when it starts, with its number.
    pub fn start_handler<H>(mut self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.handlers.start = Some(Box::new(start_handler));
        self
    }

    /// Is called on each thread when it ends, with its number.
    pub fn exit_handler<H>(mut self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.handlers.exit = Some(Box::new(exit_handler));
        self
    }
}

/// As the environment says, by Rayon's present and former variable, or else the cores.
fn default_threads(cores: Option<&Topology>) -> usize {
    let available = || thread::available_parallelism().map_or(1, usize::from);
    let all = || cores.map_or_else(available, |cores| cores.cpus.len());
    let variable = |name| env::var(name).ok()?.parse::<usize>().ok();
    match variable("RAYON_NUM_THREADS") {
        Some(0) => all(),
        Some(threads) => threads,
        None => variable("RAYON_RS_NUM_CPUS").filter(|threads| *threads > 0).unwrap_or_else(all),
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.threads)
            .field("use_current_thread", &self.use_current_thread)
            .field("breadth_first", &self.breadth_first)
            .field("stack_size", &self.stack_size)
            .field("names", &self.thread_name.is_some())
            .field("handlers", &self.handlers)
            .finish_non_exhaustive()
    }
}
