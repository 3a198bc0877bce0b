//! Threads that have waited for too long.

use evenkeel_model::{Ns, ThreadId};

use super::{Assignment, Driver, Location, Orders};

/// A thread that has waited for so long runs for a tick, whatever the policy decides: one with the lowest weight would wait for
/// 24 s beside one with the highest after each tick of its own (4 ms x 88761 / 15), and the kernel takes the machine back after 5 s.
pub(super) const PATIENCE: Ns = Ns::from_secs(1);

impl<O: Orders> Driver<O> {
    /// Has a core run the thread that has waited longest, if that is too long. To the scheduler it runs elsewhere.
    pub(super) fn rescue(&mut self) {
        let waits = |id: &&ThreadId| self.threads[id.index()].location == Location::Waiting;
        let longest = self.by_tid.values().filter(waits).min_by_key(|id| self.threads[id.index()].since);
        let Some(id) = longest.copied().filter(|id| self.now.since(self.threads[id.index()].since) > self.patience)
        else {
            return;
        };
        let usable = self.usable(self.threads[id.index()].mask);
        // Of the slowest type: it is to get on, not to be fast.
        for core in usable.iter().collect::<Vec<_>>().into_iter().rev() {
            let place = &mut self.cores[core.index()];
            let (Some(running), None) = (place.running, place.sent) else { continue };
            if self.stops.iter().any(|stop| stop.left.contains(&running)) {
                continue;
            }
            place.number = place.number.wrapping_add(1);
            self.threads[id.index()].rescued = true;
            let assignment =
                Assignment { tid: self.threads[id.index()].tid, slice: self.patience, number: place.number };
            self.orders.send(self.cpus[core.index()], assignment);
            self.orders.stop(self.cpus[core.index()], self.threads[running.index()].tid);
            return;
        }
    }
}
