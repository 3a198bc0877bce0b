//! Where threads go: what the kernel says of each, against what the scheduler had decided about it.

use evenkeel_model::{CoreId, CoreSet, Ns, ThreadId};
use evenkeel_sched::protocol::{self, Progress};
use evenkeel_sched::{Action, Run, Scheduler, Wait, Why};

use super::{Driver, Location, Orders, Stop};

impl<O: Orders> Driver<O> {
    /// A thread waits for a core.
    pub(super) fn ready(&mut self, id: ThreadId, why: Why, ran: Ns) {
        let thread = &mut self.threads[id.index()];
        let before = std::mem::replace(&mut thread.location, Location::Waiting);
        (thread.begun, thread.rescued, thread.refused) = (true, None, CoreSet::default());
        if !matches!(before, Location::Waiting | Location::Sent(_)) {
            thread.since = self.now;
        }
        match before {
            Location::Running(core) => {
                self.count(id, core, ran);
                self.cores[core.index()].running = None;
                if !self.stopped(id, false) {
                    protocol::ready(self, id, why);
                    self.requests.vacated(core);
                }
            }
            Location::Sent(core) => {
                self.cores[core.index()].sent = None;
                protocol::refuse(self, core, id);
            }
            Location::Elsewhere(on) => {
                if let Some(core) = on {
                    self.count(id, core, ran);
                }
                protocol::ready(self, id, Why::Woken { by: None });
            }
            Location::Blocked => protocol::ready(self, id, why),
            // It was only queued again.
            Location::Waiting => {}
        }
    }

    /// A core has begun to run a thread.
    pub(super) fn runs(&mut self, id: ThreadId, cpu: u16, ran: Ns) {
        let Some(core) = self.core(cpu) else { return };
        let now = self.now;
        match self.threads[id.index()].location {
            Location::Running(same) if same == core => return,
            // The kernel has moved it without a word.
            Location::Running(_) => {
                self.leaves(id, ran, Location::Blocked, |sched, now| sched.blocked(now, id, Wait::Sleep));
            }
            _ => {}
        }
        let thread = &mut self.threads[id.index()];
        let waited = now.since(thread.since);
        let sent = thread.location == Location::Sent(core);
        if matches!(thread.location, Location::Waiting | Location::Sent(_)) {
            self.figures.longest_wait = self.figures.longest_wait.max(waited);
            thread.waited += waited;
        }
        (thread.counted, thread.clocked, thread.since) = (ran, Ns::ZERO, now);
        if let Location::Sent(other) = std::mem::replace(&mut thread.location, Location::Waiting) {
            self.cores[other.index()].sent = None;
            if !sent {
                protocol::refuse(self, other, id);
            }
        }
        if sent {
            let Ok(()) = protocol::arrive(self, core, id);
        }
        if self.threads[id.index()].location == Location::Waiting {
            // The scheduler has changed its mind, or it never decided this.
            self.runs_elsewhere(id, Some(core));
            // Older entries are out of date.
            self.elsewhere.retain(|(_, thread)| *thread != id);
            let list = if self.threads[id.index()].rescued.is_some() { &mut self.rescued } else { &mut self.elsewhere };
            list.push((cpu, id));
            self.cores[core.index()].elsewhere = Some(id);
        }
    }

    /// The scheduler treats a thread that runs elsewhere as blocked until it waits for a core again.
    fn runs_elsewhere(&mut self, id: ThreadId, on: Option<CoreId>) {
        self.threads[id.index()].location = Location::Elsewhere(on);
        self.sched.blocked(self.now, id, Wait::Sleep);
        protocol::collect(self);
    }

    /// A core could not run the thread that it was sent.
    pub(super) fn refused(&mut self, cpu: u16, number: u32, told: Option<ThreadId>, waits: bool) {
        let Some(core) = self.core(cpu) else { return };
        let place = &mut self.cores[core.index()];
        if let Some(id) = told.filter(|_| waits) {
            self.threads[id.index()].refused.insert(core);
        }
        // It may have been about an older assignment.
        let Some(id) = place.sent.filter(|_| place.number == number && place.unsent.is_none()) else { return };
        place.sent = None;
        if self.threads[id.index()].location == Location::Sent(core) {
            if waits {
                self.threads[id.index()].location = Location::Waiting;
            } else {
                // Its own event says later where it is.
                self.runs_elsewhere(id, None);
            }
        }
        protocol::refuse(self, core, id);
    }

    /// A thread has nothing to run, whatever it did before.
    pub(super) fn leaves(&mut self, id: ThreadId, ran: Ns, to: Location, report: impl FnOnce(&mut Scheduler, Ns)) {
        let before = std::mem::replace(&mut self.threads[id.index()].location, to);
        if let Location::Running(core) | Location::Elsewhere(Some(core)) = before {
            self.count(id, core, ran);
        }
        if let Location::Running(core) = before {
            self.cores[core.index()].running = None;
        }
        report(&mut self.sched, self.now);
        protocol::collect(self);
        match before {
            Location::Running(core) if !self.stopped(id, true) => self.requests.vacated(core),
            Location::Sent(core) => {
                self.cores[core.index()].sent = None;
                protocol::refuse(self, core, id);
            }
            _ => {}
        }
    }

    /// A thread has left its core. Returns whether it was told to.
    fn stopped(&mut self, id: ThreadId, by_itself: bool) -> bool {
        let Some(place) = self.stops.iter().position(|stop| stop.left.contains(&id)) else { return false };
        let stop = &mut self.stops[place];
        if stop.left.first() == Some(&id) {
            // It is the turn of the next one, which has not been told.
            stop.ordered = false;
        }
        stop.left.retain(|other| *other != id);
        stop.stale |= by_itself;
        if !stop.left.is_empty() && (stop.ordered || !stop.stale) {
            return true;
        }
        let Stop { request, stale, others, .. } = self.stops.remove(place);
        // One that left first may have got a core since, by itself, and so may one that only waited.
        let waits = |thread: ThreadId| self.threads[thread.index()].location == Location::Waiting;
        let stale = stale || !request.running().all(|(_, thread)| waits(thread));
        let there = |thread: ThreadId, core: CoreId| waits(thread) && self.sched.state().thread(thread).core == core;
        let exchanged = match request.action() {
            Action::Swap { threads, cores } => there(threads[0], cores[0]) && there(threads[1], cores[1]),
            _ => false,
        };
        self.figures.stops += 1;
        self.figures.exchanges += u64::from(exchanged && !stale);
        let Ok(()) = protocol::settle(self, &request, if stale { Progress::Stale } else { Progress::Done });
        if stale {
            for (core, thread) in request.running() {
                if self.cores[core.index()].running == Some(thread) {
                    // It was not told to leave.
                    continue;
                }
                let waits = self.threads[thread.index()].location == Location::Waiting;
                if waits && self.sched.state().thread(thread).run == Run::Running {
                    protocol::ready(self, thread, Why::Preempted);
                }
                self.requests.vacated(core);
            }
        }
        for other in others {
            match other.action() {
                // Of an exchange that came to nothing, one may not have been told to leave.
                Action::Reschedule(core) if stale => self.requests.vacated(core),
                _ => {
                    let Ok(()) = protocol::settle(self, &other, Progress::Stale);
                }
            }
        }
        true
    }
}
