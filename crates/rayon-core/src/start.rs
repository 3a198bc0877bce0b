//! How threads start.

use std::fmt;
use std::io;
use std::thread;

use evenkeel_runtime::dedicated::WorkerStart;

/// A worker that has no thread yet, and how that thread is to be. See [`ThreadPoolBuilder::spawn_handler`](crate::ThreadPoolBuilder::spawn_handler).
pub struct ThreadBuilder {
    pub(crate) worker: WorkerStart,
    pub(crate) name: Option<String>,
    pub(crate) stack_size: Option<usize>,
}

impl ThreadBuilder {
    /// The number of the worker in its pool.
    pub fn index(&self) -> usize {
        self.worker.index()
    }

    /// The name that the builder of the pool wants.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The size of the stack that the builder of the pool wants.
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Works, as the calling thread, until the pool ends.
    pub fn run(self) {
        self.worker.run();
    }

    /// A thread of the standard library as the builder of the pool wants it.
    pub(crate) fn std_builder(&self) -> thread::Builder {
        let mut builder = thread::Builder::new();
        if let Some(name) = &self.name {
            builder = builder.name(name.clone());
        }
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        builder
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut builder = f.debug_struct("ThreadBuilder");
        builder.field("worker", &self.worker).field("name", &self.name).field("stack_size", &self.stack_size).finish()
    }
}

/// How a builder starts threads. The module is private, so only this crate implements it.
pub trait ThreadSpawn {
    /// Has a thread run the worker.
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
}

/// As threads of the standard library.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

impl ThreadSpawn for DefaultSpawn {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        thread.std_builder().spawn(|| thread.run()).map(drop)
    }
}

/// As the program wants it.
pub struct CustomSpawn<F>(pub(crate) F);

impl<F> fmt::Debug for CustomSpawn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CustomSpawn")
    }
}

impl<F: FnMut(ThreadBuilder) -> io::Result<()>> ThreadSpawn for CustomSpawn<F> {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}
