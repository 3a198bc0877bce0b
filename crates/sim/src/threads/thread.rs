//! A thread of the running workload.

use evenkeel_model::{CoreId, CoreSet, Instructions, Ns, ThreadId};

use crate::threads::code::Code;

/// Where a thread is, in the simulator's own books: the truth that the scheduler is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunState {
    /// Not started, or gone.
    Absent,
    Ready,
    On(CoreId),
    Blocked(On),
}

/// What a blocked thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Sleep,
    Lock(u32),
    Barrier(u32),
    Put(u32),
    Get(u32),
    Condition(u32),
    Semaphore(u32),
    Event(u32),
    Join(ThreadId),
    /// A task that is ready.
    Task,
}

/// The pseudo-phase of [`evenkeel_workload::Op::Spin`]: `remaining` counts nanoseconds instead of instructions.
pub(crate) const SPIN: u32 = u32::MAX;

/// A thread.
#[derive(Debug)]
pub(crate) struct Thread {
    pub program: usize,
    pub state: RunState,
    pub pc: u32,
    /// Loop counters.
    pub slots: Vec<u64>,
    /// Where it took the item of a list that it does.
    pub takes_at: u32,
    /// What is left of the current computation, in instructions (nanoseconds if `phase` is [`SPIN`]).
    pub remaining: u64,
    pub phase: u32,
    /// All that it has done, in the same units, and how many operations it has gone through since it last did any.
    pub work: u64,
    pub ops: u32,
    pub since: Ns,
    pub started: Ns,
    /// Tells a current sleep from one that was cut short.
    pub sleep: u32,
    pub draws: fastrand::Rng,
    pub noise: u64,
    pub last_core: Option<CoreId>,
    /// The memory node where its memory is, once it has run.
    pub home: Option<u8>,
    /// Whether it runs on a core of another node than its memory's.
    pub remote: bool,
    /// The cores that its program allows, whoever else gives it masks.
    pub own: CoreSet,
    pub joiners: Vec<ThreadId>,
    /// Spawns that came while it was still there: it begins again after its exit.
    pub respawns: u64,
    /// When it was woken, until it runs.
    pub woken: Option<Ns>,
    /// What it polls for; `remaining` is until it leaves its core to wait.
    pub polls: Option<On>,
    /// Overhead of its own operations that it has yet to sit out, when it next computes.
    pub owes: Ns,
    /// A switch to its process has been charged, and it has not got on since: it is not charged again, or threads that are preempted before they have paid
    /// would never get on.
    pub cold: bool,
    /// Taken off its core for another one, where it has yet to run.
    pub taken: bool,
    pub exited: Option<Ns>,
    /// How long it has run, by core type, and waited for a core, since it started.
    pub on_type: Vec<Ns>,
    pub waited: Ns,
    /// The same in its earlier lives, and how long others waited for it then, which the scheduler has forgotten.
    pub on_type_before: Vec<Ns>,
    pub waited_before: Ns,
    pub blamed_before: Ns,
    pub waited_for_locks: Ns,
    pub instructions: Instructions,
    pub migrations: u64,
}

impl Thread {
    /// The thread of this number, of a run with this seed.
    pub(crate) fn new(code: &Code, index: usize, core_types: usize, seed: u64) -> Self {
        // One stream of draws a thread, so that what a thread does never depends on how it was scheduled.
        let seed = code.seed(index, seed, 0x9e37_79b9_7f4a_7c15);
        let thread = &code.threads[index];
        Self {
            program: thread.program,
            state: RunState::Absent,
            pc: 0,
            slots: vec![0; thread.slots as usize],
            takes_at: 0,
            remaining: 0,
            phase: SPIN,
            work: 0,
            ops: 0,
            since: Ns::ZERO,
            started: Ns::ZERO,
            sleep: 0,
            draws: fastrand::Rng::with_seed(seed),
            noise: !seed,
            last_core: None,
            home: None,
            remote: false,
            own: CoreSet::EMPTY,
            joiners: Vec::new(),
            respawns: 0,
            woken: None,
            polls: None,
            owes: Ns::ZERO,
            cold: false,
            taken: false,
            exited: None,
            on_type: vec![Ns::ZERO; core_types],
            waited: Ns::ZERO,
            on_type_before: vec![Ns::ZERO; core_types],
            waited_before: Ns::ZERO,
            blamed_before: Ns::ZERO,
            waited_for_locks: Ns::ZERO,
            instructions: Instructions(0),
            migrations: 0,
        }
    }

    /// How long it has run in all its lives, by core type.
    pub(crate) fn ran(&self) -> impl Iterator<Item = Ns> {
        self.on_type.iter().zip(&self.on_type_before).map(|(now, before)| *now + *before)
    }

    /// How long it has waited for a core since it started, also where that wait is not over.
    pub(crate) fn waited_until(&self, now: Ns) -> Ns {
        match self.state {
            RunState::Ready => self.waited + now.since(self.since),
            RunState::Absent | RunState::On(_) | RunState::Blocked(_) => self.waited,
        }
    }

    /// Whether it, the thread of this number, has drawn anything from the seed. Whatever runs a task has its draws.
    pub(crate) fn has_drawn(&self, code: &Code, index: usize, seed: u64) -> bool {
        let fresh = Self::new(code, index, 0, seed);
        self.draws != fresh.draws || self.noise != fresh.noise
    }
}
