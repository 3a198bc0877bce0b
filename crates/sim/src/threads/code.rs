//! Programs as the event loop runs them: one array of instructions, jumps instead of nesting, global object numbers.

use std::ops::Range;

use evenkeel_model::{Behaviour, ThreadId};
use evenkeel_workload::program::{Memory, SchedParams, Spread, Start, ThreadKind, TimerMode};

use crate::threads::tasking::{Act, RuntimeCode};

/// One flat instruction. Objects and phases are numbered across the workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Instr {
    Compute {
        phase: u32,
        work: u64,
        spread: Spread,
    },
    /// This thread's part of a loop that is split, of which all of its threads together do so much.
    Split {
        split: u32,
        member: u32,
        phase: u32,
        work: u64,
    },
    /// That part is done.
    Joined {
        split: u32,
        member: u32,
    },
    Spin(u64),
    Lock(u32),
    Unlock(u32),
    Barrier(u32),
    Put(u32),
    Get(u32),
    Close(u32),
    /// Takes an item, or jumps to `exit` if the queue is finished.
    Drain {
        queue: u32,
        exit: u32,
    },
    /// The item is done: back to where the next one is taken.
    Again(u32),
    /// Releases the lock and waits for the condition; the instruction behind it takes the lock again.
    Wait {
        condition: u32,
        lock: u32,
    },
    Signal(u32),
    Broadcast(u32),
    Post(u32),
    Acquire(u32),
    /// Jumps to the next item of a list, which comes back, or goes on if there is none.
    Take(u32),
    /// To where the thread took the item that ends here.
    Back,
    Suspend(u32),
    Resume(u32),
    Sleep {
        span: u64,
        spread: Spread,
    },
    Timer {
        timer: u32,
        period: u64,
        mode: TimerMode,
    },
    Yield,
    Spawn(ThreadId),
    Join(ThreadId),
    /// Position in [`Code::params`].
    Set(u32),
    /// Sets the loop counter in `slot` to `times`.
    Loop {
        slot: u32,
        times: u64,
    },
    /// Counts down and jumps to `start` until the counter is zero.
    Next {
        slot: u32,
        start: u32,
    },
    Jump(u32),
    Exit,
    /// A step of a runtime system; position in [`Code::runtimes`].
    Tasks {
        runtime: u32,
        act: Act,
    },
}

/// A workload, flattened.
#[derive(Debug, Default)]
pub(crate) struct Code {
    pub instrs: Vec<Instr>,
    pub params: Vec<SchedParams>,
    /// Phases, those of equal code and memory once.
    pub behaviours: Vec<Behaviour>,
    /// Where the memory of each of those phases is.
    pub memory: Vec<Memory>,
    pub extents: Vec<Extent>,
    pub threads: Vec<ThreadCode>,
    pub locks: Vec<String>,
    pub barriers: Vec<(String, u32)>,
    pub queues: Vec<evenkeel_workload::program::Queue>,
    pub conditions: Vec<String>,
    pub semaphores: Vec<(String, u64)>,
    /// Where the items of each list begin.
    pub lists: Vec<Vec<u32>>,
    pub events: Vec<String>,
    /// How many threads share each loop that is split.
    pub splits: Vec<u32>,
    pub timers: usize,
    pub runtimes: Vec<RuntimeCode>,
}

/// The objects of a program among those of the workload.
#[derive(Clone, Debug)]
pub(crate) struct Extent {
    pub threads: Range<usize>,
    pub locks: Range<usize>,
    pub barriers: Range<usize>,
    pub queues: Range<usize>,
    pub conditions: Range<usize>,
    pub semaphores: Range<usize>,
    pub lists: Range<usize>,
    pub events: Range<usize>,
    pub splits: Range<usize>,
    pub timers: Range<usize>,
    pub runtimes: Range<usize>,
    /// Number of the program among those that draw from the run's seed.
    pub stream: u64,
}

/// A thread of the flattened workload.
#[derive(Clone, Debug)]
pub(crate) struct ThreadCode {
    pub program: usize,
    /// Of the program.
    pub process: u32,
    pub name: String,
    pub start: Start,
    pub kind: ThreadKind,
    pub sched: SchedParams,
    pub entry: u32,
    /// How many loop counters it needs.
    pub slots: u32,
    /// It never comes to an end by itself.
    pub endless: bool,
}

impl ThreadCode {
    /// Service and endless threads end with their program: the run does not wait for them.
    pub(crate) fn counts_for_the_end(&self) -> bool {
        self.kind == ThreadKind::Application && !self.endless
    }
}

impl Code {
    /// The seed of what a thread draws, or its runtime system. It depends on the program and on the thread's place there, so that a program
    /// does the same alone. Of each kind of stream, by its factor, a thread has one.
    pub(crate) fn seed(&self, thread: usize, of_run: u64, factor: u64) -> u64 {
        let program = &self.extents[self.threads[thread].program];
        let place = (thread - program.threads.start) as u64;
        of_run ^ program.stream.wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ (place + 1).wrapping_mul(factor)
    }

    /// The seed of what is drawn for the item of a queue that is taken after so many others, whichever thread of the program takes it.
    pub(crate) fn item_seed(&self, program: usize, queue: u32, before: u64, of_run: u64) -> u64 {
        let extent = &self.extents[program];
        let place = (queue as usize - extent.queues.start) as u64;
        let of_program = self.seed(extent.threads.start, of_run, 0x94d0_49bb_1331_11eb);
        let item = (place + 1).wrapping_mul(0xff51_afd7_ed55_8ccd) ^ (before + 1).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        of_program ^ item
    }

    /// The number of a phase, a new one if its code and memory are new.
    pub(crate) fn phase(&mut self, behaviour: Behaviour, memory: Memory) -> u32 {
        let known = self.behaviours.iter().zip(&self.memory).position(|known| known == (&behaviour, &memory));
        known.unwrap_or_else(|| {
            self.behaviours.push(behaviour);
            self.memory.push(memory);
            self.behaviours.len() - 1
        }) as u32
    }
}
