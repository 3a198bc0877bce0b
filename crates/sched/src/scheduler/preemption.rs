//! Whether a running thread gives way to one that waits for its core.

use evenkeel_model::{Class, CoreId, ThreadId};

use super::Scheduler;
use crate::action::Action;

impl Scheduler {
    pub(super) fn check_preemption(&mut self, woken: ThreadId, core: CoreId) {
        let s = &self.state;
        let wins = match s.core(core).current {
            None => true,
            Some(running) => match (s.thread(woken).class, s.thread(running).class) {
                (Class::RealTime { priority: new }, Class::RealTime { priority: old }) => new > old,
                (Class::RealTime { .. }, Class::Fair { .. }) => true,
                (Class::Fair { .. }, Class::RealTime { .. }) => false,
                (Class::Fair { .. }, Class::Fair { .. }) => self.policy.preempts(s, woken, running, core),
            },
        };
        if wins {
            self.outbox.push_back(Action::Reschedule(core));
        }
    }

    /// A thread whose class has changed may have to leave its core to the real-time one that waits there. One that may not stay leaves anyway.
    pub(super) fn give_way_to_real_time(&mut self, thread: ThreadId) {
        let core = self.state.thread(thread).core;
        let runs = self.state.core(core).current == Some(thread) && self.may_run(thread, core);
        if let Some(first) = self.state.core(core).queue.first_real_time().filter(|_| runs) {
            self.check_preemption(first, core);
        }
    }

    /// Whether the running thread gives way to a fair one that waits for its core.
    pub(super) fn preempt_at_tick(&mut self, core: CoreId) {
        let s = &self.state;
        let Some(running) = s.core(core).current else { return };
        let fair = matches!(s.thread(running).class, Class::Fair { .. });
        if fair && s.core(core).queue.first_vruntime().is_some() && self.policy.expired(s, running, core) {
            self.outbox.push_back(Action::Reschedule(core));
        }
    }
}
