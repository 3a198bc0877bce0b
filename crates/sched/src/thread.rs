//! What the scheduler knows about a thread. The same fields in every host; what a host cannot read is `None`.

use evenkeel_model::{
    Clamp, Class, CoreId, CoreSet, Counters, Instructions, Machine, Ns, ProgramId, ThreadId, ThreadKind,
};

use crate::masks::{Masks, Sets};
use crate::pelt::Pelt;

/// What a host says when it introduces a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewThread {
    /// The program that it belongs to.
    pub program: ProgramId,
    /// Application or service.
    pub kind: ThreadKind,
    /// Scheduling class.
    pub class: Class,
    /// The cores that the program itself allows.
    pub cores: CoreSet,
    /// Where it is before it is placed: the core of what starts its program. Without effect if the program does not allow
    /// it.
    pub on: CoreId,
    /// Utilisation clamps.
    pub clamp: Clamp,
}

#[cfg(test)]
impl NewThread {
    /// An application's thread that may use every core.
    pub(crate) fn anywhere(machine: &Machine) -> Self {
        Self {
            program: ProgramId(0),
            kind: ThreadKind::Application,
            class: Class::fair(0),
            cores: machine.all(),
            on: CoreId(0),
            clamp: Clamp::default(),
        }
    }
}

/// Where a thread is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// Introduced, or exited: not to be scheduled.
    Absent,
    /// Waits in the run queue of [`Thread::core`].
    Ready,
    /// Runs on [`Thread::core`], or has been sent there.
    Running,
    /// Waits for something.
    Blocked(Wait),
}

/// What a blocked thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Another thread: a lock, a barrier, a queue, a condition. On Linux all of these are futexes (COLAB 4.1).
    Futex,
    /// Time or a device.
    Sleep,
}

/// A thread as policies see it.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its program.
    pub program: ProgramId,
    /// Application or service.
    pub kind: ThreadKind,
    /// Scheduling class.
    pub class: Class,
    /// Utilisation clamps.
    pub clamp: Clamp,
    pub(crate) masks: Masks,
    /// Where it is in its life.
    pub run: Run,
    /// Whether it has exited: should it begin again, it is a new one.
    pub(crate) exited: bool,
    /// The core that it runs on, waits for, or was on last.
    pub core: CoreId,
    /// Weighted, policy-charged run time in ns, comparable within one run queue only.
    pub vruntime: i64,
    /// When it began to run, became ready or blocked.
    pub since: Ns,
    /// When it last stopped running.
    pub last_ran: Ns,
    /// Load average: the share of recent time in which it was runnable.
    pub load: Pelt,
    /// How much of a core it used recently: 1024 is all of the biggest core at its highest frequency (Linux's util_avg,
    /// invariant of frequency and core type).
    pub usage: Pelt,
    /// What [`Thread::usage`] usually is when it stops running (Linux's util_est): follows a rise at once and a fall
    /// slowly.
    pub estimate: u32,
    /// All time spent running.
    pub executed: Ns,
    /// Time it has run since it was last put on a core.
    pub stint: Ns,
    /// All time spent ready, waiting for a core.
    pub waited: Ns,
    /// All time spent blocked on other threads.
    pub contended: Ns,
    /// All time that others waited for it (COLAB 4.1, "bottleneck identification").
    pub blame: Ns,
    /// How its last wait for others ended, if a thread ended it.
    pub released: Option<Release>,
    /// Instructions retired, if the host can count them.
    pub instructions: Option<Instructions>,
    /// Since the last [`crate::Scheduler::refresh`].
    pub window: Window,
    /// Predicted speedup of the biggest over the smallest core type, once there is a prediction.
    pub speedup: Option<f64>,
    /// What is ahead of it, for policies that want it; `None` as well if nothing depends on what it does.
    pub future: Option<Future>,
}

/// The end of a thread's wait for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// The thread that ended it. If it has exited, its number may be another one's.
    pub by: ThreadId,
    /// When.
    pub at: Ns,
}

/// What is ahead of a thread. Only a simulator knows it, and only for a policy that wants it ([`crate::Description::foresight`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Future {
    /// The longest path to the end: the least time until this thread, and all that wait for it, are done, if each runs on
    /// the biggest core type at once. `None` if even the simulator cannot know it, since threads that share out work as they
    /// run may do more than was foreseen.
    pub level: Option<Ns>,
    /// How long it runs now until it waits, or releases another thread.
    pub stretch: Ns,
    /// The true speedup of the biggest over the smallest core type for what it does in that time.
    pub speedup: f64,
}

/// What a thread did since the last refresh, by core type.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// One entry a core type.
    pub on_type: Vec<OnType>,
}

/// What a thread did on one core type.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnType {
    /// Time run there.
    pub time: Ns,
    /// Counters read there, if the host has any.
    pub counters: Option<Counters>,
    /// Instructions retired there, if the host can count them.
    pub instructions: Option<Instructions>,
}

impl Thread {
    pub(crate) fn new(spec: &NewThread, sets: &mut Sets, machine: &Machine) -> Self {
        Self {
            program: spec.program,
            kind: spec.kind,
            class: spec.class,
            clamp: spec.clamp,
            masks: Masks::new(sets, spec.cores, machine.all()),
            run: Run::Absent,
            exited: false,
            core: if spec.cores.contains(spec.on) { spec.on } else { spec.cores.iter().next().unwrap_or(spec.on) },
            vruntime: 0,
            since: Ns::ZERO,
            last_ran: Ns::ZERO,
            load: Pelt::default(),
            usage: Pelt::default(),
            estimate: 0,
            executed: Ns::ZERO,
            stint: Ns::ZERO,
            waited: Ns::ZERO,
            contended: Ns::ZERO,
            blame: Ns::ZERO,
            released: None,
            instructions: None,
            window: Window { on_type: vec![OnType::default(); machine.core_types.len()] },
            speedup: None,
            future: None,
        }
    }

    /// The cores that it may run on: what the policy wants within what the program allows. A policy that would
    /// leave none is overruled.
    pub fn allowed(&self) -> CoreSet {
        *self.masks.allowed()
    }

    /// The cores that the policy wants. If none of them is allowed, the cores that the program allows.
    pub fn wanted(&self) -> CoreSet {
        self.masks.wanted()
    }

    /// Whether [`Thread::allowed`] has a core.
    pub fn may_run_on(&self, core: CoreId) -> bool {
        self.masks.allowed().contains(core)
    }

    /// How busy it is taken to be: its load average within its clamps.
    pub fn utilisation(&self) -> u32 {
        self.load.load().min(self.clamp.max).max(self.clamp.min)
    }

    /// How much of a core it used recently, up to `now`; while it runs, up to its last report.
    pub fn usage(&self, now: Ns) -> u32 {
        if self.run == Run::Running { self.usage.load() } else { self.usage.load_at(now) }
    }

    /// How much of a core it is going to need: what it used recently or usually uses, within its clamps.
    pub fn demand(&self, now: Ns) -> u32 {
        self.usage(now).max(self.estimate).min(self.clamp.max).max(self.clamp.min)
    }

    /// Whether it is alive: introduced to the scheduler and not exited.
    pub fn alive(&self) -> bool {
        self.run != Run::Absent
    }

    /// Whether it runs or waits for a core.
    pub fn runnable(&self) -> bool {
        matches!(self.run, Run::Ready | Run::Running)
    }

    /// Its weight among fair threads; real-time threads count as the heaviest.
    pub fn weight(&self) -> u64 {
        match self.class {
            Class::Fair { weight } => weight,
            Class::RealTime { .. } => 88761,
        }
    }
}
