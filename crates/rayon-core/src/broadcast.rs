//! The same task on each thread of a pool.

use evenkeel_runtime::dedicated::BroadcastContext;

use crate::registry::Registry;

/// Has each thread of this thread's pool, or of the global one, run `op` as soon as its own tasks are done, and waits. The results are in the order of the threads.
///
/// # Panics
/// If `op` does, after all have ended; with the panic of the first thread by number.
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    Registry::current().broadcast(op)
}

/// Has each thread run `op` later, and does not wait. A panic goes to the pool's [handler](crate::ThreadPoolBuilder::panic_handler).
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    Registry::current().spawn_broadcast(op);
}
