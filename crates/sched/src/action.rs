//! What the scheduler asks a host to do. Values without references: a host may carry them out later, and drops those
//! that have become stale.

use evenkeel_model::{ClusterId, CoreId, CoreSet, Hz, Ns, ThreadId};

/// A request to the host, in answer to any call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// The core should ask [`crate::Scheduler::next`] again. What runs there is stopped first and reported
    /// `ran` and `ready(Preempted)`. Never stale: at worst the answer is what ran before.
    Reschedule(CoreId),
    /// A running thread should go on on another core. Stale if it no longer runs on `from`; the host then asks
    /// `next(to)` again. Otherwise it stops the thread, reports `ran` and `ready(Taken { by: to })`, and asks `next`
    /// for both cores.
    Take {
        /// The thread.
        thread: ThreadId,
        /// Where it runs.
        from: CoreId,
        /// Where it should go on.
        to: CoreId,
    },
    /// Two threads should exchange their cores: one that runs on or waits for its own, and one that runs. Stale if that
    /// is no longer so; the host then does nothing. Otherwise it stops those that run, reports `ran` and `ready(Taken)`
    /// by the other's core for each, and asks `next` for both cores.
    Swap {
        /// The threads; the second one runs.
        threads: [ThreadId; 2],
        /// The core that each of them has.
        cores: [CoreId; 2],
    },
    /// The policy changed where a thread may run. Hosts that own the queues may ignore it; the affinity host sets masks.
    Affinity {
        /// The thread.
        thread: ThreadId,
        /// Where it may run.
        cores: CoreSet,
    },
    /// A cluster should change its frequency.
    Frequency {
        /// The cluster.
        cluster: ClusterId,
        /// The new frequency, one of the cluster's operating points.
        frequency: Hz,
    },
}

/// The answer to [`crate::Scheduler::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Run this thread. It has left its queue and counts as running on the core. A host that finds this stale
    /// reports `ready(Preempted)` or `exited`.
    Run {
        /// The thread.
        thread: ThreadId,
        /// How long it should run at most while others wait.
        slice: Ns,
    },
    /// Nothing to run here now. If a running thread should be taken over, an [`Action::Take`] says so.
    Idle,
}

/// Why a thread is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It was just started, by a running thread or from outside.
    New {
        /// Who started it.
        by: Option<ThreadId>,
    },
    /// What it waited for has come.
    Woken {
        /// Who woke it; `None` for timers and devices.
        by: Option<ThreadId>,
    },
    /// It ran and was stopped.
    Preempted,
    /// It ran and gave way.
    Yielded,
    /// It ran and another core takes it over.
    Taken {
        /// The core that does.
        by: CoreId,
    },
}
