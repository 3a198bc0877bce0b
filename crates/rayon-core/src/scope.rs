//! Any number of tasks that may borrow from the frame that waits for them.

use evenkeel_runtime::dedicated::{Scope, ScopeFifo};

use crate::registry::{Registry, on_worker};

/// Runs `op` on a worker, which may spawn tasks that borrow from outside of the scope, and waits until all have ended. The newest task of a worker is run first by itself.
///
/// # Panics
/// If `op` or a task does, after all have ended; with the first panic.
///
/// ```
/// let mut parts = [0; 4];
/// rayon_core::scope(|scope| {
///     for (index, part) in parts.iter_mut().enumerate() {
///         scope.spawn(move |_| *part = index);
///     }
/// });
/// assert_eq!(parts, [0, 1, 2, 3]);
/// ```
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    on_worker(|worker| worker.scope(op))
}

/// As [`scope`], with tasks that begin in the order in which a worker has spawned them.
///
/// # Panics
/// As [`scope`].
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    on_worker(|worker| worker.scope_fifo(op))
}

/// As [`scope`], but `op` runs on the calling thread, even if that is no worker.
///
/// # Panics
/// As [`scope`].
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    Registry::current().in_place_scope(op)
}

/// As [`scope_fifo`], but `op` runs on the calling thread, even if that is no worker.
///
/// # Panics
/// As [`scope`].
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    Registry::current().in_place_scope_fifo(op)
}
