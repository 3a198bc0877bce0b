//! A program is threads of operations on shared objects. Every importer produces this; every host plays it.

use evenkeel_model::{Behaviour, Ns};
pub use evenkeel_model::{Clamp, Class, ThreadKind};
use serde::Deserialize;

pub use crate::tasking::{MainThread, ReadyQueue, Task, Tasking};
use crate::validate::walk;

/// What a run consists of: one or more programs that start together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// The name that tables show, such as `Sync-2`.
    pub name: String,
    /// The programs, which share nothing but the cores.
    pub programs: Vec<Program>,
    /// The run ends here even if threads are left (rt-app's `duration`). `None`: when all threads have exited.
    pub duration: Option<Ns>,
    /// A program that has ended begins again, until each has ended once: no core goes idle because one program is
    /// shorter than another (Koufaty et al., EuroSys 2010, 7.1).
    pub rerun: bool,
}

impl Workload {
    /// Whether it allows threads certain cores only, by their numbers.
    pub fn names_cores(&self) -> bool {
        self.programs.iter().flat_map(|program| &program.threads).any(Thread::names_cores)
    }
}

/// A program: threads, the phases of their code, and the objects that they share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Kinds of code, which [`Op::Compute`] refers to by position.
    pub phases: Vec<Phase>,
    /// Threads. Those with [`Start::Spawned`] wait for an [`Op::Spawn`].
    pub threads: Vec<Thread>,
    /// Names of the mutexes.
    pub locks: Vec<String>,
    /// Barriers.
    pub barriers: Vec<Barrier>,
    /// Bounded queues.
    pub queues: Vec<Queue>,
    /// Names of the condition variables.
    pub conditions: Vec<String>,
    /// Counting semaphores.
    pub semaphores: Vec<Semaphore>,
    /// Lists whose items threads take.
    pub lists: Vec<List>,
    /// Names of the suspend/resume events: a resume wakes every thread that is suspended and is lost if none is.
    pub events: Vec<String>,
    /// Names of the timers. Each keeps the time of its next expiry.
    pub timers: Vec<String>,
    /// Of each static loop that is split by how fast cores are: how many threads share it.
    pub splits: Vec<u32>,
    /// Names of the regions of memory that tasks read and write.
    pub regions: Vec<String>,
    /// How its tasks are run, if it has any.
    pub tasking: Option<Tasking>,
    /// The core on whose speed [`Work::Time`] was calibrated.
    pub calibration: Calibration,
    /// Where its memory is.
    pub memory: Memory,
    /// For how long a thread that waits for a lock or at a barrier polls before it leaves its core.
    pub spin: Ns,
    /// The same at barriers, if that is another time.
    pub barrier_spin: Option<Ns>,
    /// Whether its work was measured with all that locks and waits cost, as in a recording, so that a run does not charge that again.
    pub measured: bool,
    /// Which of the streams that are derived from the run's seed it draws from. `None`: that of its position in the workload. One that is taken
    /// out of a workload to run alone keeps its own, or it would do other work there.
    pub stream: Option<u32>,
}

/// The memory nodes on which a program's memory is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Memory {
    /// Each thread's on the node where it first ran.
    #[default]
    Local,
    /// Spread over all nodes in turn.
    Interleaved,
}

/// A named kind of code.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Name, for messages.
    pub name: String,
    /// How it uses a core.
    pub behaviour: Behaviour,
}

/// One thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Thread {
    /// Its name.
    pub name: String,
    /// Which of the program's processes it belongs to: the threads of one use the same addresses.
    pub process: u32,
    /// What it does, in order; it exits at the end.
    pub ops: Vec<Op>,
    /// When it begins.
    pub start: Start,
    /// Whether it does the program's work or serves the runtime system (garbage collector, JIT compiler).
    pub kind: ThreadKind,
    /// How the operating system is told to schedule it whenever it starts, until an [`Op::Set`] changes that.
    pub sched: SchedParams,
}

impl Thread {
    /// Whether it is allowed certain cores only, by their numbers, at least for a time.
    pub(crate) fn names_cores(&self) -> bool {
        self.sched.cpus.is_some() || self.does(|op| matches!(op, Op::Set(sched) if sched.cpus.is_some()))
    }

    /// Whether it shares a loop that is split.
    pub(crate) fn splits(&self) -> bool {
        self.does(|op| matches!(op, Op::Split { .. }))
    }

    fn does(&self, this: impl Fn(&Op) -> bool) -> bool {
        let mut found = false;
        walk(&self.ops, &mut |op| found |= this(op));
        found
    }
}

/// When a thread begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// This long after the run begins.
    At(Ns),
    /// About this long after the run begins, drawn from the run's seed: which of several programs is there first is chance.
    About(Ns, Spread),
    /// When another thread spawns it.
    Spawned,
}

/// Scheduling parameters as `sched_setattr` and `sched_setaffinity` take them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SchedParams {
    /// The scheduling class with its priority.
    pub class: Class,
    /// The cores that the program allows, by number; `None` for all.
    pub cpus: Option<Vec<u16>>,
    /// Bounds of how busy the thread is taken to be.
    pub clamp: Clamp,
}

/// A barrier.
#[derive(Clone, Debug, PartialEq)]
pub struct Barrier {
    /// Name, for messages.
    pub name: String,
    /// How many threads meet.
    pub parties: u32,
}

/// A bounded queue between stages. It is finished when every producer has closed it and it is empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// Name, for messages.
    pub name: String,
    /// How many items fit; a thread that puts one more waits.
    pub capacity: u64,
    /// Items in it from the start. A queue with items and no producer is a shared loop counter: threads take
    /// iterations from it until none is left.
    pub filled: u64,
    /// How many [`Op::Close`] finish it.
    pub producers: u32,
}

