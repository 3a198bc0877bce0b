//! Threads that have waited for too long.

use evenkeel_model::{CoreId, Ns, ThreadId};

use super::{Assignment, Driver, Location, Orders};

/// A thread that has waited for so long runs for a tick, whatever the policy decides: one with the lowest weight would wait for
/// 24 s beside one with the highest after each tick of its own (4 ms x 88761 / 15), and the kernel takes the machine back after 5 s.
pub(super) const PATIENCE: Ns = Ns::from_secs(1);

impl<O: Orders> Driver<O> {
    /// Has a core run the thread that has waited longest, if that is too long; or the next one, if no core can run it now, as those of a
    /// core that is taken.
    pub(super) fn rescue(&mut self) {
        let waits = |id: &ThreadId| {
            let thread = &self.threads[id.index()];
            thread.location == Location::Waiting && self.now.since(thread.since) > self.patience
        };
        let mut overdue: Vec<ThreadId> = self.by_tid.values().copied().filter(waits).collect();
        overdue.sort_by_key(|id| self.threads[id.index()].since);
        for id in overdue {
            if let Some((core, running)) = self.stoppable(id) {
                return self.run_instead(core, running, id);
            }
        }
    }

    /// A core that could run a thread instead of its own, and that one. Of the slowest type: it is to get on, not to be fast.
    fn stoppable(&self, id: ThreadId) -> Option<(CoreId, ThreadId)> {
        let usable = self.usable(self.threads[id.index()].mask);
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
