//! Beside a scheduler: what looks at its threads now and then and gives them masks, as a process can do to those of a kernel.

use evenkeel_model::{Class, CoreId, CoreSet, Ns, ProgramId, ThreadId, ThreadKind};

use crate::policy::{Culprit, Judgement};

/// A thread, as it is seen from beside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen<'a> {
    /// The thread.
    pub thread: ThreadId,
    /// Its program.
    pub program: ProgramId,
    /// Application or service.
    pub kind: ThreadKind,
    /// Its scheduling class.
    pub class: Class,
    /// The cores that its program allows.
    pub cores: CoreSet,
    /// The core that it runs on, waits for, or was on last.
    pub core: CoreId,
    /// What it waits for; `None`: it runs, or waits for a core.
    pub waits: Option<crate::Wait>,
    /// When it began. One that has started again since the last look is a new thread.
    pub began: Ns,
    /// All time that it has run since then, by core type.
    pub on_type: &'a [Ns],
    /// All time since then that it was ready and another thread had its core.
    pub waited: Ns,
    /// All time since then that others waited for it.
    pub blame: Ns,
}

/// What is to be done to a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Put it on a core, now; the scheduler may move it again.
    Move(ThreadId, CoreId),
    /// Keep it to some cores until the next such order.
    Bind(ThreadId, CoreSet),
}

/// What steers threads from beside their scheduler.
pub trait Steering {
    /// Which threads are to be blamed for a wait of another one ([`Seen::blame`]).
    fn culprit(&self) -> Culprit {
        Culprit::default()
    }

    /// Looks at all threads that are there. Returns when it looks next, and how soon it does where a big core goes idle before.
    fn look(&mut self, now: Ns, threads: &[Seen<'_>]) -> (Ns, Ns);

    /// What the last look wants to be done.
    fn orders(&self) -> Vec<Order>;

    /// What is thought of a thread since the last look.
    fn judgement(&self, thread: ThreadId) -> Judgement;
}
