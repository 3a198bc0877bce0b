//! Tasks that no thread waits for.

use evenkeel_runtime::dedicated::{Here, here};

use crate::registry::global;

/// Has a worker run `func` later: of this thread's pool if it is a worker, else of the global one. A panic goes to the pool's
/// [handler](crate::ThreadPoolBuilder::panic_handler).
pub fn spawn<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    here(|worker| match worker.and_then(Here::dedicated) {
        Some(worker) => worker.spawn(func),
        None => global().pool.spawn(func),
    });
}

/// As [`spawn`]. What a worker spawns like this it begins in that order.
pub fn spawn_fifo<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    here(|worker| match worker.and_then(Here::dedicated) {
        Some(worker) => worker.spawn_fifo(func),
        None => global().pool.spawn_fifo(func),
    });
}
