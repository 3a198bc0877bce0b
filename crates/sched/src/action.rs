//! What the scheduler decides, and why threads become ready. Values without references: a host may carry them out later, and drops those
//! that have become stale.

use evenkeel_model::{ClusterId, CoreId, Hz, Ns, ThreadId};

/// What a host is to do, after any report. What becomes of it is in [`crate::protocol`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// The core picks again ([`crate::Scheduler::next`]). What runs there is stopped first and reported `ran` and
    /// `ready(Preempted)`. Never stale: at worst it picks what ran before.
    Reschedule(CoreId),
    /// Another core takes a running thread over.
    Take {
        /// The thread.
        thread: ThreadId,
        /// Where it runs.
        from: CoreId,
        /// Where it is to run.
        to: CoreId,
    },
    /// Two threads exchange their cores: one that runs on or waits for its own, and one that runs.
    Swap {
        /// The threads; the second one runs.
        threads: [ThreadId; 2],
        /// The core that each of them has.
        cores: [CoreId; 2],
    },
    /// The policy changed where a thread may run, which is [`crate::Thread::allowed`]. Hosts that own the queues may ignore
    /// it; the affinity host sets masks.
    Affinity {
        /// The thread.
        thread: ThreadId,
    },
    /// A cluster should change its frequency.
    Frequency {
        /// The cluster.
        cluster: ClusterId,
        /// The new frequency, one of the cluster's operating points.
        frequency: Hz,
    },
}

/// What [`crate::Scheduler::next`] returns.
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
    /// Nothing to run here now. If the core should take over a running thread, an [`Action::Take`] follows.
    Idle,
}

/// Why a thread is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It was just started, by a running thread or from outside.
    New {
        /// The thread that started it.
        by: Option<ThreadId>,
    },
    /// What it waited for has come.
    Woken {
        /// The thread that woke it; `None` for timers and devices.
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

/// What a core should run next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// This waiting thread, from whichever queue it waits in.
    Queued(ThreadId),
    /// This thread, which runs on another core and is to be taken over from it.
    Running(ThreadId),
    /// Two threads in exchange: one that runs on or waits for this core, and one that runs on or waits for another. Only in
    /// [`crate::Policy::balance`].
    Exchange {
        /// The one that is given away.
        here: ThreadId,
        /// The one that comes for it.
        there: ThreadId,
    },
    /// Nothing.
    Idle,
}
