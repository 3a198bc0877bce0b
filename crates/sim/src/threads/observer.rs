//! Observers of a run: a trace writer, a timeline, a test.

use evenkeel_model::{ClusterId, CoreId, CoreSet, Hz, Ns, ProgramId, ThreadId, Watts};
use evenkeel_sched::policy::Judgement;

/// Receives every decision of a run in order of time. All methods do nothing by default, so that a run
/// without an observer pays nothing.
pub trait Observer {
    /// Something happened at a time.
    fn observe(&mut self, _at: Ns, _event: &Event<'_>) {}

    /// Whether it wants events at all.
    fn watches(&self) -> bool {
        true
    }
}

impl Observer for () {
    fn watches(&self) -> bool {
        false
    }
}

/// One that may be there.
impl<O: Observer> Observer for Option<O> {
    fn observe(&mut self, at: Ns, event: &Event<'_>) {
        if let Some(observer) = self {
            observer.observe(at, event);
        }
    }

    fn watches(&self) -> bool {
        self.as_ref().is_some_and(Observer::watches)
    }
}

/// Two of one run.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn observe(&mut self, at: Ns, event: &Event<'_>) {
        self.0.observe(at, event);
        self.1.observe(at, event);
    }

    fn watches(&self) -> bool {
        self.0.watches() || self.1.watches()
    }
}

/// What can be observed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event<'a> {
    /// A thread was created; `program` and `name` say who it is.
    Created {
        /// The thread.
        thread: ThreadId,
        /// Its program: several can have one name.
        of: ProgramId,
        /// Its program's name.
        program: &'a str,
        /// Its name.
        name: &'a str,
    },
    /// A thread became ready and was queued on a core.
    Ready {
        /// The thread.
        thread: ThreadId,
        /// Where it was queued.
        core: CoreId,
        /// The thread that woke it, if one did.
        by: Option<ThreadId>,
    },
    /// A core began to run a thread.
    Run {
        /// The core.
        core: CoreId,
        /// The thread.
        thread: ThreadId,
    },
    /// A core stopped running its thread and has none.
    Stop {
        /// The core.
        core: CoreId,
        /// The thread.
        thread: ThreadId,
        /// Why it stopped.
        why: Stop<'a>,
    },
    /// A thread ended with its program while it had no core.
    Gone {
        /// The thread.
        thread: ThreadId,
    },
    /// A worker began to run a task.
    TaskBegan {
        /// The core that it runs on.
        core: CoreId,
        /// The worker.
        thread: ThreadId,
        /// The task, by its creation in its program.
        task: u32,
        /// What kind of task it is.
        name: &'a str,
    },
    /// A worker has done a task.
    TaskEnded {
        /// The core that it ran on at last.
        core: CoreId,
        /// The worker.
        thread: ThreadId,
        /// The task.
        task: u32,
    },
    /// The policy's decision about a thread's affinity.
    Affinity {
        /// The thread.
        thread: ThreadId,
        /// Where it may run now.
        cores: CoreSet,
    },
    /// What is thought of a thread has changed.
    Judged {
        /// The thread.
        thread: ThreadId,
        /// What is thought of it now.
        judgement: Judgement,
    },
    /// A cluster changed its frequency.
    Frequency {
        /// The cluster.
        cluster: ClusterId,
        /// The new frequency.
        frequency: Hz,
    },
    /// The power of a cluster changed.
    Power {
        /// The cluster.
        cluster: ClusterId,
        /// The new power.
        power: Watts,
    },
}

/// Why a thread left its core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop<'a> {
    /// Another thread runs instead.
    Preempted,
    /// Another core took it over while it ran.
    Taken,
    /// It gave way.
    Yielded,
    /// It waits for something, such as `lock mutex11`.
    Blocked(&'a str),
    /// It is done.
    Exited,
}
