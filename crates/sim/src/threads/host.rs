//! The simulator as a host of the scheduler: its own books say what runs where, and with a delay every decision reaches
//! its core that much later. What becomes of decisions is [`evenkeel_sched::protocol`]'s.

use evenkeel_model::{ClusterId, CoreId, CoreSet, Hz, Ns, ThreadId};
use evenkeel_sched::protocol::{Host, Progress, Request, Requests};
use evenkeel_sched::{Action, Scheduler, Why};

use crate::threads::calendar::Entry;
use crate::threads::engine::Engine;
use crate::threads::error::Error;
use crate::threads::observer::{Event, Stop};
use crate::threads::thread::RunState;

impl Host for Engine<'_> {
    type Error = Error;

    fn scheduler(&self) -> &Scheduler {
        &self.sched
    }

    fn parts(&mut self) -> (&mut Scheduler, &mut Requests) {
        (&mut self.sched, &mut self.requests)
    }

    fn now(&self) -> Ns {
        self.now
    }

    fn running(&self, core: CoreId) -> Option<ThreadId> {
        self.cores[core.index()].current
    }

    fn waiting(&self, thread: ThreadId) -> bool {
        self.threads[thread.index()].state == RunState::Ready
    }

    fn before_decision(&mut self) {
        self.foretell();
    }

    fn waits(&mut self, thread: ThreadId) {
        let t = &mut self.threads[thread.index()];
        // It may wait already, and be queued anew.
        t.waited = t.waited_until(self.now);
        t.state = RunState::Ready;
        t.since = self.now;
    }

    fn queued(&mut self, thread: ThreadId, core: CoreId, why: Why) {
        if self.watched {
            let by = match why {
                Why::New { by } | Why::Woken { by } => by,
                Why::Preempted | Why::Yielded | Why::Taken { .. } => None,
            };
            self.observer.observe(self.now, &Event::Ready { thread, core, by });
        }
    }

    fn send(&mut self, action: Action) -> Option<Action> {
        if self.options.delay == Ns::ZERO {
            return Some(action);
        }
        self.calendar.push(self.now + self.options.delay, Entry::Act(action));
        None
    }

    fn preempt(&mut self, request: &Request) -> Result<Progress, Error> {
        let why = if let Action::Reschedule(_) = request.action() { Stop::Preempted } else { Stop::Taken };
        for (core, thread) in request.running() {
            self.stop(core, why);
            self.threads[thread.index()].taken = matches!(why, Stop::Taken);
        }
        Ok(Progress::Done)
    }

    fn dispatch(&mut self, core: CoreId, thread: ThreadId, _slice: Ns) -> Result<Progress, Error> {
        if self.options.delay == Ns::ZERO {
            self.begin(core, thread)?;
            return Ok(Progress::Done);
        }
        self.calendar.push(self.now + self.options.delay, Entry::Switch(core, thread));
        Ok(Progress::Late)
    }

    fn begin(&mut self, core: CoreId, thread: ThreadId) -> Result<(), Error> {
        Engine::begin(self, core, thread)
    }

    fn set_affinity(&mut self, thread: ThreadId, cores: CoreSet) {
        if self.watched {
            self.observer.observe(self.now, &Event::Affinity { thread, cores });
        }
    }

    fn set_frequency(&mut self, cluster: ClusterId, frequency: Hz) {
        Engine::set_frequency(self, cluster, frequency);
    }
}
