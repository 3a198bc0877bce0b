//! What the host has done, and for how long cores and threads waited for each other.

use evenkeel_model::{CoreId, Ns, ThreadId};

use super::{Driver, Location, Orders};

/// What the host has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Events of the kernel.
    pub events: u64,
    /// Threads that it was told to run.
    pub switches: u64,
    /// Threads that were stopped on a core.
    pub stops: u64,
    /// Pairs of threads that have exchanged their cores.
    pub exchanges: u64,
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
    /// The longest time that a core of the fastest type had nothing to run while a slower one ran one and the same thread that may
    /// use it.
    pub longest_misplaced: Ns,
    /// How long threads waited in futex calls for others that are known, together.
    pub blamed: Ns,
    /// How often the governor of frequencies was told how much of a core is used; `None` if it does not ask.
    pub frequencies: Option<u64>,
    /// Time that all threads together have run on cores of the fastest type.
    pub big: Ns,
    /// The same on all other cores.
    pub little: Ns,
    /// CPU time that the thread which decides, or labels, has used itself.
    pub cost: Ns,
}

impl Figures {
    /// What was done under one policy, and then under another one: threads that both had count twice.
    pub(crate) fn and(&self, later: &Self) -> Self {
        Self {
            events: self.events + later.events,
            switches: self.switches + later.switches,
            stops: self.stops + later.stops,
            exchanges: self.exchanges + later.exchanges,
            stale: self.stale + later.stale,
            taken_late: self.taken_late + later.taken_late,
            left_out: self.left_out + later.left_out,
            living: later.living,
            threads: self.threads + later.threads,
            longest_wait: self.longest_wait.max(later.longest_wait),
            longest_idle: self.longest_idle.max(later.longest_idle),
            longest_misplaced: self.longest_misplaced.max(later.longest_misplaced),
            blamed: self.blamed + later.blamed,
            frequencies: later.frequencies.map(|told| told + self.frequencies.unwrap_or_default()),
            big: self.big + later.big,
            little: self.little + later.little,
            cost: self.cost + later.cost,
        }
    }
}

impl<O: Orders> Driver<O> {
    /// What has been done so far.
    pub(crate) fn figures(&self) -> Figures {
        let now = self.now;
        let threads = self.by_tid.values().map(|id| &self.threads[id.index()]);
        let waits = threads.filter(|thread| matches!(thread.location, Location::Waiting | Location::Sent(_)));
        let longest_wait = waits.map(|thread| now.since(thread.since)).max().unwrap_or_default();
        let longest_wait = self.figures.longest_wait.max(longest_wait);
        Figures { stale: self.requests.stale(), living: self.by_tid.len() as u64, longest_wait, ..self.figures }
    }

    /// Notes for how long cores have been left without work that they could do.
    pub(super) fn watch(&mut self) {
        let s = self.sched.state();
        for (id, core) in self.cores.iter_mut().enumerate() {
            let id = CoreId(id as u16);
            core.elsewhere =
                core.elsewhere.filter(|thread| self.threads[thread.index()].location == Location::Elsewhere(Some(id)));
            let has = core.running.or(core.sent).or(core.elsewhere);
            let free = has.is_none() && self.online.contains(id);
            let may_use = |thread: ThreadId| s.thread(thread).may_run_on(id);
            let waits = || s.queued_cores().iter().any(|other| s.core(other).queue.iter().any(may_use));
            let slower = s.busy(s.little).filter_map(|other| s.core(other).current.filter(|thread| may_use(*thread)));
            let runs_since = slower.map(|thread| s.thread(thread).since).min();
            let runs_since = runs_since.filter(|_| free && s.big.contains(id));
            note(&mut core.idle_since, free && waits(), Ns::ZERO, self.now, &mut self.figures.longest_idle);
            let (misplaced, from) = (runs_since.is_some(), runs_since.unwrap_or_default());
            note(&mut core.misplaced_since, misplaced, from, self.now, &mut self.figures.longest_misplaced);
        }
    }
}

/// Something lasts from `since` until now, or does not, and began no earlier than `from`: keeps the longest time that it did.
fn note(since: &mut Option<Ns>, lasts: bool, from: Ns, now: Ns, longest: &mut Ns) {
    *since = lasts.then(|| since.unwrap_or(now));
    *longest = since.map_or(*longest, |since| now.since(since.max(from)).max(*longest));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lasts_counts_from_when_the_thread_was_there() {
        let (mut since, mut longest) = (None, Ns::ZERO);
        let mut at = |lasts, from, now| {
            note(&mut since, lasts, Ns::from_ms(from), Ns::from_ms(now), &mut longest);
            longest
        };
        assert_eq!(at(true, 2, 10), Ns::ZERO, "it is seen for the first time");
        assert_eq!(at(true, 2, 15), Ns::from_ms(5));
        assert_eq!(at(true, 14, 18), Ns::from_ms(5), "another one has come");
        assert_eq!(at(true, 14, 20), Ns::from_ms(6));
        assert_eq!(at(false, 0, 30), Ns::from_ms(6));
        assert_eq!(at(true, 14, 40), Ns::from_ms(6), "it begins anew");
    }
}
