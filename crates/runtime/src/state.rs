//! What the workers of a pool share.
#![allow(unsafe_code)]

use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{self, Relaxed};
use std::sync::atomic::{AtomicBool, fence};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::thread::Thread;

use crossbeam_utils::CachePadded;

use crate::asymmetry::Asymmetry;
use crate::dedicated::{Dedication, OwnQueues};
use crate::deque::Deque;
use crate::fork::Process;
use crate::injected::Injected;
use crate::job::Job;
use crate::latch::Latch;
use crate::sleep::Sleep;
use crate::stats::Stats;
use crate::steal_request::StealRequest;
use crate::sync::lock_std;
use crate::urgent::Urgent;

/// What the workers of a pool share.
pub(crate) struct PoolState {
    /// The first one is for the thread that calls [`Pool::install`](crate::Pool::install), the others are for threads of the pool. In a dedicated pool all are.
    pub(crate) slots: Box<[CachePadded<WorkerSlot>]>,
    pub(crate) injected: Injected<Job>,
    pub(crate) urgent: Urgent<Job>,
    pub(crate) sleep: Sleep,
    /// Where cores differ, or times and events are recorded.
    pub(crate) asymmetry: Option<Arc<Asymmetry>>,
    /// Whether a thread works in the first slot.
    pub(crate) taken: AtomicBool,
    /// Whether the pool has no threads of its own, so that the first slot is the only one in which a thread ever works.
    pub(crate) alone: AtomicBool,
    /// Threads that wait for that slot.
    callers: Mutex<Vec<Thread>>,
    /// Where workers of this pool are that have gone to another one: that pool, and the slot there.
    gone: Mutex<Vec<(Arc<PoolState>, usize)>>,
    /// Of a [dedicated](crate::dedicated) pool.
    pub(crate) dedication: Option<Dedication>,
    process: Process,
    me: Weak<PoolState>,
}

/// What the other workers see of one.
pub(crate) struct WorkerSlot {
    pub(crate) deque: Deque<Job>,
    pub(crate) request: CachePadded<StealRequest<Job>>,
    pub(crate) counters: CachePadded<WorkerCounters>,
    pub(crate) index: usize,
    /// The pool that holds this slot.
    pool: *const PoolState,
    /// Open when the pool is dropped.
    pub(crate) closed: Latch,
    /// For what only this worker may take.
    pub(crate) own: CachePadded<OwnQueues>,
}

/// Written by the worker in the slot only.
#[derive(Default)]
pub(crate) struct WorkerCounters {
    pub(crate) spawns: AtomicU64,
    pub(crate) steals: AtomicU64,
    pub(crate) failed_steals: AtomicU64,
    /// Jobs that its searches found, wherever.
    pub(crate) found: AtomicU64,
}

/// Adds one to a counter of the calling worker.
pub(crate) fn count(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed).wrapping_add(1), Relaxed);
}

// SAFETY: `pool` points to what holds the slot.
unsafe impl Sync for WorkerSlot {}
// SAFETY: as above.
unsafe impl Send for WorkerSlot {}

impl WorkerSlot {
    /// For the pool that will lie at `pool`, as soon as it is complete.
    fn new(index: usize, pool: *const PoolState) -> WorkerSlot {
        WorkerSlot {
            deque: Deque::new(),
            request: CachePadded::new(StealRequest::new()),
            counters: CachePadded::default(),
            index,
            pool,
            closed: Latch::new(),
            own: CachePadded::default(),
        }
    }

    /// The pool that holds this slot.
    #[inline(always)]
    pub(crate) fn pool(&self) -> &PoolState {
        // SAFETY: slots are made in a pool's state and stay there; only a complete one hands them out.
        unsafe { &*self.pool }
    }

    /// Whether the worker in this slot is a thread of the pool.
    pub(crate) fn has_thread(&self) -> bool {
        self.index > 0 || self.pool().dedication.is_some()
    }

    pub(crate) fn is_in(&self, pool: &PoolState) -> bool {
        ptr::eq(self.pool, pool)
    }

    /// Where the queue begins and ends, and how many jobs its owner has found. While all stay the same, the owner probably runs the same task.
    pub(crate) fn marks(&self) -> (isize, isize, u64) {
        (self.deque.top(), self.deque.bottom(), self.counters.found.load(Relaxed))
    }

    pub(crate) fn stats(&self) -> Stats {
        let counters = &self.counters;
        Stats {
            spawns: counters.spawns.load(Relaxed),
            steals: counters.steals.load(Relaxed),
            failed_steals: counters.failed_steals.load(Relaxed),
        }
    }
}

