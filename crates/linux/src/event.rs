//! What the kernel does with the threads of a program, one event at a time.

use evenkeel_model::{Instructions, Ns};
use evenkeel_workload::recording::Division;

/// A thread as Linux numbers it (`gettid`).
pub type Tid = u32;

/// One thing that happened to a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, on `CLOCK_MONOTONIC`.
    pub at: Ns,
    /// The thread that it happened to.
    pub tid: Tid,
    /// The CPU on which it happened.
    pub cpu: u16,
    /// All instructions of that CPU up to then, counted from some beginning; `None` if there is no counter.
    pub instructions: Option<Instructions>,
    /// What happened.
    pub what: What,
}

/// What can happen to a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It started a thread, of its own process or as a new one.
    Forked {
        /// The new thread.
        child: Tid,
        /// Whether the new thread is the first of a new process.
        process: bool,
    },
    /// It replaced its program; its name may have changed.
    Exec {
        /// The number that it had before, if it was not the first thread of its process, whose number it has taken over.
        before: Option<Tid>,
    },
    /// It was put on a CPU, or runs there already.
    On,
    /// It left its CPU.
    Off(Off),
    /// It became runnable again.
    Woken {
        /// The followed thread that woke it; `None` for timers, devices and threads outside the target.
        by: Option<Tid>,
        /// Which futex call of the waker did it, counted from 1; 0 if none did. One call may wake many: a barrier that
        /// opens, a condition that is broadcast.
        call: u32,
        /// Where in the program's memory the futex word of that call is, in units of 8 bytes, as far as 32 bits hold that: threads that wait there
        /// wait for the same thing. 0 without a call.
        word: u32,
    },
    /// It exits, which takes a while: then it leaves its CPU for the last time.
    Exited,
    /// It called the library through which threads share out work as they run.
    Shares(Sharing),
}

/// What a thread does with work that the threads of a team share out as they run, as OpenMP has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// A parallel region begins, of which this thread is the master; with the loop that it consists of, if its threads share one out.
    RegionBegins(Option<Division>),
    /// The region has ended: all of its threads have met.
    RegionEnds,
    /// The thread comes to a loop that the threads of its region share out.
    LoopBegins {
        /// Where in the program it is.
        place: u32,
        /// Its pieces.
        division: Division,
    },
    /// No piece of the loop is left.
    LoopEnds,
    /// The thread has created tasks, which any thread of its region may run.
    Tasks {
        /// So many.
        count: u32,
        /// So many for each thread of the region.
        each: bool,
    },
}

/// Why a thread left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Off {
    /// Another thread runs in its place; it stays runnable.
    Preempted,
    /// It waits in the futex system call: for a lock, a barrier, a condition, a queue.
    Futex,
    /// It waits for anything else: time, a device, a pipe, a child.
    Blocked,
}
