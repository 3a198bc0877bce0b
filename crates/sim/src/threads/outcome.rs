//! What a run produced.

use evenkeel_model::{CoreId, CoreTypeId, Counters, Instructions, Joules, Ns, ProgramId, ThreadId, ThreadKind};

/// The result of one simulated run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// From the start to the exit of the last thread, or to the end of the run.
    pub makespan: Ns,
    /// How the run ended.
    pub ended: Ended,
    /// One entry a program, in the order of the workload.
    pub programs: Vec<ProgramOutcome>,
    /// One entry a thread, in order of creation.
    pub threads: Vec<ThreadOutcome>,
    /// One entry a core.
    pub cores: Vec<CoreOutcome>,
    /// One entry a queue of the workload, in the order of programs and queues.
    pub queues: Vec<QueueOutcome>,
    /// Energy of all cores.
    pub energy: Joules,
    /// Moves of a thread to another core.
    pub migrations: u64,
    /// Changes of the thread on a core.
    pub context_switches: u64,
    /// Threads that were stopped to let another run.
    pub preemptions: u64,
    /// Time from wake-up to running, over all wake-ups.
    pub wakeup_latency: Latency,
    /// Timer expiries that had passed before the thread waited for them.
    pub missed_timers: u64,
    /// Decisions of the scheduler that no longer made sense when they were carried out: two cores wanted the same running
    /// thread, or, with delayed decisions, the world had moved on.
    pub stale_answers: u64,
    /// Whether anything was drawn from the seed. If not, every seed gives this run.
    pub drawn: bool,
    /// Entries of the event calendar that were processed.
    pub events: u64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its [`crate::Meter`] was told to stop it: what it shows is of the time until then.
    Interrupted,
    /// Every thread exited.
    Finished,
    /// The workload's own duration was over.
    Duration,
}

/// What became of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramOutcome {
    /// Which program.
    pub id: ProgramId,
    /// Its name.
    pub name: String,
    /// When its last thread exited, for the first time if it ran again; `None` if the duration cut it off.
    pub turnaround: Option<Ns>,
    /// Work done by all its threads.
    pub instructions: Instructions,
}

/// What became of a thread.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadOutcome {
    /// Which thread.
    pub id: ThreadId,
    /// Its program.
    pub program: ProgramId,
    /// Its name.
    pub name: String,
    /// Whose work it does.
    pub kind: ThreadKind,
    /// When it exited, for the last time if its program ran again; if it did.
    pub exited: Option<Ns>,
    /// Time on each core type, by position in the machine's list.
    pub on_type: Vec<Ns>,
    /// Time spent ready, waiting for a core.
    pub waited: Ns,
    /// Time spent off its core until a lock was released that another thread held.
    pub waited_for_locks: Ns,
    /// Time that others waited for it.
    pub blame: Ns,
    /// Work done.
    pub instructions: Instructions,
    /// Everything that its counters counted, if [`crate::threads::Options::counters`] is set.
    pub counters: Option<Counters>,
    /// Moves to another core.
    pub migrations: u64,
}

/// What a core did.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreOutcome {
    /// Which core.
    pub id: CoreId,
    /// Its type.
    pub core_type: CoreTypeId,
    /// Time with a thread on it, overhead included.
    pub busy: Ns,
    /// The part of `busy` that went into switches, cold caches and noise.
    pub overhead: Ns,
    /// Time without a thread.
    pub idle: Ns,
    /// Energy used.
    pub energy: Joules,
}

/// What went through a queue.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueOutcome {
    /// Program and queue, as `program/queue`.
    pub name: String,
    /// Items taken out.
    pub taken: u64,
    /// The sum over all items of the time from put to get.
    pub waited: Ns,
}

/// A sum of waiting times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// How many.
    pub count: u64,
    /// Together.
    pub total: Ns,
    /// The longest.
    pub max: Ns,
}
