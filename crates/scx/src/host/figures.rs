//! What the host has done, and for how long cores and threads waited for each other.

use evenkeel_model::{CoreId, Ns, ThreadId};

use super::{Books, Orders, Place};

/// What the host has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Events of the kernel.
    pub events: u64,
    /// Threads that it was told to run.
    pub switches: u64,
    /// Threads that were stopped on a core.
    pub stops: u64,
    /// Decisions that were stale when they were to be carried out.
    pub stale: u64,
    /// Threads that cores have taken by themselves, because this process was late.
    pub taken_late: u64,
    /// Threads for which the kernel's part had no room: the kernel's own rules schedule them.
    pub left_out: u64,
    /// Threads that are this scheduler's now.
    pub living: u64,
    /// All threads that were this scheduler's at some time.
    pub threads: u64,
    /// The longest time that a thread waited for a core.
    pub longest_wait: Ns,
    /// The longest time that a core had nothing to run while a thread waited that may use it.
    pub longest_idle: Ns,
    /// The longest time that a core of the fastest type had nothing to run while a slower one ran a thread that may use it.
    pub longest_misplaced: Ns,
    /// Time that all threads together have run on cores of the fastest type.
    pub big: Ns,
    /// The same on all other cores.
    pub little: Ns,
}

impl<O: Orders> Books<O> {
    /// What has been done so far.
    pub(crate) fn figures(&self) -> Figures {
        let now = self.now;
        let threads = self.by_tid.values().map(|id| &self.threads[id.index()]);
        let waits = threads.filter(|thread| matches!(thread.place, Place::Waiting | Place::Sent(_)));
        let longest_wait = waits.map(|thread| now.since(thread.since)).max().unwrap_or_default();
        let longest_wait = self.figures.longest_wait.max(longest_wait);
        Figures { stale: self.requests.stale(), living: self.by_tid.len() as u64, longest_wait, ..self.figures }
    }

    /// Notes for how long cores have been left without work that they could do.
    pub(super) fn watch(&mut self) {
        let s = self.sched.state();
        for (id, core) in self.cores.iter_mut().enumerate() {
            let id = CoreId(id as u16);
            core.astray = core.astray.filter(|thread| self.threads[thread.index()].place == Place::Astray(Some(id)));
            let has = core.running.or(core.sent).or(core.astray);
            let free = has.is_none() && self.online.contains(id);
            let may_use = |thread: ThreadId| s.thread(thread).may_run_on(id);
            let waits = || s.queued_cores().iter().any(|other| s.core(other).queue.iter().any(may_use));
            let slower = || s.little.and(s.busy_cores()).iter().any(|other| s.core(other).current.is_some_and(may_use));
            note(&mut core.idle_since, free && waits(), self.now, &mut self.figures.longest_idle);
            let misplaced = free && s.big.contains(id) && slower();
            note(&mut core.misplaced_since, misplaced, self.now, &mut self.figures.longest_misplaced);
        }
    }
}

/// Something lasts from `since` until now, or does not: keeps the longest time that it did.
fn note(since: &mut Option<Ns>, lasts: bool, now: Ns, longest: &mut Ns) {
    *since = lasts.then(|| since.unwrap_or(now));
    *longest = since.map_or(*longest, |since| now.since(since).max(*longest));
}
