//! A thread of the running workload.

use evenkeel_model::{CoreId, CoreSet, Instructions, Ns, ThreadId};
use evenkeel_workload::program::Spread;

use crate::threads::code::Code;
use crate::threads::spread::vary;

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

/// By what the seeds of counters' noise are apart. No small multiple of it is one of what that noise steps by, or threads would have
/// the same noise, one a few steps behind the other.
const NOISE: u64 = 0xaef1_7502_108e_f2d9;

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
    /// How much of the first of them is done, below 1: it takes as long however often one looks how far it is.
    pub part: f64,
    pub phase: u32,
    /// All that it has done, in the same units, and how many operations it has gone through since it last did any.
    pub work: u64,
    pub ops: u32,
    pub since: Ns,
    pub started: Ns,
    /// Tells a current sleep from one that was cut short.
    pub sleep: u32,
    pub draws: fastrand::Rng,
    /// Its draws outside of the items of queues that it does, the outermost first.
    pub outer: Vec<fastrand::Rng>,
    /// Whether anything that it has done was drawn from the seed.
    pub drew: bool,
    pub noise: u64,
    pub last_core: Option<CoreId>,
    /// The memory node where its memory is, once it has run.
    pub home: Option<u8>,
    /// Whether it runs on a core of another node than its memory's.
    pub remote: bool,
    /// The cores that its program allows, whoever else gives it masks.
    pub own: CoreSet,
    /// The core that a split loop has put it on, until a run of the loop that is not split.
    pub bound: Option<CoreId>,
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
        let thread = &code.threads[index];
        Self {
            program: thread.program,
            state: RunState::Absent,
            pc: 0,
            slots: vec![0; thread.slots as usize],
            takes_at: 0,
            remaining: 0,
            part: 0.0,
            phase: SPIN,
            work: 0,
            ops: 0,
            since: Ns::ZERO,
            started: Ns::ZERO,
            sleep: 0,
            // One stream of draws a thread, so that what a thread does never depends on how it was scheduled.
            draws: fastrand::Rng::with_seed(code.seed(index, seed, 0x9e37_79b9_7f4a_7c15)),
            outer: Vec::new(),
            drew: false,
            noise: code.seed(index, seed, NOISE),
            last_core: None,
            home: None,
            remote: false,
            own: CoreSet::EMPTY,
            bound: None,
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

    /// Draws an amount around its mean.
    pub(crate) fn vary(&mut self, mean: u64, spread: Spread) -> u64 {
        self.drew |= spread != Spread::None;
        vary(mean, spread, &mut self.draws)
    }

    /// It begins an item, which has draws of its own.
    pub(crate) fn begin_item(&mut self, draws: fastrand::Rng) {
        self.outer.push(std::mem::replace(&mut self.draws, draws));
    }

    /// The item that it does is done.
    pub(crate) fn end_item(&mut self) {
        if let Some(outer) = self.outer.pop() {
            self.draws = outer;
        }
    }

    /// Whether it, the thread of this number, has drawn anything from the seed, counters' noise included.
    pub(crate) fn has_drawn(&self, code: &Code, index: usize, seed: u64) -> bool {
        self.drew || self.noise != code.seed(index, seed, NOISE)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use evenkeel_model::{Counters, machines};
    use evenkeel_workload::Workload;
    use evenkeel_workload::program::{Program, SchedParams, Start, ThreadKind};

    use super::*;
    use crate::threads::lower::lower;
    use crate::threads::pmu;

    #[test]
    fn no_two_threads_have_the_same_noise() {
        let thread = evenkeel_workload::Thread {
            name: "t".into(),
            process: 0,
            ops: Vec::new(),
            start: Start::At(Ns::ZERO),
            kind: ThreadKind::Application,
            sched: SchedParams::default(),
        };
        let program = Program { threads: vec![thread; 8], ..Program::default() };
        let workload = Workload { name: "w".into(), programs: vec![program.clone(), program], ..Workload::default() };
        let code = lower(&workload, &machines::by_name("2B2S").unwrap(), &|_, _, _| 0).unwrap();
        for seed in 0..4 {
            let mut seen = BTreeSet::new();
            for index in 0..code.threads.len() {
                let mut noise = Thread::new(&code, index, 1, seed).noise;
                for _ in 0..64 {
                    pmu::read(&Counters::default(), 0, &mut noise);
                    assert!(seen.insert(noise), "thread {index} of a run with seed {seed}");
                }
            }
        }
    }
}