/// A counting semaphore.
#[derive(Clone, Debug, PartialEq)]
pub struct Semaphore {
    /// Name, for messages.
    pub name: String,
    /// Its count at the start.
    pub count: u64,
}

/// What threads take from a queue, in this order, each item by whichever thread is free.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    /// Name, for messages.
    pub name: String,
    /// What is done in each: [`Op::Compute`], [`Op::Sleep`], [`Op::Post`], [`Op::Acquire`], [`Op::Lock`] and
    /// [`Op::Unlock`].
    pub items: Vec<Vec<Op>>,
}

/// Which core one unit of [`Work::Time`] was measured on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Calibration {
    /// The biggest core at its highest frequency (capacity 1024).
    #[default]
    Biggest,
    /// This core of the machine as its file declares it, at its highest frequency (rt-app's `"CPU0"`).
    Core(u16),
}

macro_rules! index {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in the program's table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}
index!(
    /// A phase of the program.
    PhaseId,
    /// A mutex of the program.
    LockId,
    /// A barrier of the program.
    BarrierId,
    /// A queue of the program.
    QueueId,
    /// A condition variable of the program.
    ConditionId,
    /// A semaphore of the program.
    SemaphoreId,
    /// A list of the program.
    ListId,
    /// A suspend/resume event of the program.
    EventId,
    /// A timer of the program.
    TimerId,
    /// A loop of the program that is split by how fast cores are.
    SplitId,
    /// A region of memory of the program.
    RegionId,
    /// A thread, by its position in the program.
    ThreadIndex
);

/// One operation of a thread. Only `Compute`, `Split` and `Spin` take time on a core.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Work whose duration depends on the core.
    Compute {
        /// The kind of code.
        phase: PhaseId,
        /// How much of it.
        work: Work,
        /// How the amount varies from one execution to the next.
        spread: Spread,
    },
    /// This thread's part of a static loop, which is larger the faster its core is, as `libevenkeel_omp.so` has it.
    Split {
        /// Which loop.
        split: SplitId,
        /// The thread's number among those that share it.
        member: u32,
        /// The kind of code.
        phase: PhaseId,
        /// How much of it all of them do together.
        work: Work,
    },
    /// Busy for this long on whatever core (rt-app's `runtime`).
    Spin(Ns),
    /// Takes a mutex. Waiters are woken in order of arrival; a running thread may be faster than a woken one, as with
    /// futexes.
    Lock(LockId),
    /// Releases a mutex that this thread holds.
    Unlock(LockId),
    /// Waits until all parties have arrived.
    Barrier(BarrierId),
    /// Puts an item into a queue; waits while it is full.
    Put(QueueId),
    /// Takes an item from a queue; waits while it is empty. Passes if the queue is finished.
    Get(QueueId),
    /// Says that this producer puts no more.
    Close(QueueId),
    /// Takes an item and runs the body, again and again until the queue is finished.
    Drain {
        /// Where the items come from.
        queue: QueueId,
        /// What is done with each.
        body: Vec<Op>,
    },
    /// Takes the next item of a list and does it, again and again until none is left.
    Take(ListId),
    /// Releases the mutex, waits for a signal, takes the mutex again.
    Wait {
        /// What is waited for.
        condition: ConditionId,
        /// The mutex, which this thread holds.
        lock: LockId,
    },
    /// Wakes the first waiter of a condition, if there is one.
    Signal(ConditionId),
    /// Wakes all waiters of a condition.
    Broadcast(ConditionId),
    /// Increments a semaphore.
    Post(SemaphoreId),
    /// Decrements a semaphore; waits while it is zero.
    Acquire(SemaphoreId),
    /// Waits for a resume of the event.
    Suspend(EventId),
    /// Wakes the threads that are suspended on the event.
    Resume(EventId),
    /// Leaves the core for a time (sleep, or I/O that takes that long).
    Sleep {
        /// How long.
        span: Ns,
        /// How it varies.
        spread: Spread,
    },
    /// Sleeps until the timer's next expiry. The first is one period after the start of the thread that uses it first.
    Timer {
        /// Which timer.
        timer: TimerId,
        /// The time between expiries.
        period: Ns,
        /// What an expiry in the past does.
        mode: TimerMode,
    },
    /// Goes to the end of its run queue.
    Yield,
    /// Starts a thread of this program ([`Start::Spawned`]). A spawn of a thread that is still there starts it once
    /// more after it has exited.
    Spawn(ThreadIndex),
    /// Waits until a thread has exited, as often as it was spawned.
    Join(ThreadIndex),
    /// Changes the scheduling parameters of this thread.
    Set(SchedParams),
    /// Creates a task. Its body is run by a worker, once the tasks that it depends on are done.
    Task(Box<Task>),
    /// Waits until every task created so far is done, and runs tasks meanwhile.
    Taskwait,
    /// Runs the body `times` times; `None`: for ever.
    Repeat {
        /// How often.
        times: Option<u64>,
        /// What.
        body: Vec<Op>,
    },
}

/// An amount of computation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// Instructions retired.
    Instructions(u64),
    /// What the calibration core does in this time.
    Time(Ns),
}

/// How an amount varies around its mean, drawn from the run's seed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Spread {
    /// Always the same.
    #[default]
    None,
    /// Uniform within this share of the mean, 0 to 1.
    Uniform(f64),
    /// Exponentially distributed.
    Exponential,
}

/// What a timer does with an expiry that has passed (rt-app's tutorial, "timer").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimerMode {
    /// Passes at once and counts the next period from now.
    #[default]
    Relative,
    /// Passes at once and keeps its grid.
    Absolute,
}
