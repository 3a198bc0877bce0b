//! Threads that have waited for too long.

use evenkeel_model::{CoreId, CoreSet, Ns, ThreadId};

use super::{Assignment, Driver, Location, Orders, TICK};

/// A thread that has waited for so long runs for a tick, whatever the policy decides: one with the lowest weight would wait for
/// 24 s beside one with the highest after each tick of its own (4 ms x 88761 / 15), and the kernel takes the machine back after 5 s.
/// For less where many wait, since each has its tick after those that have waited longer: all are to have had it by then.
pub(super) const PATIENCE: Ns = Ns::from_secs(1);

impl<O: Orders> Driver<O> {
    /// Has cores run those threads that have waited longest, if that is too long; of those only that a core can run now, unlike
    /// those of a core that is taken.
    pub(super) fn rescue(&mut self) {
        let since = |id: &ThreadId| self.threads[id.index()].since;
        let waits = |id: &ThreadId| self.threads[id.index()].location == Location::Waiting;
        let mut waiting: Vec<ThreadId> = self.by_tid.values().copied().filter(waits).collect();
        // A core runs what its policy wants for a tick between two of them.
        let ticks = 2 * waiting.len().div_ceil(self.online.len().max(1)) as u64;
        let patience = self.patience.since(Ns(ticks * TICK.0));
        waiting.retain(|id| self.now.since(since(id)) > patience);
        waiting.sort_by_key(since);
        let mut cores = self.online;
        for id in waiting {
            if let Some((core, running)) = self.stoppable(id, cores) {
                cores.remove(core);
                self.run_instead(core, running, id);
            }
            if cores.is_empty() {
                return;
            }
        }
    }

    /// One of some cores that could run a thread instead of its own, and that one. Of the slowest type: it is to get on, not to be fast.
    fn stoppable(&self, id: ThreadId, cores: CoreSet) -> Option<(CoreId, ThreadId)> {
        let usable = self.usable(self.threads[id.index()].mask).and(cores);
        usable.iter().collect::<Vec<_>>().into_iter().rev().find_map(|core| {
            let place = &self.cores[core.index()];
            let running = place.running.filter(|_| place.sent.is_none())?;
            let leaves = self.stops.iter().any(|stop| stop.left.contains(&running));
            (!leaves).then_some((core, running))
        })
    }

    /// To the scheduler the thread runs elsewhere.
    fn run_instead(&mut self, core: CoreId, running: ThreadId, id: ThreadId) {
        let place = &mut self.cores[core.index()];
        place.number = place.number.wrapping_add(1);
        self.threads[id.index()].rescued = true;
        let assignment = Assignment { tid: self.threads[id.index()].tid, slice: self.patience, number: place.number };
        self.orders.send(self.cpus[core.index()], assignment);
        self.orders.stop(self.cpus[core.index()], self.threads[running.index()].tid);
    }
}