impl PoolState {
    pub(crate) fn new(
        workers: usize,
        asymmetry: Option<Arc<Asymmetry>>,
        dedication: Option<Dedication>,
    ) -> Arc<PoolState> {
        Arc::new_cyclic(|me| PoolState {
            slots: (0..workers).map(|index| CachePadded::new(WorkerSlot::new(index, me.as_ptr()))).collect(),
            injected: Injected::default(),
            urgent: Urgent::default(),
            sleep: Sleep::new(workers, asymmetry.clone()),
            asymmetry,
            // The first slot of a dedicated pool has a thread of its own.
            taken: AtomicBool::new(dedication.is_some()),
            alone: AtomicBool::new(false),
            callers: Mutex::new(Vec::new()),
            gone: Mutex::new(Vec::new()),
            dedication,
            process: Process::current(),
            me: Weak::clone(me),
        })
    }

    pub(crate) fn arc(&self) -> Arc<PoolState> {
        // Upgrading cannot fail: `self` exists.
        self.me.upgrade().unwrap_or_else(|| unreachable!("a pool that is used exists"))
    }

    /// Whether this process was forked since, so that the workers are gone, and locks may be held for ever.
    #[inline]
    pub(crate) fn is_lost(&self) -> bool {
        !self.process.is_current()
    }

    /// Wakes a worker because what it waits for is done; not one of the parent process.
    pub(crate) fn wake(&self, worker: usize) {
        if !self.is_lost() {
            self.sleep.wake_for_latch(worker);
        }
    }

    /// Wakes one worker if all sleep.
    pub(crate) fn wake_one(&self) {
        // As between a push and its load of the alarm; but here nothing depends on its speed.
        fence(Ordering::SeqCst);
        if self.sleep.is_alarmed() {
            self.sleep.notify();
        }
    }

    /// Whether there are jobs in no worker's queue.
    pub(crate) fn has_injected(&self) -> bool {
        !self.injected.is_empty() || !self.urgent.is_empty()
    }

    /// Puts a job where all workers search first.
    pub(crate) fn hurry(&self, priority: u32, job: NonNull<Job>) {
        self.urgent.push(priority, job);
        self.wake_one();
    }

    /// A worker of this pool goes to a slot of another one.
    pub(crate) fn goes(&self, there: &WorkerSlot) {
        self.gone().push((there.pool().arc(), there.index));
    }

    /// It comes back from there.
    pub(crate) fn comes_back(&self, from: &WorkerSlot) {
        let mut gone = self.gone();
        let place = gone.iter().position(|(pool, slot)| from.is_in(pool) && *slot == from.index);
        if let Some(place) = place {
            gone.swap_remove(place);
        }
    }

    /// Where workers of this pool are that have gone to another one.
    pub(crate) fn gone(&self) -> MutexGuard<'_, Vec<(Arc<PoolState>, usize)>> {
        lock_std(&self.gone)
    }

    /// Lets the workers finish and end.
    pub(crate) fn close(&self) {
        // They are not in this process, and one of them may have held a lock when it was forked.
        if self.is_lost() {
            return;
        }
        for slot in &self.slots {
            // SAFETY: the slot exists.
            let _ = unsafe { Latch::open(&slot.closed) };
        }
        self.sleep.close();
        if let Some(uneven) = self.asymmetry.as_deref().and_then(Asymmetry::uneven) {
            uneven.stop();
        }
    }

    /// Threads that wait for the first slot.
    pub(crate) fn callers(&self) -> MutexGuard<'_, Vec<Thread>> {
        lock_std(&self.callers)
    }
}

#[cfg(all(test, unix, not(any(loom, miri))))]
mod tests {
    use super::*;
    use crate::fork;

    /// As where a dedicated pool is released. A worker of the parent may have held a lock that closing takes.
    #[test]
    fn a_child_does_not_close_the_pool_of_its_parent() {
        fork::count_forks();
        let state = PoolState::new(2, None, None);
        // SAFETY: the child closes the pool, and ends.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            // SAFETY: the default of the signal is to end the process.
            unsafe { libc::alarm(10) };
            state.close();
            let closed = state.slots.iter().any(|slot| slot.closed.is_open());
            // SAFETY: ends the process without what the parent has to do at its end.
            unsafe { libc::_exit(i32::from(closed)) };
        }
        let mut status = 0;
        // SAFETY: the status is there.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert!(libc::WIFEXITED(status), "{status}");
        assert_eq!(libc::WEXITSTATUS(status), 0, "it has touched what its parent's workers wait for");
        state.close();
        assert!(state.slots.iter().all(|slot| slot.closed.is_open()));
    }
}
