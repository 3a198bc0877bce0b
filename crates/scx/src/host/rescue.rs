//! Threads that have waited for too long.

use std::cmp::Reverse;

use evenkeel_model::{CoreId, CoreSet, Ns, ThreadId};

use super::threads::Thread;
use super::{Assignment, Driver, Location, Orders, TICK};

/// A thread that has waited for so long, or would have by its turn after those that have waited longer, runs for a tick, whatever the
/// policy decides: one with the lowest weight would wait for 24 s beside one with the highest after each tick of its own
/// (4 ms x 88761 / 15), and the kernel takes the machine back after 5 s.
pub(super) const PATIENCE: Ns = Ns::from_secs(1);
/// Between two such threads a core runs for a tick what its policy wants.
const TURN: Ns = Ns(2 * TICK.0);

impl<O: Orders> Driver<O> {
    /// Has each core that threads have waited for too long run the one that has waited longest. Slow cores come first: it is to get on,
    /// not to be fast.
    pub(super) fn rescue(&mut self) {
        // The policy may send one again and again to a core that the kernel does not let it have.
        let waits = |id: &ThreadId| match self.threads[id.index()].location {
            Location::Waiting => true,
            Location::Sent(_) => !self.threads[id.index()].refused.is_empty(),
            _ => false,
        };
        let waiting = self.by_tid.values().copied().filter(waits);
        let mut waiting: Vec<(Ns, CoreSet, ThreadId)> = waiting
            .map(|id| (&self.threads[id.index()], id))
            .map(|(thread, id)| (self.now.since(thread.since), self.reachable(thread), id))
            .collect();
        waiting.sort_by_key(|(waits, ..)| Reverse(*waits));
        for core in self.online.iter().collect::<Vec<_>>().into_iter().rev() {
            let Some(running) = self.stoppable(core) else { continue };
            let mut turns = Ns::ZERO;
            let too_long = waiting.iter().filter(|(_, usable, _)| usable.contains(core)).any(|(waits, usable, _)| {
                let before = turns;
                // Each of the cores that it may use could have it.
                turns += Ns(TURN.0 / usable.len() as u64);
                *waits + before > self.patience
            });
            if let Some(first) = waiting.iter().position(|(_, usable, _)| too_long && usable.contains(core)) {
                let (.., id) = waiting.remove(first);
                self.run_instead(core, running, id);
            }
        }
    }

    /// The cores that a thread may use, but for those that the kernel did not let it have lately; all of them if that leaves none.
    fn reachable(&self, thread: &Thread) -> CoreSet {
        let usable = self.usable(thread.mask);
        let left = usable.minus(thread.refused);
        if left.is_empty() { usable } else { left }
    }

    /// What a core runs that could be stopped.
    fn stoppable(&self, core: CoreId) -> Option<ThreadId> {
        let place = &self.cores[core.index()];
        let running = place.running.filter(|_| place.sent.is_none())?;
        (!self.stops.iter().any(|stop| stop.left.contains(&running))).then_some(running)
    }

    /// To the scheduler the thread runs elsewhere.
    fn run_instead(&mut self, core: CoreId, running: ThreadId, id: ThreadId) {
        let place = &mut self.cores[core.index()];
        place.number = place.number.wrapping_add(1);
        self.threads[id.index()].rescued = Some(core);
        let assignment = Assignment { tid: self.threads[id.index()].tid, slice: self.patience, number: place.number };
        self.orders.send(self.cpus[core.index()], assignment);
        self.orders.stop(self.cpus[core.index()], self.threads[running.index()].tid);
    }
}
